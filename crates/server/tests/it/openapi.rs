//! What the server says about itself, and whether it keeps to that.

use crate::harness::Harness;
use axum::http::response::Parts;
use axum::http::{Method, header};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, LazyLock, Mutex};
use threadline_server::settings::Inspector;
use threadline_server::{App, Code, Settings, description, endpoints};

/// The description of a server, which every answer is held against.
#[derive(Clone)]
pub(crate) struct Described(Arc<Value>);

/// Made once for all servers of a kind, of which some tests have thousands.
static KNOWN: LazyLock<Mutex<HashMap<String, Described>>> = LazyLock::new(Mutex::default);

impl Described {
    pub(crate) fn new(app: &App) -> Self {
        let kind = format!("{:?} {}", app.settings(), app.authority().is_some());
        let described = || Self(Arc::new(description(app)));
        KNOWN.lock().unwrap().entry(kind).or_insert_with(described).clone()
    }

    /// Whether an answer is one of those that are described. Routes and methods that are not there are not.
    pub(crate) fn check(&self, method: &Method, path: &str, head: &Parts) {
        let Some(operation) = self.operation(method, path) else { return };
        let (status, place) = (head.status.as_str(), format!("{method} {path}"));
        let answer = &operation["responses"][status];
        assert!(answer.is_object(), "{place} answers {status}, which is not described");
        let media_type = head.headers.get(header::CONTENT_TYPE).map(|value| value.to_str().unwrap());
        let forms = answer["content"].as_object();
        let form = match (media_type, forms) {
            (Some(name), Some(forms)) => forms.get(name),
            (None, None) => None,
            _ => panic!("{place} answers {status} as {media_type:?}: {answer}"),
        };
        assert_eq!(form.is_some(), forms.is_some(), "{place} answers {status} as {media_type:?}: {answer}");
        if let Some(code) = head.extensions.get::<Code>() {
            let codes = &form.unwrap()["schema"]["properties"]["error"]["properties"]["code"]["enum"];
            let codes = codes.as_array().unwrap_or_else(|| panic!("{place} {status}: {answer}"));
            assert!(codes.contains(&json!(code.name())), "{place} refuses with {}: {codes:?}", code.name());
        }
        for (name, header) in answer["headers"].as_object().into_iter().flatten() {
            let must = header["required"] == true;
            assert!(!must || head.headers.contains_key(name), "{place} answers {status} without {name}");
        }
    }

    fn operation(&self, method: &Method, path: &str) -> Option<&Value> {
        let parts: Vec<&str> = path.split('/').collect();
        let fits = |template: &str| {
            let expected: Vec<&str> = template.split('/').collect();
            let same = |(part, expected): (&&str, &&str)| {
                part == expected || (expected.starts_with('{') && !part.is_empty())
            };
            parts.len() == expected.len() && parts.iter().zip(&expected).all(same)
        };
        let mut paths = self.0["paths"].as_object().unwrap().iter();
        paths.find(|(template, _)| fits(template))?.1.get(method.as_str().to_lowercase())
    }
}

#[tokio::test]
async fn every_route_is_described_and_nothing_else() {
    let mut settings = Settings::default();
    let renamed = {
        let mut settings = settings.clone();
        settings.paths.base = "/base".to_owned();
        settings.paths.run = "/talk".to_owned();
        settings.paths.cancel = String::new();
        settings.history.enabled = false;
        settings.http.inspector = Inspector::Always;
        settings
    };
    settings.metrics.enabled = true;
    for settings in [settings, renamed] {
        let expected: BTreeSet<(String, String)> = endpoints(&settings)
            .iter()
            .map(|endpoint| (endpoint.path.clone(), endpoint.method.as_str().to_lowercase()))
            .collect();
        assert!(expected.len() >= 25);
        let path = format!("{}/openapi.json", settings.paths.base);
        let document = Harness::with(settings).get(&path, &[]).await.json().await;
        let paths = document["paths"].as_object().unwrap();
        let described = paths.iter().flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(|method| (path.clone(), method.clone()))
        });
        assert_eq!(described.collect::<BTreeSet<_>>(), expected);
    }
}

/// All objects of a document, with where they are.
fn objects<'d>(value: &'d Value, place: &str, found: &mut Vec<(String, &'d Value)>) {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => {
            found.push((place.to_owned(), value));
            members.iter().map(|(name, value)| (name.clone(), value)).collect()
        }
        Value::Array(values) => {
            values.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
        }
        _ => return,
    };
    for (name, value) in members {
        objects(value, &format!("{place}/{name}"), found);
    }
}

#[test]
fn the_document_is_whole() {
    let document = description(&Harness::new().app);
    let mut all = Vec::new();
    objects(&document, "", &mut all);
    let mut used = BTreeSet::new();
    for (place, object) in &all {
        if let Some(reference) = object.get("$ref") {
            let target = reference.as_str().unwrap().strip_prefix('#').unwrap();
            assert!(document.pointer(target).is_some(), "{place}: {target}");
            used.insert(target.to_owned());
        }
        let is_shared = place.strip_prefix("/components/schemas/").is_some_and(|rest| !rest.contains('/'));
        let name = object.get("title").filter(|name| name.is_string() && place != "/info");
        assert!(name.is_none() || is_shared, "two schemas have the name of {place}");
    }
    let shared = document["components"]["schemas"].as_object().unwrap();
    let shared: BTreeSet<String> = shared.keys().map(|name| format!("/components/schemas/{name}")).collect();
    assert_eq!(used, shared, "everything that is shared is used");
    let operations = all.iter().filter_map(|(_, object)| object.get("operationId")?.as_str());
    let operations: Vec<&str> = operations.collect();
    assert_eq!(operations.iter().collect::<BTreeSet<_>>().len(), operations.len(), "{operations:?}");
}

/// The table of refusals in docs/http.md, and those of the document.
#[test]
fn every_refusal_is_in_the_documentation() {
    let text = include_str!("../../../../docs/http.md");
    let section = text.split("\n## Refusals\n").nth(1).unwrap();
    let rows = section.lines().filter_map(|line| {
        let (status, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
        let codes = rest.split('`').skip(1).step_by(2);
        let codes = codes.filter(|code| code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
        Some((status.parse::<u16>().ok()?.to_string(), codes.map(str::to_owned).collect::<BTreeSet<_>>()))
    });
    let written: BTreeMap<String, BTreeSet<String>> = rows.collect();
    let document = guarded();
    let mut described: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut all = Vec::new();
    objects(&document["paths"], "", &mut all);
    for (place, object) in all {
        let codes = object.get("error").and_then(|error| error["properties"]["code"]["enum"].as_array());
        for code in codes.into_iter().flatten() {
            let status = place.split("/responses/").nth(1).unwrap()[..3].to_owned();
            described.entry(status).or_default().insert(code.as_str().unwrap().to_owned());
        }
    }
    // Of routes and methods that are not there, of which there is nothing to describe.
    described.entry("404".to_owned()).or_default().insert("not_found".to_owned());
    described.entry("405".to_owned()).or_default().insert("method_not_allowed".to_owned());
    assert_eq!(described, written);
}

fn guarded() -> Value {
    let mut settings = Settings::default();
    settings.auth.tokens = Some("nowhere".into());
    description(&Harness::with(settings).app)
}

#[test]
fn permissions_are_described_where_they_are_needed() {
    let open = description(&Harness::new().app);
    assert_eq!(open["components"].get("securitySchemes"), None);
    let document = guarded();
    for endpoint in endpoints(&Settings::default()) {
        let method = endpoint.method.as_str().to_lowercase();
        let operation = &document["paths"][&endpoint.path][&method];
        let must = endpoint.permission.is_some();
        assert_eq!(operation["security"].is_array(), must, "{method} {}", endpoint.path);
        assert_eq!(operation["responses"]["401"].is_object(), must, "{method} {}", endpoint.path);
        assert!(open["paths"][&endpoint.path][&method].get("security").is_none());
    }
}
