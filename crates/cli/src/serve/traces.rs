//! Traces for OpenTelemetry: what a request and a run took, sent to a collector by OTLP over HTTP.

use crate::report::Failure;
use async_trait::async_trait;
use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use axum::middleware::{self, Next};
use bytes::Bytes;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{FutureExt, TracerProvider};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use std::sync::Arc;
use threadline_client::{Endpoint, EndpointOptions, Payload};
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::filter::{Filtered, Targets};
use tracing_subscriber::layer::Layer;
use tracing_subscriber::registry::LookupSpan;

/// Where collectors take traces.
const PATH: &str = "/v1/traces";
/// The most that a collector has to say.
const ANSWER_BYTES_MAX: usize = 64 * 1024;

/// Sends what is traced to a collector, in the background.
#[derive(Debug)]
pub(crate) struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// To the collector at this URL.
    ///
    /// # Errors
    /// If it is no URL.
    pub(crate) fn to(url: &str, runtime: Handle) -> Result<Self, Failure> {
        let endpoint = Arc::new(check(url)?);
        let exporter = SpanExporter::builder()
            .with_http()
            .with_endpoint(format!("{}{PATH}", url.trim_end_matches('/')))
            .with_http_client(Collector { endpoint, runtime })
            .build()
            .map_err(|error| wrong(url, &error))?;
        let resource = Resource::builder().with_service_name("threadline").build();
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
        Ok(Self { provider })
    }

    /// What listens to our spans. Those of others would be about how we do things, not what.
    pub(crate) fn layer<S>(&self) -> Filtered<OpenTelemetryLayer<S, SdkTracer>, Targets, S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let ours =
            Targets::new().with_target("threadline_server", LevelFilter::INFO).with_default(LevelFilter::OFF);
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("threadline"))
            .with_location(false)
            .with_threads(false)
            .with_filter(ours)
    }

    /// Sends what has not been sent.
    pub(crate) fn flush(&self) {
        if let Err(error) = self.provider.shutdown() {
            tracing::warn!(%error, "the last traces were not sent");
        }
    }
}

/// The way to a collector, which is not gone.
///
/// # Errors
/// If it is no URL.
pub(crate) fn check(url: &str) -> Result<Endpoint, Failure> {
    Endpoint::new(url, EndpointOptions::default()).map_err(|error| wrong(url, &error))
}

fn wrong(url: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("--traces: {error}. url={url}"))
}

/// Routes whose requests belong to the traces that their `traceparent` names.
pub(crate) fn continued(routes: Router) -> Router {
    routes.layer(middleware::from_fn(async |request: Request, next: Next| {
        let parent = TraceContextPropagator::new().extract(&Headers(request.headers()));
        next.run(request).with_context(parent).await
    }))
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(|value| value.to_str().ok())
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(axum::http::HeaderName::as_str).collect()
    }
}

/// The way to a collector.
#[derive(Debug)]
struct Collector {
    endpoint: Arc<Endpoint>,
    /// What sends is a thread of its own.
    runtime: Handle,
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: axum::http::Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let endpoint = Arc::clone(&self.endpoint);
        let sent = self.runtime.spawn(async move {
            let payload = Payload::Protobuf(request.into_body());
            endpoint.ask(axum::http::Method::POST, PATH, payload).await?.all(ANSWER_BYTES_MAX).await
        });
        Ok(Response::new(sent.await??.into()))
    }
}
