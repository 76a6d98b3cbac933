//! S9: agents are called where the operator says, and nothing else is, whatever addresses clients name.

use super::agents::{brief, section};
use super::client::{Client, Frame, request};
use super::process::Served;
use hyper::{Method, Request};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};

/// What means this machine to some resolver, or to some parser of addresses, or what a cloud answers its machines at.
const HOSTS: [&str; 44] = [
    "127.0.0.1",
    "127.0.1",
    "127.1",
    "127.0.0.1.",
    "127.000.000.001",
    "2130706433",
    "0x7f000001",
    "0x7f.0.0.1",
    "0x7F.1",
    "0177.0.0.1",
    "0177.1",
    "017700000001",
    "0",
    "0.0.0.0",
    "0x0",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "localhost.localdomain",
    "ip6-localhost",
    "any.localhost",
    "127.0.0.1.nip.io",
    "7f000001.rbndr.us",
    "localtest.me",
    "[::1]",
    "[::]",
    "[0:0:0:0:0:0:0:1]",
    "[0000::0001]",
    "[::127.0.0.1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:0:127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "[::1%25lo]",
    "\u{ff11}\u{ff12}\u{ff17}.\u{ff10}.\u{ff10}.\u{ff11}",
    "127\u{3002}0\u{3002}0\u{3002}1",
    "\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}",
    "\u{24db}\u{24de}\u{24d2}\u{24d0}\u{24db}\u{24d7}\u{24de}\u{24e2}\u{24e3}",
    "169.254.169.254",
    "[fd00:ec2::254]",
    "metadata.google.internal",
    "100.100.100.200",
    "10.0.0.1",
];

/// How a URL can be put so that one who checks it and one who calls it do not see the same.
fn disguises(port: u16) -> Vec<String> {
    let here = format!("127.0.0.1:{port}");
    let mut urls: Vec<String> = ["https", "HTTP", "ws", "wss", "ftp", "gopher", "unix", "h2c"]
        .map(|scheme| format!("{scheme}://{here}/"))
        .into();
    urls.extend([
        here.clone(),
        format!("//{here}/"),
        format!("/\\{here}/"),
        format!("http:/{here}/"),
        format!("http:\\\\{here}\\"),
        format!("http:{here}"),
        format!(" http://{here}/"),
        format!("ht\ntp://{here}/"),
        format!("http://agent.example@{here}/"),
        format!("http://agent.example:80@{here}/"),
        format!("http://{here}#@agent.example/"),
        format!("http://{here}?@agent.example/"),
        format!("http://agent.example\\@{here}/"),
        format!("http://{here}\u{0}.agent.example/"),
        format!("file://{here}/"),
    ]);
    urls
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_no_address_of_a_client_is_called() {
    let dir = TempDir::new().expect("a directory");
    let agent = brief().await;
    let served = Served::start(dir.path(), &section("brief", &agent));
    let trap = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = trap.local_addr().expect("an address").port();
    // Not every machine has it.
    let trap6 = TcpListener::bind(("::1", port)).await.ok();
    let mut urls: Vec<String> = HOSTS.map(|host| format!("http://{host}:{port}/")).into();
    urls.extend(disguises(port));
    assert!(urls.len() >= 60, "{}", urls.len());

    for (number, url) in urls.iter().enumerate() {
        call(served.client, url, number).await;
    }
    assert_eq!(agent.requests().len(), urls.len(), "the agent of the settings is called, once for each run");
    for trap in [Some(trap), trap6].into_iter().flatten() {
        // Whoever came before us is taken before us.
        let own = TcpStream::connect(trap.local_addr().expect("an address")).await.expect("a connection");
        let (_, first) = trap.accept().await.expect("a connection");
        assert_eq!(first, own.local_addr().expect("an address"), "somebody was sent here");
    }
    served.stop().await;
}

/// Says a URL wherever a client can say something.
async fn call(client: Client, url: &str, number: usize) {
    let escaped = utf8_percent_encode(url, NON_ALPHANUMERIC).to_string();
    let run = format!("run-{number}");
    let body = request(url, &run);
    for path in [format!("/agents/{escaped}"), format!("/agents/{escaped}/connect")] {
        let (status, code) = client.post(&path, &[], &body).await.expect("an answer").refusal().await;
        assert_eq!((status, code.as_str()), (404, "agent_not_found"), "{url}");
    }
    assert_eq!(client.get(&format!("/agents/{escaped}/capabilities")).await.status, 404, "{url}");

    let mut body = body;
    let source = json!({ "type": "url", "value": url, "mimeType": "image/png" });
    body["messages"] = json!([
        { "id": url, "role": "user", "content": [{ "type": "text", "text": url }, { "type": "image", "source": source }] },
    ]);
    body["context"] = json!([{ "description": "url", "value": url }]);
    body["tools"] = json!([{ "name": url, "description": url, "parameters": { "$ref": url } }]);
    for field in ["state", "forwardedProps"] {
        body[field] = json!({ "url": url, "agentUrl": url, "baseUrl": url, "endpoint": url, "webhook": url, "$ref": url });
    }
    body["agentUrl"] = url.into();
    let names = [
        "x-agent-url",
        "x-forwarded-host",
        "x-original-url",
        "x-rewrite-url",
        "forwarded",
        "referer",
        "destination",
    ];
    let headers =
        names.map(|name| (name, if url.is_ascii() && !url.contains(['\n', '\0']) { url } else { &*escaped }));
    let path = format!("/agents/brief?url={escaped}&agent={escaped}");
    let frames = client.post(&path, &headers, &body).await.expect("an answer").all().await;
    assert_eq!(frames.last().map(Frame::kind).as_deref(), Some("RUN_FINISHED"), "{url}");

    // As one asks a proxy. Whether and how the server answers for itself does not matter here, and not everything can be asked so.
    for method in [Method::GET, Method::POST, Method::CONNECT] {
        let request = Request::builder().method(method).uri(url).header("content-type", "application/json");
        drop(client.ask(request, body.to_string()).await);
    }
}
