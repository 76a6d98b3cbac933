//! TLS, and whom it trusts.

use crate::EndpointError;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use tokio_rustls::TlsConnector;

/// Connects by TLS to whoever shows a certificate that leads to one of `roots`.
pub(crate) fn connector(roots: RootCertStore) -> TlsConnector {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has what TLS 1.2 and 1.3 need")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    TlsConnector::from(Arc::new(config))
}

/// The certificates that the operating system trusts. Those that cannot be read are left out.
///
/// # Errors
/// If there are none.
pub(crate) fn system_roots() -> Result<RootCertStore, EndpointError> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        let why = found.errors.first().map_or_else(|| "the store is empty".to_owned(), ToString::to_string);
        return Err(EndpointError::Certificates(why));
    }
    Ok(roots)
}
