//! Which route is where.

use super::{attach, cancel, discovery, health, history, hosts, records, run, snapshots};
use crate::app::App;
use crate::error::{Code, Refusal};
use axum::Router;
use axum::middleware;
use axum::routing::{MethodRouter, get, post};

/// All routes.
pub fn router(app: App) -> Router {
    let settings = app.settings();
    let mut routes = Router::new()
        .route("/agents", get(discovery::agents))
        .route("/agents/{agent}", post(run::named))
        .route("/agents/{agent}/connect", post(attach::named))
        .route("/agents/{agent}/cancel", post(cancel::named))
        .route("/agents/{agent}/capabilities", get(discovery::named))
        .route("/v1/threads/{thread}/events", get(records::events))
        .route("/v1/threads/{thread}/messages", get(snapshots::messages))
        .route("/v1/threads/{thread}/state", get(snapshots::state))
        .route("/v1/threads/{thread}/runs", get(snapshots::runs))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready));
    let paths = &settings.paths;
    let mut of_default: Vec<(&str, MethodRouter<App>)> = vec![
        (&paths.run, post(run::default)),
        (&paths.run_alias, post(run::default)),
        (&paths.connect, post(attach::default)),
        (&paths.cancel, post(cancel::default)),
        (&paths.capabilities, get(discovery::default)),
    ];
    if settings.history.enabled {
        routes = routes.route("/agents/{agent}/history", post(history::named));
        of_default.push((&paths.history, post(history::default)));
    }
    for (path, route) in of_default.into_iter().filter(|(path, _)| !path.is_empty()) {
        routes = routes.route(path, route);
    }
    let base = paths.base.trim_end_matches('/');
    let routes = if base.is_empty() { routes } else { Router::new().nest(base, routes) };
    routes
        .fallback(async || Refusal::new(Code::NotFound, "no such route"))
        .method_not_allowed_fallback(async || {
            Refusal::new(Code::MethodNotAllowed, "the route does not take this method")
        })
        .layer(middleware::from_fn_with_state(app.clone(), hosts::check))
        .with_state(app)
}
