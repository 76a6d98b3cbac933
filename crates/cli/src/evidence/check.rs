//! `threadline evidence check`

use super::args::CheckArgs;
use super::files;
use crate::args::ReportFormat;
use crate::report::{Failure, Report, Severity, printable};
use serde_json::json;
use threadline_evidence::digest::sha256_hex;
use threadline_evidence::{Artifact, DOES_NOT_CLAIM, Refused, check};

pub(super) fn run(args: &CheckArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let bytes = files::read(&args.artifact)?;
    let checked = check(&bytes);
    if let Err(refused) = &checked {
        refused.refusals().iter().for_each(|_| report.count(Severity::Finding));
    }
    match args.format {
        ReportFormat::Text => files::print(&text(&files::name(&args.artifact), &bytes, &checked)),
        ReportFormat::Json => files::print(&format!("{}\n", object(&bytes, &checked))),
    }
}

fn canonical_digest(artifact: &Artifact) -> String {
    sha256_hex(artifact.to_canonical_json().as_bytes())
}

fn text(name: &str, bytes: &[u8], checked: &Result<Artifact, Refused>) -> String {
    let mut lines = Vec::new();
    match checked {
        Ok(artifact) => {
            let (messages, terminal) = (artifact.messages().len(), artifact.terminal().name());
            lines.push(format!("{name}: an artifact of v1. messages={messages}, terminal_event={terminal}"));
            lines.push(format!("sha256            {}", sha256_hex(bytes)));
            lines.push(format!("sha256, RFC 8785  {}", canonical_digest(artifact)));
            lines.extend(DOES_NOT_CLAIM.iter().map(|claim| format!("does not claim {claim}")));
        }
        Err(refused) => {
            lines.extend(refused.refusals().iter().map(|refusal| format!("{name}: refused: {refusal}")));
        }
    }
    lines.iter().map(|line| printable(line) + "\n").collect()
}

fn object(bytes: &[u8], checked: &Result<Artifact, Refused>) -> serde_json::Value {
    match checked {
        Ok(artifact) => json!({
            "accepted": true,
            "sha256": sha256_hex(bytes),
            "canonicalSha256": canonical_digest(artifact),
            "doesNotClaim": DOES_NOT_CLAIM,
        }),
        Err(refused) => json!({ "accepted": false, "refusals": refused.refusals() }),
    }
}
