//! Opening a store.

use crate::catalogue::{Catalogue, CatalogueError, FileRow, StoredThread};
use crate::dirs::Directories;
use crate::engine::{Engine, Limits, Parts};
use crate::entry::{FactEntry, PACKED, RECORDS, SHARED};
use crate::fs::LockError;
use crate::history::{HistoryError, Index, Mark, Shelf, file_name, file_number};
use crate::identity::{Identity, IdentityError};
use crate::journal::{self, Cut, Damage, DamageKind, Found, Journal, Known, Salt};
use crate::known::known;
use crate::missing::missing_files;
use crate::numbered::ByNumber;
use crate::overlay::{Item, Overlay};
use crate::rebuild::{RebuildError, rebuild};
use crate::unsealed::{UnsealedBatch, UnsealedFact};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use threadline_log::sealed::batch::{BatchHead, record_bytes};
use threadline_log::{RunNo, Timestamp};

/// The name of the catalogue's file.
pub(crate) const CATALOGUE: &str = "catalogue.sqlite";

/// How a store works.
#[derive(Debug, Clone)]
pub struct DiskOptions {
    /// Its directory, made if it is not there.
    pub dir: PathBuf,
    /// When a new store is made.
    pub time: Timestamp,
    /// The length of new segments of the journal.
    pub segment_bytes: u32,
    /// How many full segments may wait for runs to end before they are sealed anyway. Sealing takes more of a processor than writing
    /// did, so that a burst should be over before; each that waits takes some 3 MB of memory, and 10 ms when the store is opened.
    pub segments_waiting_max: usize,
    /// How much may wait for the catalogue; then writes wait.
    pub overlay_bytes_max: usize,
    /// How many threads are kept in memory when nothing goes on there.
    pub threads_max: usize,
    /// Used in place of `dir` by tests.
    #[doc(hidden)]
    pub directories: Option<Directories>,
}

impl DiskOptions {
    /// The defaults, for a directory.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self {
            dir: dir.into(),
            time: Timestamp(0),
            segment_bytes: journal::SEGMENT_BYTES,
            segments_waiting_max: 8,
            overlay_bytes_max: 256 << 20,
            threads_max: 10_000,
            directories: None,
        }
    }

    pub(crate) fn directories(&self) -> io::Result<Directories> {
        self.directories.clone().map_or_else(|| Directories::real(&self.dir), Ok)
    }

    fn limits(&self) -> Limits {
        Limits {
            segments_waiting_max: self.segments_waiting_max,
            overlay_bytes_max: self.overlay_bytes_max,
            threads_max: self.threads_max,
        }
    }

    /// The same with a catalogue in memory, so that what is known is what the log says; and where the other is.
    pub(crate) fn without_catalogue(&self) -> io::Result<(Self, Option<PathBuf>)> {
        let mut directories = self.directories()?;
        let path = directories.path.take();
        Ok((Self { directories: Some(directories), ..self.clone() }, path))
    }
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file system refused something.
    #[error("the store cannot be used: {0}")]
    Io(#[from] io::Error),
    /// Another process has it open, or the lock cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// What it is cannot be told, or is too new.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] journal::OpenError),
    /// A history file is damaged or too new.
    #[error("a history file cannot be used. file={file}: {what}")]
    History {
        /// The file.
        file: String,
        /// What is wrong with it.
        what: String,
    },
    /// The catalogue cannot be used.
    #[error("{0}")]
    Catalogue(String),
    /// The catalogue cannot be made anew.
    #[error(transparent)]
    Rebuild(#[from] RebuildError),
    /// An entry of the journal makes no sense.
    #[error("an entry of the log cannot be read. place={place}: {what}")]
    Entry {
        /// Where it is.
        place: String,
        /// What is wrong with it.
        what: String,
    },
}

impl From<CatalogueError> for OpenError {
    fn from(error: CatalogueError) -> Self {
        Self::Catalogue(error.to_string())
    }
}

/// What was found when a store was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// There was nothing; the store is new.
    pub is_new: bool,
    /// What was durable and is no longer what it was. What is left is served, what is not is an error to readers.
    pub damages: Vec<Damage>,
    /// The history files that the catalogue has, and that are not there any more. What else there is is served.
    pub missing: Vec<String>,
    /// The torn tail that was cut off. Nobody was told that it was written.
    pub cut: Option<Cut>,
    /// Why the catalogue was made anew, if it was.
    pub rebuilt: Option<String>,
    /// How many entries of the journal the catalogue had not taken in.
    pub replayed: usize,
}

/// An entry that the catalogue does not contain.
#[derive(Debug)]
struct Replay {
    mark: Mark,
    head: journal::EntryHead,
    body_bytes: u32,
    body: Option<Bytes>,
}

/// The catalogue before the journal was looked at.
#[derive(Debug)]
struct Start {
    catalogue: Catalogue,
    shelf: Shelf,
    /// Files that the catalogue does not know, or all if it is to be made anew.
    unknown: Vec<Index>,
    /// Segments whose place history files take.
    sealed: BTreeSet<u64>,
    watermark: Option<Mark>,
    rebuild: Option<String>,
    /// Files that the catalogue has, and that are not there though nothing takes their place.
    missing: Vec<String>,
}

/// The catalogue that a store is opened with.
#[derive(Debug)]
enum With {
    /// Its own.
    Its,
    /// A new one, because of this.
    New(String),
    /// That of the caller.
    This(Box<Catalogue>),
}

/// Opens or makes a store. The catalogue is derived: whatever is wrong with it, it keeps nobody from what is there.
pub(crate) fn open(options: &DiskOptions) -> Result<(Engine, OpenReport), OpenError> {
    open_knowing(options, Known::default())
}

/// The same, with what is known of its journal besides what the catalogue and history know.
pub(crate) fn open_knowing(options: &DiskOptions, known: Known) -> Result<(Engine, OpenReport), OpenError> {
    let opened = match open_with(options, known, With::Its) {
        Err(OpenError::Catalogue(why)) => open_with(options, known, With::New(why)),
        opened => opened,
    };
    let why = match opened {
        // One that cannot be made anew is made in memory: the disk may be full.
        Err(OpenError::Catalogue(why) | OpenError::Rebuild(RebuildError::Catalogue(why))) => why,
        opened => return opened,
    };
    let (in_memory, _) = options.without_catalogue()?;
    let (engine, report) = open_with(&in_memory, known, With::Its)?;
    let rebuilt = Some(format!("{why}; it is in memory until the store is next opened"));
    Ok((engine, OpenReport { rebuilt, ..report }))
}

/// Opens a store with this catalogue in place of its own.
pub(crate) fn open_on(
    options: &DiskOptions,
    catalogue: Catalogue,
) -> Result<(Engine, OpenReport), OpenError> {
    open_with(options, Known::default(), With::This(Box::new(catalogue)))
}

fn open_with(options: &DiskOptions, known: Known, with: With) -> Result<(Engine, OpenReport), OpenError> {
    let directories = options.directories()?;
    let lock = directories.root.lock()?;
    let (identity, is_new) = identify(&directories, options.time)?;
    let salt = identity.salt().ok_or(IdentityError::Damaged)?;
    let mut start = Start::look(&directories, with)?;
    start.shelf.begin_at(identity.files_end);
    let mut overlay = Overlay::default();
    let mut replays = Vec::new();
    let keeps_all = start.rebuild.is_some() || !start.unknown.is_empty();
    let watermark = start.watermark.filter(|_| !keeps_all);
    let mut journal_options = journal::Options::new(salt);
    journal_options.segment_bytes = options.segment_bytes;
    journal_options.known = known.and(start.known_of_journal());
    // Of a catalogue that is to be changed first nothing is read.
    let readable = (!keeps_all).then_some(&start.catalogue);
    let (opened, in_use) = beside(readable, |wanted| {
        let mut seen = ByNumber::default();
        let visitor = |found: Found<'_>| {
            let is_new = visit(&mut overlay, &mut replays, watermark, &found);
            if is_new && seen.insert(found.head.thread, ()).is_none() {
                // Nobody listens if nothing can be read, which is said in the end.
                _ = wanted.send(found.head.thread);
            }
        };
        Journal::open(directories.log.clone(), &journal_options, visitor)
    });
    let (journal, recovery) = opened?;
    if journal.salt() != salt {
        return Err(IdentityError::OtherStore.into());
    }
    let live: BTreeSet<u64> = journal.segments().iter().map(|segment| segment.number).collect();
    start.settle()?;
    let leftover: Vec<u64> = start.sealed.intersection(&live).copied().collect();
    if let Some(last) = leftover.last() {
        let unsealed: Vec<u64> = overlay.unsealed.threads().collect();
        unsealed.into_iter().for_each(|no| overlay.unsealed.forget_before(no, last + 1));
        replays.retain(|replay| replay.mark.segment > *last);
    }
    let Start { catalogue, shelf, rebuild, missing, .. } = start;
    let (watermark, threads_end) = catalogue.watermark()?.unwrap_or_default();
    overlay.durable = watermark;
    overlay.threads_end = overlay.threads_end.max(threads_end).max(identity.threads_end);
    replays.retain(|replay| replay.mark > watermark);
    let in_use = if keeps_all { catalogue.running() } else { in_use };
    in_use?.into_iter().for_each(|stored| overlay.take_up(stored));
    replay(&mut overlay, &catalogue, &journal, &replays)?;
    for segment in leftover {
        journal.release(segment).map_err(|error| io::Error::other(error.to_string()))?;
    }
    let damages = &recovery.damages;
    let loses = |damage: &&Damage| loses(damage, damages);
    let damaged = damages.iter().filter(loses).map(|damage| (damage.segment, damage.clone())).collect();
    let report = OpenReport {
        is_new,
        damages: recovery.damages,
        missing: missing.clone(),
        cut: recovery.cut,
        rebuilt: rebuild.filter(|_| !is_new),
        replayed: replays.len(),
    };
    // Nothing that older versions would misread was written yet.
    let identity = identity.upgraded(&*directories.root)?;
    let parts = Parts { journal, catalogue, shelf, missing, directories, identity, lock };
    let engine = Engine::new(overlay, parts, options.limits(), damaged);
    Ok((engine, report))
}

/// Does something, and meanwhile reads from the catalogue, if it can be read, the threads that have runs which go on and those that are asked for: to
/// look for them here and there takes about as long as to read the journal.
fn beside<T>(
    catalogue: Option<&Catalogue>,
    work: impl FnOnce(&mpsc::Sender<u64>) -> T,
) -> (T, Result<Vec<StoredThread>, CatalogueError>) {
    let (wanted, numbers) = mpsc::channel();
    thread::scope(|scope| {
        let reading = scope
            .spawn(move || catalogue.map_or(Ok(Vec::new()), |catalogue| threads_in_use(catalogue, &numbers)));
        let done = work(&wanted);
        drop(wanted);
        (done, reading.join().expect("reading the catalogue does not panic"))
    })
}

fn threads_in_use(
    catalogue: &Catalogue,
    numbers: &mpsc::Receiver<u64>,
) -> Result<Vec<StoredThread>, CatalogueError> {
    let mut threads = catalogue.running()?;
    let mut known: ByNumber<()> = threads.iter().map(|thread| (thread.no, ())).collect();
    for no in numbers {
        if known.insert(no, ()).is_none() {
            threads.extend(catalogue.thread_by_no(no)?);
        }
    }
    Ok(threads)
}

fn identify(directories: &Directories, time: Timestamp) -> Result<(Identity, bool), OpenError> {
    if let Some(identity) = Identity::read(&*directories.root)? {
        return Ok((identity, false));
    }
    if !directories.log.list()?.is_empty() || !directories.history.list()?.is_empty() {
        return Err(IdentityError::Missing.into());
    }
    let mut salt = Salt([0; 8]);
    getrandom::fill(&mut salt.0).map_err(io::Error::other)?;
    let identity = Identity::new(salt, time);
    identity.write(&*directories.root)?;
    Ok((identity, true))
}

impl Start {
    fn look(directories: &Directories, with: With) -> Result<Self, OpenError> {
        let (shelf, numbers) = Shelf::open(directories.history.clone())?;
        let (catalogue, mut rebuild) = open_catalogue(directories.path.as_deref(), with)?;
        let known = if rebuild.is_some() { Ok(Vec::new()) } else { catalogue.files() };
        let known = known.unwrap_or_else(|error| {
            rebuild = Some(error.to_string());
            Vec::new()
        });
        let watermark = match catalogue.watermark() {
            Ok(found) => found.map(|(mark, _)| mark),
            Err(error) => {
                rebuild = Some(error.to_string());
                None
            }
        };
        let mut replaced = BTreeSet::new();
        for file in known.iter().filter(|file| numbers.contains(&file.number)) {
            if file.replaces.iter().any(|old| numbers.contains(old)) {
                // Nothing is removed because the catalogue says so: the file itself must.
                replaced
                    .extend(shelf.index(file.number).map_err(|error| damaged(file.number, &error))?.replaces);
            }
        }
        for number in numbers.iter().filter(|number| replaced.contains(number)) {
            shelf.remove(*number)?;
        }
        // Not even the number of a file that is missing is given a second time.
        known.last().into_iter().for_each(|file| shelf.begin_at(file.number + 1));
        let (known, gone): (Vec<FileRow>, Vec<FileRow>) =
            known.into_iter().partition(|file| numbers.contains(&file.number));
        let is_known = |number: &u64| known.iter().any(|file| file.number == *number);
        let index = |number: &u64| shelf.index(*number).map_err(|error| damaged(*number, &error));
        let (familiar, others): (Vec<u64>, Vec<u64>) =
            numbers.iter().filter(|number| !replaced.contains(number)).partition(|number| is_known(number));
        let mut unknown = others.iter().map(index).collect::<Result<Vec<Index>, _>>()?;
        let missing = missing_files(&*directories.log, &gone, &numbers, &unknown)?;
        if let Some(file) = gone.first().filter(|_| missing.is_empty()) {
            rebuild = Some(format!("it has a file that is not there. file={}", file_name(file.number)));
        }
        if rebuild.is_some() {
            unknown.extend(familiar.iter().map(index).collect::<Result<Vec<Index>, _>>()?);
        }
        let sealed = known.iter().flat_map(|file| file.sources.iter().copied()).collect();
        Ok(Self { catalogue, shelf, unknown, sealed, watermark, rebuild, missing })
    }

    fn known_of_journal(&self) -> Known {
        known(&self.unknown, self.watermark, self.sealed.iter().copied())
    }

    /// Teaches the catalogue the files that it does not know, or makes it anew.
    fn settle(&mut self) -> Result<(), OpenError> {
        let replaced: BTreeSet<u64> =
            self.unknown.iter().flat_map(|index| index.replaces.iter().copied()).collect();
        for index in std::mem::take(&mut self.unknown) {
            if replaced.contains(&index.number) {
                self.shelf.remove(index.number)?;
            } else {
                self.sealed.extend(&index.sources);
                self.unknown.push(index);
            }
        }
        let watermark = self.watermark.unwrap_or_default();
        if self.rebuild.is_none() && self.unknown.iter().any(|index| index.last > watermark) {
            self.rebuild = Some("it is older than the history".to_owned());
        }
        if self.rebuild.is_none() {
            for index in &self.unknown {
                self.catalogue.learn(index)?;
                for number in &index.replaces {
                    self.shelf.remove(*number)?;
                }
            }
            return Ok(());
        }
        match self.missing.is_empty() {
            true => self.catalogue.clear()?,
            // It alone still knows what was in them.
            false => self.catalogue = Catalogue::in_memory()?,
        }
        let mut indexes = Vec::new();
        for name in self.shelf.disk().list()? {
            let Some(number) = file_number(&name) else { continue };
            indexes.push(self.shelf.index(number).map_err(|error| damaged(number, &error))?);
        }
        rebuild(&self.catalogue, &self.shelf, &indexes)?;
        self.sealed = indexes.iter().flat_map(|index| index.sources.iter().copied()).collect();
        Ok(())
    }
}

fn damaged(number: u64, error: &HistoryError) -> OpenError {
    OpenError::History { file: format!("history/{}", file_name(number)), what: error.to_string() }
}

/// Whether data may be lost by a damage: not if it is that of one of a header's two copies.
pub(crate) fn loses(damage: &Damage, all: &[Damage]) -> bool {
    let copies =
        all.iter().filter(|other| (other.segment, other.kind) == (damage.segment, DamageKind::Header));
    match damage.kind {
        DamageKind::Header => copies.count() > 1,
        DamageKind::Slack => false,
        DamageKind::Group | DamageKind::Truncated | DamageKind::Missing => true,
    }
}

/// The catalogue, and why it must be made anew if it must.
fn open_catalogue(path: Option<&Path>, with: With) -> Result<(Catalogue, Option<String>), CatalogueError> {
    let damaged = || "something in it was found damaged".to_owned();
    let (path, why) = match (path.map(|path| path.join(CATALOGUE)), with) {
        (_, With::This(catalogue)) => {
            let why = catalogue.is_marked()?.then(damaged);
            return Ok((*catalogue, why));
        }
        (None, _) => return Ok((Catalogue::in_memory()?, Some("it is in memory".to_owned()))),
        (Some(path), With::New(why)) => (path, why),
        (Some(path), With::Its) => {
            read_catalogue_ahead(&path);
            let why = match Catalogue::open(&path) {
                Ok(Some(catalogue)) if !catalogue.is_marked()? => return Ok((catalogue, None)),
                Ok(Some(_)) => damaged(),
                Ok(None) => "it is missing or of another version".to_owned(),
                Err(error) => error.to_string(),
            };
            (path, why)
        }
    };
    Ok((Catalogue::create(&path)?, Some(why)))
}

/// Lets the operating system read the catalogue from its beginning on: whoever takes up the threads that are in use looks here and there
/// in it, a page at a time, which takes longer.
///
/// Not once the catalogue is open: closing a file gives up the locks that SQLite has on it.
#[cfg(target_os = "linux")]
fn read_catalogue_ahead(path: &Path) {
    use rustix::fs::{Advice, fadvise};
    /// No more is read that nobody may need.
    const BYTES_MAX: u64 = 64 << 20;
    /// Of more at once it may read the beginning alone.
    const STEP: usize = 128 << 10;
    let Ok(file) = std::fs::File::open(path) else { return };
    let bytes = file.metadata().map_or(0, |metadata| metadata.len().min(BYTES_MAX));
    for at in (0..bytes).step_by(STEP) {
        // It is there to be faster, and for nothing else.
        let _ = fadvise(&file, at, std::num::NonZeroU64::new(STEP as u64), Advice::WillNeed);
    }
}

#[cfg(not(target_os = "linux"))]
fn read_catalogue_ahead(_: &Path) {}

/// Notes where an entry is. Says whether the catalogue does not contain it.
fn visit(
    overlay: &mut Overlay,
    replays: &mut Vec<Replay>,
    watermark: Option<Mark>,
    found: &Found<'_>,
) -> bool {
    let Found { position, head, body_bytes, body } = *found;
    let mark = Mark::from(position);
    let run = RunNo(u32::try_from(head.run).unwrap_or(u32::MAX));
    if head.kind == RECORDS {
        overlay
            .unsealed
            .push_batch(head.thread, UnsealedBatch { first: head.first, count: head.count, run, mark });
    } else {
        overlay.unsealed.push_fact(head.thread, UnsealedFact { kind: head.kind, run, mark });
    }
    let is_new = watermark.is_none_or(|watermark| mark > watermark);
    if is_new {
        let body = body.filter(|_| head.kind != RECORDS).map(Bytes::copy_from_slice);
        replays.push(Replay { mark, head, body_bytes, body });
    }
    is_new
}

/// Takes in what the catalogue has not.
fn replay(
    overlay: &mut Overlay,
    catalogue: &Catalogue,
    journal: &Journal,
    replays: &[Replay],
) -> Result<(), OpenError> {
    for Replay { mark, head, body_bytes, body } in replays {
        let run = RunNo(u32::try_from(head.run).unwrap_or(u32::MAX));
        let time = Timestamp(head.time_min);
        overlay.threads_end = overlay.threads_end.max(head.thread + 1);
        let item = if head.kind == RECORDS {
            let bytes = match head.flags & SHARED {
                0 => record_bytes(u64::from(*body_bytes), head.count),
                _ => head.weight,
            };
            Item::Records { head: BatchHead { first: head.first, count: head.count, run, time }, bytes }
        } else {
            let unreadable = |what: String| OpenError::Entry {
                place: format!("log/{}, thread={}", journal::Position::from(*mark), head.thread),
                what,
            };
            let body = match body {
                Some(body) => body.clone(),
                None => {
                    let entry =
                        journal.read((*mark).into()).map_err(|error| unreadable(error.to_string()))?;
                    Bytes::copy_from_slice(entry.body())
                }
            };
            let entry =
                FactEntry { kind: head.kind, flags: head.flags & PACKED, run, time, tail: head.first, body };
            Item::of_fact(&entry).map_err(|error| unreadable(error.to_string()))?
        };
        if !overlay.has(head.thread) {
            catalogue.thread_by_no(head.thread)?.into_iter().for_each(|stored| overlay.take_up(stored));
        }
        overlay.replay(head.thread, &item, *mark);
    }
    Ok(())
}
