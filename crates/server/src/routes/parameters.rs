//! Parameters of paths and queries, refused like everything else.

use crate::error::{Code, Refusal};
use axum::extract::{FromRequestParts, Path, Query};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use std::collections::HashMap;

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

/// The name in a path, or its names.
pub(super) struct Name<T = String>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Name<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = Path::from_request_parts(parts, state).await;
        let Path(name) = path.map_err(|error| Refusal::new(Code::InvalidParameter, error.body_text()))?;
        Ok(Self(name))
    }
}

/// The agent in a path; none is the default one.
pub(super) struct AgentName(pub(super) Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for AgentName {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = Path::<HashMap<String, String>>::from_request_parts(parts, state).await;
        let Path(mut names) =
            path.map_err(|error| Refusal::new(Code::InvalidParameter, error.body_text()))?;
        Ok(Self(names.remove("agent")))
    }
}
