//! A store as its catalogue says, and as the log alone says. What the catalogue knows beyond the log was lost.

use super::remembered::tell_what_is_lost;
use super::report::{Lost, Report, Severity};
use super::shadow::apart;
use crate::catalogue::{BlockPlace, Catalogue};
use crate::engine::Engine;
use crate::known::known_of_journal;
use crate::open::{CATALOGUE, DiskOptions, OpenError, open_knowing, open_on};
use std::collections::BTreeMap;
use std::ops::Range;
use threadline_log::chain::{Chain, ChainValue};
use threadline_log::{Error, ThreadKey};

/// About how much is read at once.
const PAGE_BYTES: usize = 4 << 20;

/// Opens the store with a copy of its catalogue and without; reads all records. Nothing is changed: what opening puts in order may be all that
/// is left of something that was lost.
pub(super) fn compare(options: &DiskOptions, report: &mut Report) -> Result<(), OpenError> {
    let (alone, catalogue) = apart(options)?;
    let brought_up = match &catalogue {
        Some(catalogue) => bring_up(&alone, catalogue, report)?,
        None => None,
    };
    let (engine, _) = open_knowing(&alone, known_of_journal(&options.directories()?)?)?;
    engine.flush()?;
    for no in engine.catalogue.thread_numbers()? {
        let Some(stored) = engine.catalogue.thread_by_no(no)? else { continue };
        report.threads += 1;
        let (key, offsets) = (stored.key.clone(), stored.state.info().offsets);
        read_all(&engine, &key, no, offsets, report);
    }
    if let Some(catalogue) = &catalogue {
        tell_what_is_lost(catalogue, &engine, report)?;
    }
    match brought_up {
        // Of what is lost the catalogue says more by right.
        Some(catalogued) if report.severity() != Some(Severity::Damage) => {
            differ(&catalogued, &engine.catalogue, report);
        }
        _ => {}
    }
    Ok(())
}

/// A copy of the catalogue with all that the journal says. None if it is not to be compared, which is told if it matters.
fn bring_up(
    alone: &DiskOptions,
    catalogue: &Catalogue,
    report: &mut Report,
) -> Result<Option<Catalogue>, OpenError> {
    let opened = catalogue.in_memory_copy().map_err(OpenError::from).and_then(|copy| open_on(alone, copy));
    let (engine, opened) = match opened {
        Ok(opened) => opened,
        Err(OpenError::Catalogue(what)) => {
            if report.severity() < Some(Severity::Derived) {
                report.find(Severity::Derived, CATALOGUE, what);
            }
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    for file in opened.missing {
        report.find(Severity::Damage, file, "the catalogue has this file, and it is missing");
    }
    if let Some(why) = opened.rebuilt {
        report.find(Severity::Note, CATALOGUE, format!("it is made anew when the store is opened: {why}"));
        return Ok(None);
    }
    if let Err(error) = engine.flush() {
        // Damage that only a write meets. What it has not taken in is no difference worth telling.
        report.find(Severity::Derived, CATALOGUE, error);
        return Ok(None);
    }
    Ok(Some(engine.catalogue))
}

/// Compares every table with that of a catalogue that was just made from the log.
fn differ(catalogued: &Catalogue, logged: &Catalogue, report: &mut Report) {
    let differences = match catalogued.differences(logged) {
        Ok(differences) => differences,
        Err(error) => return report.find(Severity::Derived, CATALOGUE, error),
    };
    for (no, table) in differences {
        // What is damaged is there, though its name is not known.
        let thread_in = |catalogue: &Catalogue| match catalogue.thread_by_no(no?) {
            Ok(stored) => stored.map(|stored| Some(stored.key)),
            Err(_) => Some(None),
        };
        let threads = (thread_in(catalogued), thread_in(logged));
        let what = match threads {
            (Some(_), None) => "the log has no such thread",
            (None, Some(_)) => "it is missing there",
            _ => "the log says something else",
        };
        let thread = match (threads.1.flatten().or(threads.0.flatten()), no) {
            (Some(key), _) => format!(", thread={key}"),
            // One that was deleted, or that neither of them knows.
            (None, Some(no)) => format!(", number={no}"),
            (None, None) => String::new(),
        };
        report.find(Severity::Derived, format!("{CATALOGUE}{thread}, table={table}"), what);
    }
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
