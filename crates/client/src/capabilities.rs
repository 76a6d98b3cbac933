//! What an agent says of itself.

use crate::answer::{self, expect_plain};
use crate::{ClientError, Endpoint, Phase, exchange};
use bytes::Bytes;
use http::header::{ACCEPT, HeaderMap, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, StatusCode};
use http_body_util::Empty;
use std::time::Duration;
use threadline_protocol::json::{Json, JsonObject, NotJson};
use tokio::time::timeout;

/// How large the document may be.
const BYTES_MAX: usize = 1024 * 1024;

/// How long all of it may take: who asks is waiting, and can do without.
const WAIT: Duration = Duration::from_secs(5);

impl Endpoint {
    /// The document that the agent describes itself by, exactly as it came: a JSON object of at most 1 MiB, found at
    /// `/capabilities` below the agent's URL. `None` if the agent has none (404, 405 or 501). Whether it is what AG-UI
    /// says it should be has not been looked at.
    ///
    /// # Errors
    /// If the agent cannot be reached, refuses, answers with something else, or has not answered within 5 s.
    pub async fn capabilities(&self, forwarded: &HeaderMap) -> Result<Option<Bytes>, ClientError> {
        self.capabilities_at(&self.address.capabilities, forwarded).await
    }

    /// The same, of a document that is somewhere else.
    pub(crate) async fn capabilities_at(
        &self,
        path: &PathAndQuery,
        forwarded: &HeaderMap,
    ) -> Result<Option<Bytes>, ClientError> {
        let document = timeout(WAIT, self.capabilities_untimed(path, forwarded)).await;
        document.unwrap_or(Err(ClientError::Timeout { phase: Phase::Capabilities, after: WAIT }))
    }

    async fn capabilities_untimed(
        &self,
        path: &PathAndQuery,
        forwarded: &HeaderMap,
    ) -> Result<Option<Bytes>, ClientError> {
        let body = Empty::<Bytes>::new();
        let mut request = self.request(Method::GET, path, body, forwarded);
        request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
        let io = self.connect().await?;
        let (head, mut body) = exchange::send(io, request, self.options.idle_timeout).await?.into_parts();
        match head.status {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED => {
                return Ok(None);
            }
            status if !status.is_success() => return Err(answer::refusal(head, body).await),
            _ => expect_plain(&head.headers)?,
        }
        let mut document = Vec::new();
        while let Some(piece) = body.next().await {
            document.extend_from_slice(&piece?);
            if document.len() > BYTES_MAX {
                return Err(ClientError::TooLarge { limit: BYTES_MAX as u64 });
            }
        }
        expect_object(&document)?;
        Ok(Some(document.into()))
    }
}

fn expect_object(document: &[u8]) -> Result<(), ClientError> {
    let text =
        str::from_utf8(document).map_err(|source| ClientError::Capabilities { source: source.into() })?;
    let object = Json::parse(text).and_then(JsonObject::try_from);
    object.map(drop).map_err(|source: NotJson| ClientError::Capabilities { source: source.into() })
}
