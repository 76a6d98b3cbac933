//! Going through a proxy.

use super::{FINISHED, STARTED, hasty};
use bytes::Bytes;
use http::HeaderMap;
use std::error::Error as _;
use threadline_client::{Client, ClientError, Endpoint, EndpointOptions, Proxy, Quiet, Thread, Turn};
use threadline_testkit::upstream::{Upstream, answer, sse_answer};

fn proxy(upstream: &Upstream) -> Proxy {
    Proxy::new(&format!("http://me:secret@{}", upstream.address())).expect("a url of a proxy")
}

#[tokio::test]
async fn requests_of_http_are_sent_to_the_proxy() {
    let upstream = Upstream::start([sse_answer(&[STARTED, FINISHED])]).await;
    let mut options = hasty();
    options.endpoint.proxy = Some(proxy(&upstream));
    let client = Client::new("http://agent.invalid:8000/run?k=v", options).unwrap();
    Thread::new(&client, "t").run(Turn::say("hi")).unwrap().finish(&mut Quiet).await.unwrap();
    let request = upstream.requests().remove(0);
    assert_eq!(request.target, "http://agent.invalid:8000/run?k=v");
    assert_eq!(request.header("host"), ["agent.invalid:8000"]);
    assert_eq!(request.header("proxy-authorization"), ["Basic bWU6c2VjcmV0"]);
}

#[tokio::test]
async fn those_of_https_ask_for_a_tunnel() {
    let upstream = Upstream::start([answer("403 Forbidden", "text/plain", "no")]).await;
    let options = EndpointOptions { proxy: Some(proxy(&upstream)), ..EndpointOptions::default() };
    let endpoint = match Endpoint::new("https://agent.invalid/run", options) {
        Ok(endpoint) => endpoint,
        // There is nobody to trust on this machine.
        Err(error) => return println!("skipped: {error}"),
    };
    let error = endpoint.run(Bytes::new(), &HeaderMap::new()).await.unwrap_err();
    let ClientError::Unreachable { host, .. } = &error else { panic!("{error:?}") };
    assert_eq!(host, &format!("agent.invalid by way of {}", upstream.address().ip()));
    assert_eq!(error.source().unwrap().to_string(), "the proxy refuses. status=403");
    let request = upstream.requests().remove(0);
    assert_eq!((&*request.method, &*request.target), ("CONNECT", "agent.invalid:443"));
    assert_eq!(request.header("proxy-authorization"), ["Basic bWU6c2VjcmV0"]);
}
