//! Parameters of paths and queries, refused like everything else.

use crate::error::{Code, Refusal};
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

/// The query of a request.
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let query = Query::from_request_parts(parts, state).await;
        let Query(parameters) =
            query.map_err(|error| Refusal::new(Code::InvalidParameter, error.body_text()))?;
        Ok(Self(parameters))
    }
}

/// The name in a path.
pub(super) struct Name(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = Path::from_request_parts(parts, state).await;
        let Path(name) = path.map_err(|error| Refusal::new(Code::InvalidParameter, error.body_text()))?;
        Ok(Self(name))
    }
}
