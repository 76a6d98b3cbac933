//! Whether a log still gives the chain value that a statement has.

use super::args::RunArgs;
use crate::report::Failure;
use crate::store::opened::Opened;
use crate::store::records::{Gone, told_raw};
use crate::store::remote::Remote;
use threadline_evidence::ChainValue;
use threadline_evidence::verify::Outcome;
use threadline_log::ThreadId;
use threadline_log::chain::ChainValue as Value;
use threadline_server::evidence;

/// Reads all records that the value is over.
pub(super) fn recheck(
    args: &RunArgs,
    thread: &ThreadId,
    said: Option<&ChainValue>,
) -> Result<(Outcome, String), Failure> {
    let Some(said) = said else {
        return Ok((Outcome::NotChecked, "the statement has no chain value, or may not be read".to_owned()));
    };
    if let Some(remote) = Remote::of(&args.place)? {
        return told(&remote, thread, said);
    }
    let opened = Opened::existing(&args.place.store)?;
    let rechecked = opened.wait(evidence::recheck(&opened.engine, &args.scope.thread(thread), said));
    opened.close();
    Ok(rechecked?)
}

/// The same with the records that a server tells.
fn told(remote: &Remote, thread: &ThreadId, said: &ChainValue) -> Result<(Outcome, String), Failure> {
    let (mut value, mut next) = (Value::default(), said.from);
    let read = told_raw(remote, thread, None, said.from..said.at, |record| {
        value = value.then(record.offset(), &record.bytes());
        // One that is missing makes another value, too.
        next = record.offset() + 1;
    })?;
    Ok(match read {
        Err(Gone) => {
            (Outcome::NotChecked, "the server has not all records that the value is over".to_owned())
        }
        Ok(()) if next == said.at && value.to_string() == said.value => {
            let offsets = format!("{}..{}", said.from, said.at);
            (Outcome::Passed, format!("the server's records give the same value. offsets={offsets}"))
        }
        Ok(()) => (Outcome::Failed, "the server's records give another value".to_owned()),
    })
}
