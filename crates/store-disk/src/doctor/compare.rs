//! A store as its catalogue says, and as the log alone says.

use super::report::{Lost, Report, Severity};
use crate::catalogue::{BlockPlace, Catalogue};
use crate::engine::Engine;
use crate::open::{CATALOGUE, DiskOptions, OpenError, open};
use std::collections::BTreeMap;
use std::ops::Range;
use threadline_log::chain::{Chain, ChainValue};
use threadline_log::run::RunInfo;
use threadline_log::thread::ThreadInfo;
use threadline_log::{Error, ThreadKey};

/// About how much is read at once.
const PAGE_BYTES: usize = 4 << 20;

type Threads = BTreeMap<ThreadKey, (u64, ThreadInfo, Vec<RunInfo>)>;

/// Opens the store with its catalogue and without; reads all records.
pub(super) fn compare(options: &DiskOptions, report: &mut Report) -> Result<(), OpenError> {
    let mut options = options.clone();
    let mut directories = options.directories()?;
    let catalogued = match directories.path {
        Some(_) => {
            options.directories = Some(directories.clone());
            let (engine, _) = open(&options)?;
            match threads(&engine) {
                // A damaged row was found when the files were looked at, and hides nothing of what the log says.
                Err(OpenError::Catalogue(_)) if report.severity() == Some(Severity::Derived) => None,
                catalogued => Some(catalogued?),
            }
        }
        None => None,
    };
    directories.path = None;
    options.directories = Some(directories);
    let (engine, _) = open(&options)?;
    let logged = threads(&engine)?;
    for (key, (no, info, _)) in &logged {
        report.threads += 1;
        read_all(&engine, key, *no, info.offsets.clone(), report);
    }
    if let Some(catalogued) = catalogued {
        differ(&catalogued, &logged, report);
    }
    Ok(())
}

fn differ(catalogued: &Threads, logged: &Threads, report: &mut Report) {
    for key in catalogued.keys().filter(|key| !logged.contains_key(*key)) {
        report.find(Severity::Derived, format!("{CATALOGUE}, thread={key}"), "the log has no such thread");
    }
    for (key, (_, info, runs)) in logged {
        let place = format!("{CATALOGUE}, thread={key}");
        match catalogued.get(key) {
            None => report.find(Severity::Derived, place, "it is missing there"),
            Some((_, other, other_runs)) if other != info || other_runs != runs => {
                report.find(Severity::Derived, place, "the log says something else");
            }
            Some(_) => {}
        }
    }
}

/// All threads, as a store that was just opened knows them.
pub(super) fn threads(engine: &Engine) -> Result<Threads, OpenError> {
    engine.flush()?;
    let mut threads = Threads::new();
    let catalogue: &Catalogue = &engine.catalogue;
    for no in catalogue.thread_numbers()? {
        if let Some(stored) = catalogue.thread_by_no(no)? {
            threads.insert(stored.key, (no, stored.state.info(), stored.state.runs().to_vec()));
        }
    }
    Ok(threads)
}

/// What blocks say of a thread's chain, by the offset behind them.
fn chain_values(engine: &Engine, no: u64, offsets: &Range<u64>) -> BTreeMap<u64, ChainValue> {
    let places = engine.catalogue.blocks(no, offsets, u32::MAX as usize).unwrap_or_default();
    let value = |place: &BlockPlace| {
        let file = engine.shelf.file(place.file).ok()?;
        Some((place.last + 1, file.block(place.site).ok()?.head.chain?))
    };
    // What cannot be read is found by who reads the records.
    places.iter().filter_map(value).collect()
}

fn read_all(engine: &Engine, key: &ThreadKey, no: u64, offsets: Range<u64>, report: &mut Report) {
    if let Ok(Some(stored)) = engine.catalogue.thread_by_no(no) {
        engine.core.overlay().take_up(stored);
    }
    let values = chain_values(engine, no, &offsets);
    let mut chain = Chain::new(offsets.start);
    let mut from = offsets.start;
    while from < offsets.end {
        match engine.read(key, no, from..offsets.end, None, PAGE_BYTES) {
            Ok(page) => {
                report.records += page.records.len() as u64;
                for record in &page.records {
                    chain.push(record);
                    let Some(value) = values.get(&chain.at) else { continue };
                    // Where records are gone, the chain goes on from the next block that has a value.
                    if chain.from == 0 && chain.value != *value {
                        let what = "a record before this offset is not the one that was sealed";
                        report.find(Severity::Damage, format!("thread={key}, offset={}", chain.at), what);
                    }
                    chain = Chain { from: 0, at: chain.at, value: *value };
                }
                from = page.next;
            }
            Err(Error::Corrupt { place, what }) => {
                report.find(Severity::Damage, format!("{place}, thread={key}"), what);
                break;
            }
            Err(error) => {
                report.find(Severity::Damage, format!("thread={key}, offset={from}"), error);
                break;
            }
        }
    }
    match engine.lost(no) {
        Ok(lost) => report.lost.extend(lost.into_iter().map(|offsets| Lost { thread: key.clone(), offsets })),
        Err(error) => report.find(Severity::Damage, format!("thread={key}"), error),
    }
}
