//! Which route is where, and who may use it.

use super::gate::Gate;
use super::{
    append, artifact, attach, cancel, changes, clone, discovery, export, findings, gate, health, history,
    import, inspector, live, metrics, openapi, records, run, runs, snapshots, socket, threads, tickets,
};
use crate::access::{self, Needs, Permission};
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::openapi::{Operation, document};
use crate::settings::{Inspector, Settings};
use axum::Router;
use axum::extract::State;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware;
use axum::routing::{MethodFilter, MethodRouter, on};
use serde_json::Value;

/// One way to call the server.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The method.
    pub method: Method,
    /// The path, as routers write it: `/agents/{agent}`.
    pub path: String,
    /// What a caller must be allowed to do; nothing, if it is there for anybody.
    pub permission: Option<Permission>,
    /// What is said about it, and with the table all that the description is made from.
    pub(crate) operation: Operation,
    route: MethodRouter<App>,
}

/// All routes.
pub fn router(app: App) -> Router {
    let mut routes = Router::new();
    for Endpoint { path, permission, route, .. } in endpoints(app.settings()) {
        let needs = permission.map_or(Needs::Nothing, Needs::Permission);
        let checked = middleware::from_fn_with_state((app.clone(), needs), access::check);
        routes = routes.route(&path, route.route_layer(checked));
    }
    routes
        .fallback(async || Refusal::new(Code::NotFound, "no such route"))
        .method_not_allowed_fallback(async || {
            Refusal::new(Code::MethodNotAllowed, "the route does not take this method")
        })
        .layer(middleware::from_fn_with_state(Gate::new(app.clone()), gate::pass))
        .with_state(app)
}

/// What the server says about itself, as OpenAPI.
#[must_use]
pub fn description(app: &App) -> Value {
    document(&endpoints(app.settings()), app.authority().is_some())
}

/// All ways to call a server with these settings.
#[must_use]
pub fn endpoints(settings: &Settings) -> Vec<Endpoint> {
    let paths = &settings.paths;
    let mut table = Table { base: paths.base.trim_end_matches('/'), endpoints: Vec::new() };
    let (read, run, admin) = (Some(Permission::Read), Some(Permission::Run), Some(Permission::Admin));
    table.get("/agents", read, discovery::agents, discovery::about_agents());
    for path in ["/agents/{agent}", &paths.run, &paths.run_alias] {
        table.post(path, run, run::run, run::about());
    }
    for path in ["/agents/{agent}/connect", &paths.connect] {
        table.post(path, read, attach::connect, attach::about());
    }
    if settings.history.enabled {
        for path in ["/agents/{agent}/history", &paths.history] {
            table.post(path, read, history::history, history::about());
        }
    }
    for path in ["/agents/{agent}/cancel", &paths.cancel] {
        table.post(path, run, cancel::cancel, cancel::about());
    }
    for path in ["/agents/{agent}/capabilities", &paths.capabilities] {
        table.get(path, read, discovery::capabilities, discovery::about_capabilities());
    }
    if settings.http.websocket {
        for path in ["/agents/{agent}/ws", &paths.socket] {
            table.get(path, read, socket::open, socket::about());
        }
    }
    table.get("/v1/threads", read, threads::list, threads::about_list());
    table.get("/v1/threads/{thread}", read, threads::thread, threads::about_thread());
    table.add(Method::PATCH, "/v1/threads/{thread}", run, threads::describe, threads::about_describe());
    table.add(Method::DELETE, "/v1/threads/{thread}", admin, threads::delete, threads::about_delete());
    table.get("/v1/threads/{thread}/events", read, records::events, records::about());
    table.post("/v1/threads/{thread}/events", run, append::append, append::about());
    table.get("/v1/threads/{thread}/messages", read, snapshots::messages, snapshots::about_messages());
    table.get("/v1/threads/{thread}/state", read, snapshots::state, snapshots::about_state());
    table.get("/v1/threads/{thread}/runs", read, runs::list, runs::about_list());
    table.get("/v1/threads/{thread}/runs/{run}", read, runs::one, runs::about_one());
    table.get("/v1/threads/{thread}/runs/{run}/findings", read, findings::findings, findings::about());
    table.get("/v1/threads/{thread}/live", read, live::live, live::about());
    table.get("/v1/threads/{thread}/runs/{run}/artifact", read, artifact::artifact, artifact::about());
    let statement = "/v1/threads/{thread}/runs/{run}/artifact/statement";
    table.get(statement, read, artifact::statement, artifact::about_statement());
    table.post("/v1/threads/{thread}/clone", run, clone::clone, clone::about());
    table.get("/v1/threads/{thread}/export", read, export::export, export::about());
    table.post("/v1/import", admin, import::import, import::about());
    table.get("/v1/changes", read, changes::changes, changes::about());
    table.post("/v1/tickets", read, tickets::issue, tickets::about());
    if settings.metrics.enabled {
        table.get("/metrics", admin.filter(|_| !settings.metrics.public), metrics::figures, metrics::about());
    }
    if settings.http.inspector == Inspector::Always {
        table.get("/", None, inspector::page, inspector::about_page());
        table.get("/assets/{name}", None, inspector::asset, inspector::about_asset());
    }
    let document = openapi::Document::default();
    let described = async move |State(app): State<App>| openapi::described(&app, &document);
    table.get("/openapi.json", None, described, openapi::about());
    table.get("/healthz", None, health::alive, health::about_alive());
    table.get("/readyz", None, health::ready, health::about_ready());
    table.endpoints
}

struct Table<'a> {
    base: &'a str,
    endpoints: Vec<Endpoint>,
}

impl Table<'_> {
    fn get<H: Handler<T, App>, T: 'static>(
        &mut self,
        path: &str,
        needs: Option<Permission>,
        handler: H,
        about: Operation,
    ) {
        self.add(Method::GET, path, needs, handler, about);
    }

    fn post<H: Handler<T, App>, T: 'static>(
        &mut self,
        path: &str,
        needs: Option<Permission>,
        handler: H,
        about: Operation,
    ) {
        self.add(Method::POST, path, needs, handler, about);
    }

    /// A route whose path is empty is switched off.
    fn add<H: Handler<T, App>, T: 'static>(
        &mut self,
        method: Method,
        path: &str,
        permission: Option<Permission>,
        handler: H,
        operation: Operation,
    ) {
        if !path.is_empty() {
            let path = format!("{}{path}", self.base);
            let filter = MethodFilter::try_from(method.clone()).expect("a method that routers know");
            self.endpoints.push(Endpoint { method, path, permission, operation, route: on(filter, handler) });
        }
    }
}
