//! Agents behind a URL. They are not trusted.

use super::{AgentRequest, Backend};
use crate::runs::source::{Failure, Given, Source};
use crate::settings::AgentSettings;
use async_trait::async_trait;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Map, Value};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use thiserror::Error;
use threadline_client::{ClientError, Endpoint, EndpointError, EndpointOptions, EventStream, Form};

/// Settings of an agent that make no sense.
#[derive(Debug, Error)]
pub enum UpstreamError {
    /// A header.
    #[error("no header. name={0}")]
    Header(String),
    /// The URL, or something else that the client is told.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

/// An agent behind a URL.
#[derive(Clone, Debug)]
pub struct Upstream {
    endpoint: Arc<Endpoint>,
    /// Headers of a client's request that are sent on.
    forward: Vec<HeaderName>,
}

impl Upstream {
    /// By its settings.
    ///
    /// # Errors
    /// If they make no sense.
    pub fn new(settings: &AgentSettings, run_bytes_max: u64) -> Result<Self, UpstreamError> {
        let name = |name: &String| {
            HeaderName::from_bytes(name.as_bytes()).map_err(|_invalid| UpstreamError::Header(name.clone()))
        };
        let mut headers = HeaderMap::new();
        for (key, value) in &settings.headers {
            let value =
                HeaderValue::from_str(value).map_err(|_invalid| UpstreamError::Header(key.clone()))?;
            headers.append(name(key)?, value);
        }
        let options = EndpointOptions {
            headers,
            accept_protobuf: settings.protobuf,
            connect_timeout: settings.connect_timeout,
            response_timeout: settings.first_byte_timeout,
            idle_timeout: settings.idle_timeout,
            body_bytes_max: run_bytes_max,
            ..EndpointOptions::default()
        };
        let forward = settings.forward_headers.iter().map(name).collect::<Result<_, _>>()?;
        Ok(Self { endpoint: Arc::new(Endpoint::new(&settings.url, options)?), forward })
    }

    fn forwarded(&self, headers: &HeaderMap) -> HeaderMap {
        let mut forwarded = HeaderMap::new();
        for name in &self.forward {
            for value in headers.get_all(name) {
                forwarded.append(name.clone(), value.clone());
            }
        }
        forwarded
    }
}

#[async_trait]
impl Backend for Upstream {
    fn source(&self, request: AgentRequest) -> Box<dyn Source> {
        let (endpoint, headers) = (Arc::clone(&self.endpoint), self.forwarded(&request.headers));
        let opening = async move { endpoint.run(request.body, &headers).await };
        Box::new(UpstreamRun::Opening(Box::pin(opening)))
    }

    async fn capabilities(&self) -> Map<String, Value> {
        match self.endpoint.capabilities(&HeaderMap::new()).await {
            Ok(document) => document.and_then(|json| serde_json::from_slice(&json).ok()).unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "an agent does not say what it can do");
                Map::new()
            }
        }
    }
}

type Opening = Pin<Box<dyn Future<Output = Result<EventStream, ClientError>> + Send>>;

/// A run of an agent behind a URL.
enum UpstreamRun {
    Opening(Opening),
    Open(Box<EventStream>),
    Over,
}

impl fmt::Debug for UpstreamRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Opening(_) => "Opening",
            Self::Open(_) => "Open",
            Self::Over => "Over",
        })
    }
}

#[async_trait]
impl Source for UpstreamRun {
    async fn next(&mut self) -> Option<Result<Given, Failure>> {
        let next = loop {
            match self {
                Self::Opening(opening) => match opening.await {
                    Ok(events) => *self = Self::Open(Box::new(events)),
                    Err(error) => break Some(Err(error)),
                },
                Self::Open(events) => break events.next().await,
                Self::Over => break None,
            }
        };
        Some(match next? {
            Ok(event) => Ok(match event.form {
                Form::Json => Given::Json(event.bytes),
                Form::FromProtobuf => Given::FromProtobuf(event.bytes),
                Form::Undecodable => Given::Undecodable(event.bytes),
            }),
            Err(error) => {
                *self = Self::Over;
                Err(Failure { code: error.code().to_owned(), message: error.to_string() })
            }
        })
    }
}
