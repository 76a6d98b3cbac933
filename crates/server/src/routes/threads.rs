//! `GET /v1/threads` and `GET`, `PATCH`, `DELETE /v1/threads/{thread}`: threads as a list, and each as a whole.

use super::body;
use super::description;
use super::parameters::{Name, Parameters};
use crate::access::Caller;
use crate::app::App;
use crate::error::{Code, Refusal};
use crate::openapi::{Operation, shapes};
use crate::page_mark::PageMark;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use threadline_log::search;
use threadline_log::thread::{ThreadInfo, ThreadOrder, ThreadQuery};

/// How many threads a page has, if the request does not say.
const LIMIT_DEFAULT: usize = 50;
/// The most that it may say.
const LIMIT_MAX: usize = 1_000;

/// Which threads to list.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<(String, String)>")]
pub(super) struct Options {
    order: Option<ThreadOrder>,
    archived: Option<bool>,
    agent: Option<String>,
    labels: BTreeMap<String, String>,
    words: Option<String>,
    after: Option<PageMark>,
    limit: Option<usize>,
}

/// By hand, since `label` may be said more than once.
impl TryFrom<Vec<(String, String)>> for Options {
    type Error = String;

    fn try_from(pairs: Vec<(String, String)>) -> Result<Self, String> {
        let mut options = Self::default();
        for (name, value) in pairs {
            let is_new = match name.as_str() {
                "order" => options.order.replace(order(&value)?).is_none(),
                "archived" => options.archived.replace(read(&name, &value)?).is_none(),
                "agent" => options.agent.replace(value).is_none(),
                "label" => {
                    let (label, value) = value.split_once('=').ok_or("label: expected NAME=VALUE")?;
                    options.labels.insert(label.to_owned(), value.to_owned()).is_none()
                }
                "q" => options.words.replace(words(value)?).is_none(),
                "after" => options.after.replace(read(&name, &value)?).is_none(),
                "limit" => options.limit.replace(read(&name, &value)?).is_none(),
                _ => return Err(format!("unknown parameter {name}")),
            };
            if !is_new {
                return Err(format!("{name} is said twice"));
            }
        }
        Ok(options)
    }
}

/// Without a word everything would be found.
fn words(value: String) -> Result<String, String> {
    let has_any = search::words(&value).next().is_some();
    if has_any { Ok(value) } else { Err("q: there are no words in it".to_owned()) }
}

fn order(value: &str) -> Result<ThreadOrder, String> {
    match value {
        "updated" => Ok(ThreadOrder::Updated),
        "name" => Ok(ThreadOrder::Name),
        _ => Err("order: expected updated or name".to_owned()),
    }
}

fn read<T: std::str::FromStr<Err: std::fmt::Display>>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|error| format!("{name}: {error}"))
}

/// What is said about it.
pub(super) fn about_list() -> Operation {
    let page = shapes::object(&[("threads", shapes::list(schema()))], &[("next", shapes::text())]);
    let label = json!({ "type": "string", "pattern": "=" });
    Operation::new("The threads, the last that was updated first")
        .query(
            "order",
            "`name`: in the order of their ids, in place of that.",
            shapes::word(&["updated", "name"]),
        )
        .query("q", "Words that a thread's name or messages have, at least one.", shapes::text())
        .query("archived", "Only those that are archived, or only those that are not.", shapes::flag())
        .query("agent", "Only those of an agent.", shapes::text())
        .query("label", "NAME=VALUE. All of them must fit.", shapes::list(label))
        .query("limit", "The most threads of a page.", shapes::limit(LIMIT_DEFAULT, LIMIT_MAX))
        .query("after", "`next` of the page before.", shapes::text())
        .answers_json("A page, and where the next one begins if there is one.", page)
        .reads()
}

/// A page of threads.
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    Parameters(options): Parameters<Options>,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let scope = app.scope(&caller, &headers)?;
    let limit = options.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX);
    let query = ThreadQuery {
        order: options.order.unwrap_or_default(),
        after: options.after.map(|mark| mark.in_scope(&scope)),
        scope: Some(scope),
        archived: options.archived,
        agent: options.agent,
        labels: options.labels,
        words: options.words,
        // One more shows that there are more.
        limit: limit + 1,
    };
    let mut threads = app.engine().threads(&query).await?;
    let has_more = threads.len() > limit;
    threads.truncate(limit);
    let mut page = json!({ "threads": threads.iter().map(shown).collect::<Vec<_>>() });
    if let Some(last) = threads.last().filter(|_| has_more) {
        page["next"] = PageMark::behind(last).to_string().into();
    }
    Ok(Json(page))
}

/// What is said about it.
pub(super) fn about_thread() -> Operation {
    Operation::new("A thread").answers_json("As it is.", schema()).reads().refuses(&[Code::ThreadNotFound])
}

/// One thread.
pub(super) async fn thread(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    headers: HeaderMap,
) -> Result<Json<Value>, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    Ok(Json(shown(&app.engine().store().thread(&thread).await?)))
}

/// What is said about it.
pub(super) fn about_describe() -> Operation {
    Operation::new("Changes what is said about a thread")
        .takes(&body::JSON, &description::schema())
        .answers_json("The thread as it is now.", schema())
        .writes()
        .refuses(&[Code::ThreadNotFound])
}

/// Changes what is said about a thread, and answers how that is now.
pub(super) async fn describe(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    let change = description::read(&body::read(&app, &headers, body).await?)?;
    let info = app.engine().store().thread(&thread).await?;
    description::check_count(&info.metadata, &change)?;
    app.engine().describe(&thread, change).await?;
    Ok(Json(shown(&app.engine().store().thread(&thread).await?)))
}

/// How a thread is deleted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Deletion {
    /// Whether runs that go on are cancelled before; else the thread stays.
    #[serde(default)]
    cancel: bool,
}

/// What is said about it.
pub(super) fn about_delete() -> Operation {
    Operation::new("Deletes a thread")
        .query(
            "cancel",
            "Whether runs that go on are cancelled before; else the thread stays.",
            shapes::flag(),
        )
        .answers(StatusCode::NO_CONTENT, "It is gone.", [])
        .writes()
        .refuses(&[Code::ThreadNotFound, Code::RunNotFound, Code::RunActive])
}

/// Deletes a thread.
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    Name(thread): Name,
    Parameters(deletion): Parameters<Deletion>,
    headers: HeaderMap,
) -> Result<StatusCode, Refusal> {
    let thread = app.thread_named(&caller, &headers, &thread)?;
    if deletion.cancel {
        for run in app.engine().store().runs(&thread).await?.iter().filter(|run| run.is_running()) {
            app.runs().cancel(&thread, Some(&run.id)).await?;
        }
    }
    app.engine().delete(&thread).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// How [`shown`] shows a thread.
pub(super) fn schema() -> Value {
    let labels = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let members = [
        ("threadId", shapes::id()),
        ("app", shapes::id()),
        ("user", shapes::id()),
        ("incarnation", shapes::text()),
        ("name", shapes::nullable(shapes::text())),
        ("archived", shapes::flag()),
        ("agent", shapes::nullable(shapes::text())),
        ("labels", labels),
        ("first", shapes::count()),
        ("tail", shapes::count()),
        ("bytes", shapes::count()),
        ("runs", shapes::count()),
        ("status", shapes::nullable(shapes::status())),
        ("created", shapes::time()),
        ("updated", shapes::time()),
    ];
    shapes::named("Thread", shapes::object(&members, &[]))
}

/// A thread as clients see it.
pub(super) fn shown(thread: &ThreadInfo) -> Value {
    let metadata = &thread.metadata;
    json!({
        "threadId": thread.key.thread.as_str(),
        "app": thread.key.scope.app.as_str(),
        "user": thread.key.scope.user.as_str(),
        "incarnation": format!("{:016x}", thread.incarnation.0),
        "name": metadata.name,
        "archived": metadata.archived,
        "agent": metadata.agent,
        "labels": metadata.labels,
        "first": thread.offsets.start,
        "tail": thread.offsets.end,
        "bytes": thread.bytes,
        "runs": thread.runs,
        "status": thread.last_run.map(|(_, status)| status.name()),
        "created": thread.created.0,
        "updated": thread.updated.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::extract::Query;

    fn read_query(query: &str) -> Result<Options, String> {
        let uri = format!("http://a/?{query}").parse().unwrap();
        Query::try_from_uri(&uri).map(|Query(options)| options).map_err(|error| error.body_text())
    }

    #[test]
    fn a_label_may_be_said_more_than_once_and_the_rest_may_not() {
        let options = read_query("label=a%3D1&label=b==2&archived=false&q=x+y&limit=7").unwrap();
        let labels = [("a".to_owned(), "1".to_owned()), ("b".to_owned(), "=2".to_owned())].into();
        let (words, limit) = (Some("x y".to_owned()), Some(7));
        assert_eq!(options, Options { labels, archived: Some(false), words, limit, ..Options::default() });
        for (query, what) in [
            ("limit=1&limit=2", "limit is said twice"),
            ("label=a=1&label=a=2", "label is said twice"),
            ("label=a", "label: expected NAME=VALUE"),
            ("archived=perhaps", "archived:"),
            ("limit=-1", "limit:"),
            ("after=x", "after:"),
            ("lim=1", "unknown parameter lim"),
        ] {
            let error = read_query(query).unwrap_err();
            assert!(error.contains(what), "{query}: {error}");
        }
    }
}
