//! The places of a connection, which whatever becomes of the connection keeps.

use super::addresses::AddressPlace;
use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;

/// A connection's places: among all, and among those of its address. They are free when the last clone is dropped. Requests
/// have them in their extensions.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    _places: Arc<(Option<OwnedSemaphorePermit>, AddressPlace)>,
}

impl Held {
    pub(super) fn new(place: Option<OwnedSemaphorePermit>, of_address: AddressPlace) -> Self {
        Self { _places: Arc::new((place, of_address)) }
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
