//! The check that every route has before its handler.

use super::{Authority, Caller, Permission};
use crate::app::App;
use crate::error::{Code, Refusal};
use axum::extract::{Request, State};
use axum::http::{Method, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use threadline_log::Timestamp;
use tokio::time::Instant;

/// The parameter of a query that a ticket comes in.
const TICKET: &str = "ticket";

/// What a route asks of its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing: anybody may.
    Nothing,
    /// A caller who may do this.
    Permission(Permission),
}

/// Finds out who is calling, refuses who may not, and ends the answer when the caller is no longer who it was.
pub(crate) async fn check(
    State((app, needs)): State<(App, Needs)>,
    mut request: Request,
    next: Next,
) -> Response {
    let caller = match caller(&app, needs, &mut request) {
        Ok(caller) => caller,
        Err(refusal) => return refusal.into_response(),
    };
    if needs != Needs::Nothing
        && let Ok(scope) = app.scope_of(&caller, request.headers(), None)
        && let Err(refusal) = app.load().requests.admit(&scope, Instant::now())
    {
        return refusal.into_response();
    }
    request.extensions_mut().insert(caller.clone());
    let response = next.run(request).await;
    match caller.identity() {
        Some(_) => response.map(|body| super::guard::guarded(body, &caller, app.engine().now())),
        None => response,
    }
}

fn caller(app: &App, needs: Needs, request: &mut Request) -> Result<Caller, Refusal> {
    let (Some(authority), Needs::Permission(needed)) = (app.authority(), needs) else {
        return Ok(Caller::anybody());
    };
    // What comes over a socket is its caller's, who may have come by a ticket that is used up.
    let known = request.extensions().get::<Caller>().cloned();
    let caller = known.or_else(|| identified(authority, app.engine().now(), request)).ok_or_else(|| {
        Refusal::new(Code::Unauthorized, "a valid token is needed, as a bearer in the Authorization header")
    })?;
    if !caller.may(needed) {
        return Err(Refusal::new(Code::Forbidden, format!("this needs the permission {needed}")));
    }
    Ok(caller)
}

fn identified(authority: &Authority, now: Timestamp, request: &mut Request) -> Option<Caller> {
    // What cannot send a header cannot send anything else either.
    let ticket = (request.method() == Method::GET).then(|| taken_ticket(request.uri_mut())).flatten();
    match (bearer(request), ticket) {
        (Some(bearer), _) => authority.identify(bearer, now),
        (None, ticket) => authority.tickets().redeem(&ticket?, now),
    }
}

fn bearer(request: &Request) -> Option<&str> {
    let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Takes the ticket out of a query, so that it is neither logged nor taken for a parameter of the route.
fn taken_ticket(uri: &mut Uri) -> Option<String> {
    let query = uri.query()?;
    let is_ticket = |pair: &&str| pair.split('=').next() == Some(TICKET);
    let ticket = query.split('&').find(is_ticket)?.split_once('=')?.1.to_owned();
    let rest: Vec<&str> = query.split('&').filter(|pair| !is_ticket(pair)).collect();
    let path =
        if rest.is_empty() { uri.path().to_owned() } else { format!("{}?{}", uri.path(), rest.join("&")) };
    let mut parts = std::mem::take(uri).into_parts();
    parts.path_and_query = path.parse().ok();
    *uri = Uri::from_parts(parts).unwrap_or_default();
    Some(ticket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_taken_out_of_the_query() {
        for (before, ticket, after) in [
            ("/v1/changes?ticket=abc", Some("abc"), "/v1/changes"),
            ("/x?limit=1&ticket=abc&after=2", Some("abc"), "/x?limit=1&after=2"),
            ("/x?limit=1&tickets=abc", None, "/x?limit=1&tickets=abc"),
            ("/x?ticket", None, "/x?ticket"),
            ("/x", None, "/x"),
        ] {
            let mut uri: Uri = before.parse().unwrap();
            assert_eq!(taken_ticket(&mut uri).as_deref(), ticket, "{before}");
            assert_eq!(uri.to_string(), after);
        }
    }
}
