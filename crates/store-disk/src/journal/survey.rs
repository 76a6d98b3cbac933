//! What files there are, and what their headers say.

use super::damage::{Damage, DamageKind};
use super::error::OpenError;
use super::format::{
    FileKind, GROUPS_START, HEADER_BYTES, gone_name, is_unfinished, segment_name, sidecar_name,
};
use super::header::{Header, HeaderCopy};
use super::scan::Bound;
use super::sidecar::{Covers, Sidecar};
use super::walk::Walk;
use super::{Position, Salt};
use crate::fs::{Disk, DiskFile};
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

/// A segment as it is found on the disk.
#[derive(Debug)]
pub(super) struct SegmentFile {
    pub(super) number: u64,
    pub(super) file: Arc<dyn DiskFile>,
    pub(super) size: u32,
    /// None if neither copy can be read.
    pub(super) header: Option<Header>,
    pub(super) header_damages: Vec<Damage>,
    /// It was released, and only its header is left.
    pub(super) is_gone: bool,
    pub(super) has_sidecar: bool,
}

/// What is known of a journal before it is looked at.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    /// An entry begins there that was durable, and with it everything before.
    pub durable: Position,
    /// Segments before this one may have been released, and there is another behind them.
    pub sealed_end: u64,
}

impl Known {
    /// All that is known by either.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { durable: self.durable.max(other.durable), sealed_end: self.sealed_end.max(other.sealed_end) }
    }
}

/// All files of a journal.
#[derive(Debug)]
pub(super) struct Survey {
    /// In order.
    pub(super) segments: Vec<SegmentFile>,
    /// None if there is no header that can be read.
    pub(super) salt: Option<Salt>,
    /// What a crash left unfinished, and sidecars without a segment.
    pub(super) leftovers: Vec<String>,
}

impl Survey {
    pub(super) fn of(disk: &dyn Disk) -> Result<Self, OpenError> {
        let mut leftovers = Vec::new();
        let mut sidecars = BTreeSet::new();
        let mut found = Vec::new();
        for name in disk.list().map_err(OpenError::io("the directory"))? {
            match FileKind::of(&name) {
                Some(FileKind::Segment(number)) => found.push((number, false)),
                Some(FileKind::Gone(number)) => found.push((number, true)),
                Some(FileKind::Sidecar(number)) => _ = sidecars.insert(number),
                None if is_unfinished(&name) => leftovers.push(name),
                None => {}
            }
        }
        found.sort_unstable();
        let mut segments = Vec::new();
        for (number, is_gone) in found {
            let has_sidecar = !is_gone && sidecars.remove(&number);
            segments.push(SegmentFile::read(disk, number, is_gone, has_sidecar)?);
        }
        leftovers.extend(sidecars.into_iter().map(sidecar_name));
        let salt = common_salt(&segments)?;
        Ok(Self { segments, salt, leftovers })
    }

    /// What is known of the end of the segment at that place.
    pub(super) fn bound(&self, place: usize, known: Known) -> Bound {
        let durable = known.durable;
        match self.segments.get(place + 1) {
            None if self.missing(known).is_some() => Bound::Durable,
            None if durable.segment == self.segments[place].number => Bound::Open { durable: durable.byte },
            None => Bound::Open { durable: 0 },
            Some(SegmentFile { header: Some(header), .. }) => Bound::Until(header.first_group),
            Some(SegmentFile { header: None, .. }) => Bound::Durable,
        }
    }

    /// The last segment, if it is not there: that of what was durable, or the one behind those that may have been released.
    pub(super) fn missing(&self, known: Known) -> Option<Damage> {
        let Known { durable, sealed_end } = known;
        let last = self.segments.last().map_or(0, |last| last.number);
        let (segment, end) = match durable.segment.max(sealed_end) {
            segment if segment <= last => return None,
            segment if segment == durable.segment => (segment, durable.byte),
            segment => (segment, 0),
        };
        Some(Damage { kind: DamageKind::Missing, segment, bytes: 0..end, groups: 0..0 })
    }
}

fn common_salt(segments: &[SegmentFile]) -> Result<Option<Salt>, OpenError> {
    let mut salt = None;
    for segment in segments {
        if let Some(header) = segment.header
            && (*salt.get_or_insert(header.salt) != header.salt || header.segment != segment.number)
        {
            return Err(OpenError::Foreign { file: segment.name() });
        }
    }
    Ok(salt)
}

impl SegmentFile {
    fn read(disk: &dyn Disk, number: u64, is_gone: bool, has_sidecar: bool) -> Result<Self, OpenError> {
        let name = if is_gone { gone_name(number) } else { segment_name(number) };
        let file = disk.open(&name).map_err(OpenError::io(&name))?;
        let size = file.size().map_err(OpenError::io(&name))?;
        let size = u32::try_from(size).map_err(io::Error::other).map_err(OpenError::io(&name))?;
        let mut bytes = vec![0; (GROUPS_START.min(size)) as usize];
        file.read_exact_at(&mut bytes, 0).map_err(OpenError::io(&name))?;
        let (mut header, mut header_damages) = (None, Vec::new());
        for (start, byte) in [(0, 0), (HEADER_BYTES, 512)] {
            match Header::decode(bytes.get(start..).unwrap_or_default()) {
                HeaderCopy::Valid(copy) => _ = header.get_or_insert(copy),
                HeaderCopy::Unsupported { version, features } => {
                    return Err(OpenError::Unsupported { file: name, version, features });
                }
                HeaderCopy::Damaged => {
                    let bytes = byte..byte + 512;
                    header_damages.push(Damage {
                        kind: DamageKind::Header,
                        segment: number,
                        bytes,
                        groups: 0..0,
                    });
                }
            }
        }
        Ok(Self { number, file, size, header, header_damages, is_gone, has_sidecar })
    }

    pub(super) fn name(&self) -> String {
        if self.is_gone { gone_name(self.number) } else { segment_name(self.number) }
    }

    /// How it is to be read; `before` is the number behind the groups of the segment before it.
    pub(super) fn walk(&self, salt: Salt, bound: Bound, before: Option<u64>) -> Walk<'_> {
        Walk {
            file: &*self.file,
            size: self.size,
            segment: self.number,
            salt,
            first_group: self.header.map(|header| header.first_group).or(before),
            segment_bytes: self.header.map_or(self.size, |header| header.segment_bytes),
            bound,
        }
    }

    /// The bytes of its sidecar, if it has one that can be read.
    pub(super) fn load_sidecar(&self, disk: &dyn Disk) -> Option<Vec<u8>> {
        let file = disk.open(&sidecar_name(self.number)).ok().filter(|_| self.has_sidecar)?;
        let mut bytes = vec![0; usize::try_from(file.size().ok()?).ok()?];
        file.read_exact_at(&mut bytes, 0).ok()?;
        Some(bytes)
    }

    /// The sidecar in `bytes`, if it is of this segment as the headers say it is.
    pub(super) fn sidecar(&self, bytes: &[u8], salt: Salt, bound: Bound) -> Option<Sidecar> {
        let header = self.header.filter(|header| header.segment_bytes == self.size)?;
        let sidecar = Sidecar::verified(bytes, salt)?;
        let Covers { segment, first_group, next_group, end } = sidecar.covers;
        let fits = segment == self.number
            && first_group == header.first_group
            && bound == Bound::Until(next_group)
            && end <= self.size;
        fits.then_some(sidecar)
    }
}
