//! Opening: everything that is live is visited, and what a crash left is put in order.

use super::committer::Active;
use super::damage::{Cut, Damage};
use super::entry::Found;
use super::error::OpenError;
use super::format::{GROUPS_START, sidecar_name};
use super::handle::Options;
use super::header::Header;
use super::keeper::new_segment;
use super::scan::Scanned;
use super::segments::{Segment, Segments, Shared};
use super::sidecar::Sidecar;
use super::survey::{Known, SegmentFile, Survey};
use super::walk::WINDOW_BYTES;
use super::{Position, Salt};
use crate::fs::Disk;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::mpsc::{self, SyncSender};

/// How many sidecars may wait to be visited: each takes some megabytes.
const SIDECARS_AHEAD: usize = 2;

/// What was found when the journal was opened, besides the entries.
#[derive(Debug, Default)]
pub struct Recovery {
    /// There was nothing; the journal is new.
    pub is_new: bool,
    /// What was durable and is no longer what it was.
    pub damages: Vec<Damage>,
    /// The torn tail that was cut off.
    pub cut: Option<Cut>,
    /// The segments that were read because they had no good sidecar.
    pub scanned: Vec<u64>,
}

/// A journal whose files are in order.
pub(super) struct Opened {
    pub(super) shared: Shared,
    pub(super) active: Active,
    pub(super) recovery: Recovery,
    /// Segments that have no sidecar and should.
    pub(super) sidecars_wanted: Vec<u64>,
}

pub(super) fn open(
    disk: Arc<dyn Disk>,
    options: &Options,
    visitor: &mut dyn FnMut(Found<'_>),
) -> Result<Opened, OpenError> {
    let survey = Survey::of(&*disk)?;
    for leftover in &survey.leftovers {
        disk.remove(leftover).map_err(OpenError::io(leftover))?;
    }
    let salt = survey.salt.unwrap_or(options.salt);
    let missing = survey.missing(options.known);
    let mut opening = Opening {
        disk: &*disk,
        options,
        recovery: Recovery {
            is_new: survey.segments.is_empty() && missing.is_none(),
            damages: missing.clone().into_iter().collect(),
            ..Recovery::default()
        },
        segments: Segments::default(),
        sidecars_wanted: Vec::new(),
        end: Position { segment: 0, byte: 0 },
        next_group: None,
    };
    let mut last = None;
    std::thread::scope(|scope| {
        let (sender, sidecars) = mpsc::sync_channel(SIDECARS_AHEAD);
        let (disk, survey, known) = (&*disk, &survey, options.known);
        let ahead = std::thread::Builder::new().name("journal-opening".to_owned());
        ahead
            .spawn_scoped(scope, move || read_ahead(disk, survey, salt, known, &sender))
            .map_err(OpenError::io("a thread"))?;
        for place in 0..survey.segments.len() {
            let sidecar = sidecars.recv().ok().flatten();
            last = opening.visit(survey, place, sidecar.as_ref(), visitor)?;
        }
        Ok(())
    })?;
    let next = survey.segments.last().map_or(1, |last| last.number + 1);
    let active = opening.activate(
        &survey,
        last.filter(|_| missing.is_none()),
        Header {
            // What is missing is made anew, without entries, so that it is noticed the next time, too.
            segment: missing.map_or(next, |missing| missing.segment),
            first_group: opening.next_group.unwrap_or(0),
            salt,
            segment_bytes: options.segment_bytes,
        },
    )?;
    disk.sync_dir().map_err(OpenError::io("the directory"))?;
    let Opening { recovery, mut segments, sidecars_wanted, .. } = opening;
    segments.live.insert(active.segment.number, Arc::clone(&active.segment));
    let shared = Shared::new(disk, salt, options.segment_bytes, segments);
    Ok(Opened { shared, active, recovery, sidecars_wanted })
}

/// Reads, beside who visits entries, what is visited next: the sidecars in their order, none for a segment that has no good one, and
/// then the last segment, which is in the operating system's memory when it is asked for.
fn read_ahead(
    disk: &dyn Disk,
    survey: &Survey,
    salt: Salt,
    known: Known,
    sidecars: &SyncSender<Option<Sidecar>>,
) {
    for (place, file) in survey.segments.iter().enumerate() {
        let bytes = file.load_sidecar(disk).unwrap_or_default();
        if sidecars.send(file.sidecar(&bytes, salt, survey.bound(place, known))).is_err() {
            return;
        }
    }
    let Some(last) = survey.segments.last() else { return };
    let (mut window, mut at) = (vec![0; WINDOW_BYTES], 0);
    while let Ok(read @ 1..) = last.file.read_at(&mut window, at) {
        at += read as u64;
    }
}

struct Opening<'a> {
    disk: &'a dyn Disk,
    options: &'a Options,
    recovery: Recovery,
    segments: Segments,
    sidecars_wanted: Vec<u64>,
    /// The end of the last group so far.
    end: Position,
    /// The number behind the groups so far; none if it is not known.
    next_group: Option<u64>,
}

impl Opening<'_> {
    /// Visits one segment's entries. What the scan said, if it is the last.
    fn visit(
        &mut self,
        survey: &Survey,
        place: usize,
        sidecar: Option<&Sidecar>,
        visitor: &mut dyn FnMut(Found<'_>),
    ) -> Result<Option<Scanned>, OpenError> {
        let file = &survey.segments[place];
        if file.is_gone {
            self.gone(file)?;
            return Ok(None);
        }
        if let Some(sidecar) = sidecar {
            self.recovery.damages.extend(file.header_damages.iter().cloned());
            sidecar.entries().for_each(visitor);
            self.live(file, sidecar.covers.end);
            self.next_group = Some(sidecar.covers.next_group);
            return Ok(None);
        }
        let (salt, bound) =
            (survey.salt.unwrap_or(self.options.salt), survey.bound(place, self.options.known));
        let before = self.next_group;
        let scanned = file.walk(salt, bound, before).run(visitor).map_err(OpenError::io(file.name()))?;
        self.recovery.scanned.push(file.number);
        let is_whole = scanned.damages.is_empty() && file.header.is_some();
        self.recovery.damages.extend(file.header_damages.iter().chain(&scanned.damages).cloned());
        self.next_group = scanned.next_group;
        let is_last = place + 1 == survey.segments.len();
        if !is_last {
            if is_whole {
                self.sidecars_wanted.push(file.number);
            }
        } else if scanned.last.is_none() && is_whole && file.header_damages.is_empty() {
            // Its name may not be durable: it is replaced.
            return Ok(Some(scanned));
        }
        self.live(file, scanned.end);
        Ok(is_last.then_some(scanned))
    }

    fn live(&mut self, file: &SegmentFile, end: u32) {
        self.end = Position { segment: file.number, byte: end };
        let segment = Segment {
            number: file.number,
            file: Arc::clone(&file.file),
            header: file.header,
            end: AtomicU32::new(end),
        };
        self.segments.live.insert(file.number, Arc::new(segment));
    }

    /// A released segment: what is left of it goes once nothing older is live.
    fn gone(&mut self, file: &SegmentFile) -> Result<(), OpenError> {
        if self.segments.live.is_empty() {
            return self.disk.remove(&file.name()).map_err(OpenError::io(file.name()));
        }
        // The crash may have come before its bytes were cut off.
        if file.size > GROUPS_START {
            file.file.set_size(GROUPS_START.into()).map_err(OpenError::io(file.name()))?;
            file.file.sync_data().map_err(OpenError::io(file.name()))?;
        }
        self.segments.gone.insert(file.number, file.header.map(|header| header.first_group));
        self.next_group = None;
        Ok(())
    }

    /// The segment to go on in: the last one if it is whole, otherwise a new one with the header `next`.
    fn activate(
        &mut self,
        survey: &Survey,
        last: Option<Scanned>,
        next: Header,
    ) -> Result<Active, OpenError> {
        let file = survey.segments.last();
        if let (Some(scanned), Some(file)) = (&last, file)
            && let (Some((group, entries)), Some(header)) = (&scanned.last, file.header)
            && scanned.damages.is_empty()
            && file.header_damages.is_empty()
        {
            let segment = Arc::clone(&self.segments.live[&file.number]);
            Self::confirm(file, group.start as usize..group.end as usize, scanned.cut.as_ref())?;
            self.recovery.cut = scanned.cut.clone();
            let active = Active::new(segment, header, self.end);
            let group = scanned.next_group.unwrap_or(header.first_group);
            return Ok(Active { group, is_closed: *entries == 0, sidecar: None, ..active });
        }
        if let (Some(Scanned { last: None, cut: Some(cut), damages, .. }), Some(file)) = (&last, file)
            && damages.is_empty()
        {
            // Behind a segment that is not the last there must be nothing.
            Self::confirm(file, 0..0, Some(cut))?;
        }
        let segment = new_segment(self.disk, next).map_err(OpenError::io("a new segment"))?;
        if let Some(file) =
            file.filter(|file| !file.is_gone && !self.segments.live.contains_key(&file.number))
        {
            self.recovery.cut = last.and_then(|scanned| scanned.cut);
            self.disk.remove(&file.name()).map_err(OpenError::io(file.name()))?;
            if file.has_sidecar {
                let name = sidecar_name(file.number);
                self.disk.remove(&name).map_err(OpenError::io(name))?;
            }
        } else if let Some(before) = file {
            self.end.segment = before.number;
        }
        Ok(Active::new(segment, next, self.end))
    }

    /// Makes certain that the last group is on the disk and nothing is behind it. If the sync of that group failed the
    /// operating system may show it and not have it, and a sync alone would not change that.
    fn confirm(
        file: &SegmentFile,
        group: std::ops::Range<usize>,
        cut: Option<&Cut>,
    ) -> Result<(), OpenError> {
        let write = |bytes: &[u8], at: usize| {
            file.file.write_all_at(bytes, at as u64).map_err(OpenError::io(file.name()))
        };
        let mut bytes = vec![0; group.len()];
        file.file.read_exact_at(&mut bytes, group.start as u64).map_err(OpenError::io(file.name()))?;
        write(&bytes, group.start)?;
        if let Some(cut) = cut {
            write(&vec![0; cut.bytes.len()], cut.bytes.start as usize)?;
        }
        file.file.sync_data().map_err(OpenError::io(file.name()))
    }
}
