//! An agent's address, and how to talk to it.

use crate::address::Address;
use crate::headers::{is_ours, merge};
use crate::proxy::Proxy;
use crate::tls;
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request};
use std::fmt;
use std::time::Duration;
use thiserror::Error;
use threadline_protocol::limits::Limits;
use tokio_rustls::TlsConnector;

/// An AG-UI agent at a URL.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) address: Address,
    pub(crate) options: EndpointOptions,
    /// Present if the URL is one of https.
    pub(crate) tls: Option<TlsConnector>,
}

/// How to talk to an agent, and how much of it to bear.
#[derive(Clone, Debug)]
pub struct EndpointOptions {
    /// Sent with every request. They are taken for secrets, and win over forwarded headers of the same name.
    pub headers: HeaderMap,
    /// Whether to say that protobuf is welcome. If it comes it is read either way.
    pub accept_protobuf: bool,
    /// Whom to go through. By default nobody, whatever the environment says.
    pub proxy: Option<Proxy>,
    /// How long it may take to find the address, to connect to it, and to agree on TLS, all together. 10 s.
    pub connect_timeout: Duration,
    /// How long it may take from then to the head of the answer, sending the request included. 60 s: some agents answer only
    /// when their model does.
    pub response_timeout: Duration,
    /// How long the agent may send nothing, not even a comment, once it has begun to answer. 5 min. Time in which nobody asks
    /// for events does not count against an agent that has sent some.
    pub idle_timeout: Duration,
    /// How large a line and an event may be, the JSON for a protobuf frame included. 10 MiB.
    pub limits: Limits,
    /// How large the whole answer may be, in bytes, comments included. 1 GiB.
    pub body_bytes_max: u64,
}

impl Default for EndpointOptions {
    fn default() -> Self {
        Self {
            headers: HeaderMap::new(),
            accept_protobuf: false,
            proxy: None,
            connect_timeout: Duration::from_secs(10),
            response_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(5 * 60),
            limits: Limits::default(),
            body_bytes_max: 1024 * 1024 * 1024,
        }
    }
}

/// Why an agent cannot be set up as it is configured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The URL is none, or none that leads to an agent.
    #[error("not the url of an agent: {what}")]
    Url {
        /// What is wrong with it.
        what: &'static str,
    },
    /// A URL ends up in logs and error messages.
    #[error("credentials in the url: put them into a header, such as `authorization: Basic ...`")]
    Credentials,
    /// The header is for us to set, as it says how the message is sent or what is in it.
    #[error("header cannot be configured. name={0}")]
    Header(HeaderName),
    /// The proxy cannot be one.
    #[error("not the url of a proxy: {what}")]
    Proxy {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The operating system trusts no certificate that we could read, so that no agent would be trusted.
    #[error("no trusted certificates found, which https needs: {0}")]
    Certificates(String),
}

impl Endpoint {
    /// An agent at `url`, which is one of http or https, in ASCII. A fragment is ignored.
    ///
    /// # Errors
    /// If the URL or a header cannot be used, or if the URL is one of https and there are no trusted certificates.
    pub fn new(url: &str, mut options: EndpointOptions) -> Result<Self, EndpointError> {
        let address = Address::parse(url)?;
        if let Some(name) = options.headers.keys().find(|name| is_ours(name)) {
            return Err(EndpointError::Header(name.clone()));
        }
        for value in options.headers.values_mut() {
            value.set_sensitive(true);
        }
        let tls = if address.is_tls { Some(tls::connector(tls::system_roots()?)) } else { None };
        Ok(Self { address, options, tls })
    }

    /// A request with the headers that every one has.
    pub(crate) fn request<B>(
        &self,
        method: Method,
        path: &PathAndQuery,
        body: B,
        forwarded: &HeaderMap,
    ) -> Request<B> {
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = path.clone().into();
        *request.headers_mut() = merge(&self.options.headers, forwarded);
        let host =
            HeaderValue::from_str(self.address.authority.as_str()).expect("an authority is visible ASCII");
        request.headers_mut().insert(HOST, host);
        // What is encrypted goes through a tunnel, of which the request knows nothing.
        if let Some(proxy) = self.options.proxy.as_ref().filter(|_| self.tls.is_none()) {
            proxy.address_request(&mut request, &self.address.authority);
        }
        request
    }
}

/// Without the path and the query, which may hold secrets.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("host", &self.address.authority)
            .field("is_tls", &self.address.is_tls)
            .field("options", &self.options)
            .finish()
    }
}
