//! The place of a connection, which whatever becomes of the connection keeps.

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// A connection's place. It is free when the last clone is dropped. Requests have it in their extensions.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    _place: Arc<Option<OwnedSemaphorePermit>>,
}

impl Held {
    pub(super) fn new(place: Option<OwnedSemaphorePermit>) -> Self {
        Self { _place: Arc::new(place) }
    }
}

/// The routes, for the requests of one connection.
#[derive(Debug)]
pub(super) struct Holding {
    routes: TowerToHyperService<Router>,
    held: Held,
}

impl Holding {
    pub(super) fn new(routes: Router, held: Held) -> Self {
        Self { routes: TowerToHyperService::new(routes), held }
    }
}

impl Service<Request<Incoming>> for Holding {
    type Response = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Response;
    type Error = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Error;
    type Future = <TowerToHyperService<Router> as Service<Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.held.clone());
        self.routes.call(request)
    }
}
