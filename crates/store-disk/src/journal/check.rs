//! A look at every byte of a journal, which changes nothing.

use super::damage::{Cut, Damage};
use super::entry::{EntryHead, Found};
use super::error::OpenError;
use super::scan::{Bound, Scanned};
use super::sidecar::Sidecar;
use super::survey::{SegmentFile, Survey};
use super::{Known, Position, Salt};
use crate::fs::Disk;

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// What was durable is no longer what it was.
    Damage {
        /// Where.
        damage: Damage,
        /// The entries that were there, if a sidecar still knows.
        entries: Vec<(Position, EntryHead)>,
    },
    /// A torn tail, as a crash leaves it; it will be cut off when the journal is opened.
    TornTail(Cut),
    /// A segment that takes no more groups has no sidecar. It will be made.
    SidecarMissing {
        /// The segment.
        segment: u64,
    },
    /// A sidecar is damaged or not of what is in the segment. It will be made anew.
    SidecarWrong {
        /// The segment.
        segment: u64,
    },
    /// A file that a crash left unfinished. It will be removed.
    Leftover {
        /// The file.
        file: String,
    },
}

/// Reads and verifies all segments and sidecars. Without a salt, and without a header that says it, nothing that is in them can be.
///
/// # Errors
/// If files cannot be read, or are not a journal of this version.
pub fn check(disk: &dyn Disk, salt: Option<Salt>, known: Known) -> Result<Vec<Finding>, OpenError> {
    let survey = Survey::of(disk)?;
    let salt = survey.salt.or(salt).unwrap_or(Salt([0; 8]));
    let mut findings: Vec<Finding> =
        survey.leftovers.iter().map(|file| Finding::Leftover { file: file.clone() }).collect();
    let mut before = None;
    for (place, file) in survey.segments.iter().enumerate() {
        if file.is_gone {
            before = None;
            continue;
        }
        let bound = survey.bound(place, known);
        let mut found = Vec::new();
        let scanned = file
            .walk(salt, bound, before)
            .run(&mut |entry| found.push(Listed::of(&entry)))
            .map_err(OpenError::io(file.name()))?;
        before = scanned.next_group;
        let bytes = file.load_sidecar(disk).unwrap_or_default();
        let sidecar = Sidecar::verified(&bytes, salt);
        let listed: Option<Vec<Listed>> =
            sidecar.map(|sidecar| sidecar.entries().map(|entry| Listed::of(&entry)).collect());
        let agrees = listed.as_ref() == Some(&found) && file.sidecar(&bytes, salt, bound).is_some();
        report(file, &scanned, bound, agrees, &listed.unwrap_or_default(), &mut findings);
    }
    findings.extend(survey.missing(known).map(|damage| Finding::Damage { damage, entries: Vec::new() }));
    Ok(findings)
}

/// What a sidecar must say of an entry.
#[derive(Debug, PartialEq, Eq)]
struct Listed {
    position: Position,
    head: EntryHead,
    body_bytes: u32,
    fact: Option<Vec<u8>>,
}

impl Listed {
    fn of(found: &Found<'_>) -> Self {
        let fact = found.body.filter(|_| found.head.is_fact()).map(<[u8]>::to_vec);
        Self { position: found.position, head: found.head, body_bytes: found.body_bytes, fact }
    }
}

fn report(
    file: &SegmentFile,
    scanned: &Scanned,
    bound: Bound,
    agrees: bool,
    listed: &[Listed],
    findings: &mut Vec<Finding>,
) {
    let damages: Vec<&Damage> = file.header_damages.iter().chain(&scanned.damages).collect();
    if !matches!(bound, Bound::Open { .. }) && !file.has_sidecar {
        findings.push(Finding::SidecarMissing { segment: file.number });
    }
    if file.has_sidecar && !agrees && damages.is_empty() {
        findings.push(Finding::SidecarWrong { segment: file.number });
    }
    for damage in damages {
        let touches = |entry: &&Listed| {
            // A head is at least 14 bytes; where the body ends does not need to be known to the byte.
            let end = entry.position.byte + entry.body_bytes + 14;
            entry.position.byte < damage.bytes.end && end > damage.bytes.start
        };
        let entries = listed.iter().filter(touches).map(|entry| (entry.position, entry.head)).collect();
        findings.push(Finding::Damage { damage: damage.clone(), entries });
    }
    findings.extend(scanned.cut.clone().map(Finding::TornTail));
}
