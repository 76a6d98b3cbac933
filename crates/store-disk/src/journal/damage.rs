//! What is wrong with files.

use super::format::segment_name;
use std::fmt;
use std::ops::Range;

/// What kind of damage it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DamageKind {
    /// A copy of a segment's header. Nothing is lost as long as there is another.
    Header,
    /// Bytes of groups that were durable. Entries that lie there wholly or in part are lost.
    Group,
    /// Behind the last group is something else than zeros, or less of them. Nothing is lost.
    Slack,
    /// The file was cut; what was behind is lost, if there was anything.
    Truncated,
    /// Groups are missing, and with them probably a whole file.
    Missing,
}

/// Bytes that were durable and are no longer what they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// What kind of damage it is.
    pub kind: DamageKind,
    /// The segment.
    pub segment: u64,
    /// The bytes of its file. What is known to be good ends before them and goes on behind.
    pub bytes: Range<u32>,
    /// The groups that are affected, as far as that is known.
    pub groups: Range<u64>,
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.kind {
            DamageKind::Header => "damaged header",
            DamageKind::Group => "damaged group",
            DamageKind::Slack => "damaged space behind the last group",
            DamageKind::Truncated => "file was cut",
            DamageKind::Missing => "groups are missing",
        };
        let Self { bytes, groups, .. } = self;
        write!(
            formatter,
            "{what}. file={}, from={}, to={}",
            segment_name(self.segment),
            bytes.start,
            bytes.end
        )?;
        write!(formatter, ", groups={}..{}", groups.start, groups.end)
    }
}

/// A torn tail: bytes behind the last durable group, of a group whose sync did not return.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The segment.
    pub segment: u64,
    /// The bytes of its file.
    pub bytes: Range<u32>,
}
