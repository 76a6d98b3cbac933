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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;
    use crate::{ClientError, Endpoint, EndpointOptions, ErrorKind, Phase};
    use bytes::Bytes;
    use http::HeaderMap;
    use rustls::ServerConfig;
    use rustls::pki_types::pem::PemObject as _;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio_rustls::TlsAcceptor;

    const AUTHORITY: &[u8] = include_bytes!("../testdata/tls/authority.pem");
    const CERTIFICATE: &[u8] = include_bytes!("../testdata/tls/server.pem");
    const KEY: &[u8] = include_bytes!("../testdata/tls/server.key");
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: a\n\n";

    /// Answers one request as `localhost`, and then closes the connection with a word or without.
    async fn agent(says_goodbye: bool) -> u16 {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()],
                PrivateKeyDer::from_pem_slice(KEY).unwrap(),
            )
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (tcp, _) = listener.accept().await.unwrap();
            let Ok(mut tls) = acceptor.accept(tcp).await else { return };
            assert_eq!(tls.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n{}") {
                tls.read_buf(&mut request).await.unwrap();
            }
            tls.write_all(ANSWER).await.unwrap();
            tls.flush().await.unwrap();
            if says_goodbye {
                tls.shutdown().await.unwrap();
            }
        });
        port
    }

    fn endpoint(host: &str, port: u16, roots: RootCertStore) -> Endpoint {
        let address = Address::parse(&format!("https://{host}:{port}/")).unwrap();
        Endpoint { address, options: EndpointOptions::default(), tls: Some(connector(roots)) }
    }

    fn trusting() -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(AUTHORITY).unwrap()).unwrap();
        roots
    }

    /// The events of a run, and the kind of error that ended it.
    async fn run(endpoint: &Endpoint) -> (usize, Option<ErrorKind>) {
        let mut stream = match endpoint.run(Bytes::from_static(b"{}"), &HeaderMap::new()).await {
            Ok(stream) => stream,
            Err(error) => return (0, Some(error.kind())),
        };
        let mut events = 0;
        while let Some(event) = stream.next().await {
            match event {
                Ok(_) => events += 1,
                Err(error) => return (events, Some(ClientError::kind(&error))),
            }
        }
        (events, None)
    }

    #[tokio::test]
    async fn who_is_trusted_is_talked_to() {
        let port = agent(true).await;
        assert_eq!(run(&endpoint("localhost", port, trusting())).await, (1, None));
    }

    #[tokio::test]
    async fn who_is_not_trusted_is_unreachable() {
        let port = agent(true).await;
        let stranger = endpoint("localhost", port, RootCertStore::empty());
        assert_eq!(run(&stranger).await, (0, Some(ErrorKind::Unreachable)));
        // Of another name.
        let port = agent(true).await;
        let other = endpoint("127.0.0.1", port, trusting());
        assert_eq!(run(&other).await, (0, Some(ErrorKind::Unreachable)));
    }

    #[tokio::test]
    async fn who_is_cut_off_has_not_ended() {
        let port = agent(false).await;
        assert_eq!(run(&endpoint("localhost", port, trusting())).await, (1, Some(ErrorKind::Broken)));
    }

    /// A proxy that opens one tunnel.
    async fn tunnel(to: u16) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                client.read_buf(&mut request).await.unwrap();
            }
            assert_eq!(
                request,
                format!("CONNECT localhost:{to} HTTP/1.1\r\nHost: localhost:{to}\r\n\r\n").into_bytes()
            );
            client.write_all(b"HTTP/1.1 200 Connection established\r\nx: y\r\n\r\n").await.unwrap();
            let mut server = tokio::net::TcpStream::connect(("127.0.0.1", to)).await.unwrap();
            let _gone = tokio::io::copy_bidirectional(&mut client, &mut server).await;
        });
        port
    }

    #[tokio::test]
    async fn a_tunnel_leads_to_who_is_trusted() {
        let port = agent(true).await;
        let mut through = endpoint("localhost", port, trusting());
        through.options.proxy =
            Some(crate::Proxy::new(&format!("127.0.0.1:{}", tunnel(port).await)).unwrap());
        assert_eq!(run(&through).await, (1, None));
    }

    #[tokio::test]
    async fn who_says_nothing_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let silent = endpoint("127.0.0.1", listener.local_addr().unwrap().port(), trusting());
        let run = tokio::spawn(async move { run(&silent).await });
        let _connected = listener.accept().await.unwrap();
        tokio::time::pause();
        assert_eq!(run.await.unwrap(), (0, Some(ErrorKind::Timeout(Phase::Connect))));
    }
}
