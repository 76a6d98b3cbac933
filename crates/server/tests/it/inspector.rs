//! The inspector's page, as browsers are given it.

use crate::harness::Harness;
use axum::http::{StatusCode, header};
use threadline_inspector::{FILES, File};
use threadline_server::settings::Inspector;
use threadline_server::{Settings, endpoints};

#[tokio::test]
async fn the_page_and_its_files_are_there_for_anybody() {
    let mut settings = Settings::default();
    settings.http.inspector = Inspector::Always;
    let harness = Harness::with(settings);
    let page = harness.get("/", &[("accept-encoding", "br")]).await;
    if FILES.is_empty() {
        // Built where there is no npm.
        assert_eq!(page.status, StatusCode::NOT_FOUND);
        assert!(page.json().await["error"]["message"].as_str().unwrap().contains("npm"));
        return;
    }
    assert_eq!(page.status, StatusCode::OK);
    let policy = page.headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
    assert!(policy.contains("script-src 'self';") && policy.contains("require-trusted-types-for 'script'"));
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(page.headers[header::CONTENT_ENCODING], "br");
    assert_eq!(page.headers[header::CACHE_CONTROL], "no-cache");
    for file in FILES.iter().filter(|file| file.is_immutable()) {
        let answer = harness.get(&format!("/{}", file.name), &[]).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", file.name);
        assert!(answer.headers[header::CACHE_CONTROL].to_str().unwrap().contains("immutable"));
        assert_eq!(answer.headers[header::CONTENT_TYPE], file.media_type());
        assert!(!answer.headers.contains_key(header::CONTENT_ENCODING));
    }
    assert_eq!(harness.get("/assets/index.html", &[]).await.status, StatusCode::NOT_FOUND);
    let page = File::named("index.html").unwrap();
    assert!(page.brotli.len() < page.plain.len());
}

#[test]
fn it_is_off_where_others_can_reach_the_server() {
    let has_page = |inspector: Inspector, address: &str| {
        let mut settings = Settings::default();
        settings.http.inspector = inspector.on(address.parse().unwrap());
        endpoints(&settings).iter().any(|endpoint| endpoint.path == "/")
    };
    assert!(has_page(Inspector::Loopback, "127.0.0.1"));
    assert!(has_page(Inspector::Loopback, "::1"));
    assert!(!has_page(Inspector::Loopback, "0.0.0.0"));
    assert!(!has_page(Inspector::Loopback, "192.0.2.7"));
    assert!(has_page(Inspector::Always, "0.0.0.0"));
    assert!(!has_page(Inspector::Never, "127.0.0.1"));
    // Who has a listener and a page of their own is not asked.
    assert!(!endpoints(&Settings::default()).iter().any(|endpoint| endpoint.path == "/"));
}
