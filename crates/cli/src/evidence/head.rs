//! `threadline evidence head`

use super::args::HeadArgs;
use super::files;
use crate::report::{Failure, Report, Severity};
use crate::store::opened::Opened;
use serde_json::json;
use std::path::Path;
use threadline_evidence::ChainValue;
use threadline_evidence::verify::Outcome;
use threadline_server::evidence;

pub(super) fn run(args: &HeadArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let pinned = args.pinned.as_deref().map(pinned).transpose()?;
    let thread = args.scope.thread(&args.thread);
    let opened = Opened::existing(&args.store)?;
    let told = match &pinned {
        None => opened.wait(opened.engine.chain(&thread, None)).map(|head| json!(head).to_string()),
        Some(said) => {
            let rechecked = opened.wait(evidence::recheck(&opened.engine, &thread, said));
            rechecked.map(|(outcome, why)| {
                if outcome == Outcome::Failed {
                    report.count(Severity::Finding);
                }
                format!("{}  {why}", outcome.name())
            })
        }
    };
    opened.close();
    files::print(&format!("{}\n", told?))
}

/// What this command has printed earlier.
fn pinned(path: &Path) -> Result<ChainValue, Failure> {
    serde_json::from_slice(&files::read(path)?).map_err(|error| Failure::invalid(path, &error))
}
