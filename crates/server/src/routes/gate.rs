//! What every request goes through before its route.
//!
//! It is one layer and not six, because each layer of a router copies all that are behind it for each request, and a refusal
//! does little else.

use super::{hosts, leftover, observe, origins};
use crate::app::App;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::convert::Infallible;
use std::sync::Arc;
use tower::{Layer, Service, ServiceExt, service_fn};
use tower_http::cors::CorsLayer;

/// The only way in.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    app: App,
    cors: Arc<CorsLayer>,
}

impl Gate {
    pub(super) fn new(app: App) -> Self {
        let cors = Arc::new(origins::cors(&app.settings().http));
        Self { app, cors }
    }

    /// To a route, unless the request is of a page that may not call; pages are told on every answer.
    async fn route(&self, request: Request, next: Next) -> Response {
        match origins::check(&self.app, &request) {
            Ok(()) => self.answer(request, next).await,
            Err(refusal) => {
                let refused = service_fn(async |_| Ok(refusal.clone().into_response()));
                self.answer(request, refused).await
            }
        }
    }

    async fn answer<S>(&self, request: Request, service: S) -> Response
    where
        S: Service<Request, Response = Response, Error = Infallible>,
    {
        self.cors.layer(service).oneshot(request).await.unwrap_or_else(|never| match never {})
    }
}

/// Lets a request through.
pub(super) async fn pass(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let (gate, app) = (&gate, &gate.app);
    let route = async |request| match hosts::check(app, &request) {
        Ok(()) => gate.route(request, next).await,
        Err(refusal) => refusal.into_response(),
    };
    observe::observe(app, request, |request| leftover::read(app, request, route)).await
}
