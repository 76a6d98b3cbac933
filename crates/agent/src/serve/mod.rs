//! An agent over HTTP, for axum.
//!
//! `POST /` takes a `RunAgentInput` and answers with the run's events: server-sent events, or the binary form if the client
//! names `application/vnd.ag-ui.event+proto`. `GET /capabilities` answers with what the agent says of itself. Input that
//! is no request is refused with 400 before anything runs. A client that goes away cancels its run.
//!
//! ```no_run
//! use std::sync::Arc;
//! use threadline_agent::demo::Demo;
//! use threadline_agent::serve::Handler;
//!
//! # async fn serve() -> std::io::Result<()> {
//! let app = axum::Router::new().nest("/agui", Handler::new(Arc::new(Demo::new())).into_router());
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:4000").await?;
//! axum::serve(listener, app).await
//! # }
//! ```

mod encoding;
mod event_body;
mod handler;
mod refusal;

pub use encoding::Encoding;
pub use handler::Handler;
