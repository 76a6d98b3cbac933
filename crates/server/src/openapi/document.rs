//! The document, made from the table of routes.

use super::shapes::{COMPONENTS, closed, object, text, word};
use crate::error::Code;
use crate::routes::Endpoint;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use threadline_log::names::NAME_BYTES_MAX;

const ABOUT: &str = "The durable home of AG-UI conversations. docs/http.md says what is behind each of these. \
    Every answer has an x-request-id. The schema of a text/event-stream is that of one of its frames.";

/// Describes the routes of a server. It is guarded if callers must prove who they are.
pub(crate) fn document(endpoints: &[Endpoint], is_guarded: bool) -> Value {
    let mut paths = Map::new();
    for endpoint in endpoints {
        let path = paths.entry(&endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_lowercase()] = operation(endpoint, is_guarded);
    }
    let mut paths = Value::Object(paths);
    let mut schemas = Map::new();
    share(&mut paths, &mut schemas);
    let mut document = json!({
        "openapi": "3.1.0",
        "info": { "title": "Threadline", "version": env!("CARGO_PKG_VERSION"), "description": ABOUT,
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" } },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": { "schemas": schemas },
    });
    if is_guarded {
        document["components"]["securitySchemes"] = json!({
            "bearer": { "type": "http", "scheme": "bearer",
                "description": "A token of threadline token create, or a JWT." },
            "ticket": { "type": "apiKey", "in": "query", "name": "ticket",
                "description": "Of POST /v1/tickets, good for one request, for pages that cannot send a header." },
        });
    }
    document
}

fn operation(endpoint: &Endpoint, is_guarded: bool) -> Value {
    let Endpoint { method, path, permission, operation, .. } = endpoint;
    let mut parameters: Vec<Value> = names(path).map(name).collect();
    parameters.extend(operation.parameters.iter().cloned());
    let mut described = json!({
        "operationId": operation_id(method.as_str(), path),
        "summary": operation.summary,
        "parameters": parameters,
        "responses": answers(endpoint, is_guarded),
    });
    if let Some(body) = &operation.body {
        described["requestBody"] = body.clone();
    }
    if let Some(permission) = permission.filter(|_| is_guarded) {
        // Tickets are for what cannot send a header, which cannot post either.
        let is_ticket_taken = method == axum::http::Method::GET;
        described["security"] = match is_ticket_taken {
            true => json!([{ "bearer": [] }, { "ticket": [] }]),
            false => json!([{ "bearer": [] }]),
        };
        described["description"] = format!("Takes the permission `{permission}`.").into();
    }
    described
}

/// `postAgentsAgentConnect`: what a generated client calls it.
fn operation_id(method: &str, path: &str) -> String {
    let words = path.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut id = method.to_lowercase();
    for word in words {
        let (first, rest) = word.split_at(1);
        id.push_str(&first.to_uppercase());
        id.push_str(rest);
    }
    id
}

/// The names in a path.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn name(name: &str) -> Value {
    json!({
        "in": "path", "name": name, "required": true,
        "description": format!("The {name}, by its id."),
        "schema": { "type": "string", "minLength": 1, "maxLength": NAME_BYTES_MAX },
    })
}

fn answers(endpoint: &Endpoint, is_guarded: bool) -> Value {
    let mut answers: BTreeMap<String, Value> = BTreeMap::new();
    let mut by_status: BTreeMap<StatusCode, BTreeSet<&str>> = BTreeMap::new();
    for code in refusals(endpoint, is_guarded) {
        by_status.entry(code.status()).or_default().insert(code.name());
    }
    for (status, codes) in by_status {
        answers.insert(status.as_str().to_owned(), refusal(status, &codes));
    }
    for (status, answer) in &endpoint.operation.answers {
        answers.insert(status.as_str().to_owned(), answer.clone());
    }
    json!(answers)
}

/// Everything that a request can be refused for.
fn refusals(endpoint: &Endpoint, is_guarded: bool) -> Vec<Code> {
    let operation = &endpoint.operation;
    let mut codes = operation.codes.clone();
    codes.extend([Code::HostNotAllowed, Code::OriginNotAllowed]);
    if endpoint.permission.is_some() {
        codes.extend([Code::RateLimited, Code::Overloaded, Code::Internal]);
    }
    if endpoint.permission.is_some() && is_guarded {
        codes.extend([Code::Unauthorized, Code::Forbidden]);
    }
    if operation.body.is_some() {
        codes.extend([
            Code::InvalidInput,
            Code::RequestTimeout,
            Code::RequestTooLarge,
            Code::UnsupportedMediaType,
        ]);
    }
    let has_query = operation.parameters.iter().any(|parameter| parameter["in"] == "query");
    if has_query || endpoint.path.contains('{') {
        codes.push(Code::InvalidParameter);
    }
    codes
}

fn refusal(status: StatusCode, codes: &BTreeSet<&str>) -> Value {
    let codes: Vec<&str> = codes.iter().copied().collect();
    let error = closed(object(
        &[("code", word(&codes)), ("message", text())],
        &[("details", json!({ "type": "object" }))],
    ));
    let schema = closed(object(&[("error", error)], &[]));
    let mut refusal = json!({
        "description": format!("Refused: {}.", codes.join(", ")),
        "content": { "application/json": { "schema": schema } },
    });
    let header = match status {
        StatusCode::UNAUTHORIZED => Some(("WWW-Authenticate", json!({ "const": "Bearer" }))),
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
            Some(("Retry-After", json!({ "type": "integer", "description": "In seconds." })))
        }
        _ => None,
    };
    if let Some((name, schema)) = header {
        refusal["headers"] = json!({ name: { "required": true, "schema": schema } });
    }
    refusal
}

/// Moves schemas that have a name to where they are once.
fn share(value: &mut Value, schemas: &mut Map<String, Value>) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| share(value, schemas)),
        Value::Object(members) => {
            members.values_mut().for_each(|value| share(value, schemas));
            let Some(Value::String(name)) = members.get("title") else { return };
            let (name, reference) = (name.clone(), format!("{COMPONENTS}{name}"));
            let known = schemas.entry(name).or_insert_with(|| value.clone());
            // Two of one name would be a mistake, which the test finds.
            if known == value {
                *value = json!({ "$ref": reference });
            }
        }
        _ => {}
    }
}
