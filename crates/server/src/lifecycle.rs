//! Starts and ends of runs as messages, for who wants to show them.

use crate::idle::text;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use threadline_log::run::{RunInfo, RunStatus};
use threadline_log::run_fold::delta_events;
use threadline_log::{Engine, Error, RunNo, ThreadKey};
use threadline_protocol::json::JsonObject;
use threadline_protocol::message::ActivityMessage;
use threadline_protocol::stages::lineage::id_hash;
use threadline_protocol::{Event, Message};

/// The messages of a branch, with the start and the end of each of its runs in their places.
///
/// # Errors
/// If what is known about a run cannot be read.
pub(crate) async fn with_lifecycle(
    engine: &Engine,
    thread: &ThreadKey,
    branch: &[&RunInfo],
    messages: Vec<Message<'static>>,
) -> Result<Vec<Message<'static>>, Error> {
    let mut ends: HashMap<RunNo, Map<String, Value>> = HashMap::new();
    for run in branch.iter().filter(|run| !run.is_running()) {
        let delta = match engine.delta_of(thread, run.no).await {
            Err(Error::Compacted { .. } | Error::Trimmed { .. }) => Bytes::new(),
            delta => delta?,
        };
        let last = delta_events(&delta).filter(is_terminal).last();
        let terminal = last.and_then(|event| serde_json::from_str(&event.to_json()).ok());
        ends.insert(run.no, terminal.unwrap_or_default());
    }
    Ok(interleaved(thread, branch, &ends, messages))
}

const fn is_terminal(event: &Event<'_>) -> bool {
    matches!(event, Event::RunFinished(_) | Event::RunError(_))
}

/// Each message belongs to the first run that held it; what no run that has ended holds is of the one that goes on.
fn interleaved(
    thread: &ThreadKey,
    branch: &[&RunInfo],
    ends: &HashMap<RunNo, Map<String, Value>>,
    messages: Vec<Message<'static>>,
) -> Vec<Message<'static>> {
    let mut first_run: HashMap<u64, usize> = HashMap::new();
    for (place, run) in branch.iter().enumerate() {
        for id in run.lineage.iter().flat_map(|lineage| &lineage.ids) {
            first_run.entry(*id).or_insert(place);
        }
    }
    let mut shown = Vec::new();
    let mut begun = 0;
    let mut go_on_to = |place: usize, shown: &mut Vec<Message<'static>>| {
        while begun < place {
            if begun > 0 {
                shown.extend(end_of(thread, branch[begun - 1], ends));
            }
            shown.push(start_of(thread, branch[begun]));
            begun += 1;
        }
    };
    for message in messages {
        let place = message.id().and_then(|id| first_run.get(&id_hash(id)));
        let place = place.copied().unwrap_or(branch.len().saturating_sub(1));
        go_on_to(place + 1, &mut shown);
        shown.push(message);
    }
    go_on_to(branch.len(), &mut shown);
    shown.extend(branch.last().and_then(|last| end_of(thread, last, ends)));
    shown
}

fn start_of(thread: &ThreadKey, run: &RunInfo) -> Message<'static> {
    let content = ids(thread, run);
    activity(format!("RUN_STARTED_{}", run.offsets.start), "RUN_STARTED", content)
}

fn end_of(
    thread: &ThreadKey,
    run: &RunInfo,
    ends: &HashMap<RunNo, Map<String, Value>>,
) -> Option<Message<'static>> {
    let terminal = ends.get(&run.no)?;
    let mut content = ids(thread, run);
    let failed = matches!(run.status(), RunStatus::Failed | RunStatus::Abandoned);
    let (kind, kept) = match failed {
        true => ("RUN_ERROR", ["message", "code"]),
        false => ("RUN_FINISHED", ["result", "outcome"]),
    };
    for name in kept {
        if let Some(value) = terminal.get(name) {
            content.insert(name.to_owned(), value.clone());
        }
    }
    let last = run.offsets.end.saturating_sub(1);
    Some(activity(format!("{kind}_{last}"), kind, content))
}

fn ids(thread: &ThreadKey, run: &RunInfo) -> Map<String, Value> {
    let mut content = Map::new();
    content.insert("threadId".to_owned(), json!(thread.thread.as_str()));
    content.insert("runId".to_owned(), json!(run.id.as_str()));
    content
}

fn activity(id: String, kind: &str, content: Map<String, Value>) -> Message<'static> {
    ActivityMessage::new(id, text(kind), JsonObject::from(content)).into()
}
