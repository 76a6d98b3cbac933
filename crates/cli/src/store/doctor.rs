//! `threadline doctor`: whether everything is as it was written.

use super::args::{DoctorArgs, OutputFormat, StoreArgs};
use super::doctor_reading::read_everything;
use super::opened::{Opened, must_exist, options};
use super::place::Place;
use super::rechecked::Rechecked;
use crate::report::{Failure, Report, Severity, printable};
use serde_json::json;
use std::io::{self, Write};
use std::path::Path;
use threadline_store_disk::{OpenError, doctor};

pub(crate) fn run(args: &DoctorArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let found = match &args.store.store {
        Place::Dir(dir) => look_at_files(dir, args)?,
        _ if args.repair || args.rebuild => {
            let what =
                "--repair and --rebuild are for stores on a disk: a database is mended by its own means";
            return Err(Failure::Usage(what.to_owned()));
        }
        _ => read_everything(&args.store)?,
    };
    let is_rebuilt = found.is_rebuilt;
    for finding in &found.findings {
        // What is derived was made anew.
        let matters = match finding.severity {
            doctor::Severity::Note => false,
            doctor::Severity::Derived => !is_rebuilt,
            doctor::Severity::Damage => true,
        };
        report.count(if matters { Severity::Finding } else { Severity::Note });
    }
    found.lost.iter().for_each(|_| report.count(Severity::Finding));
    // Of what is damaged or lost, the records cannot be read as a whole.
    let is_whole = found.severity() != Some(doctor::Severity::Damage) && found.lost.is_empty();
    // With a damaged catalogue the store need not know its threads before that is made anew, and that it is was found.
    let is_listed = is_rebuilt || found.severity() != Some(doctor::Severity::Derived);
    let rechecked = match is_whole.then(|| recheck(&args.store)) {
        Some(Err(_)) if !is_listed => None,
        rechecked => rechecked.transpose()?.flatten(),
    };
    rechecked.iter().flat_map(|one| &one.broken).for_each(|_| report.count(Severity::Finding));
    let mut out = io::stdout().lock();
    let written = match args.format {
        OutputFormat::Text => write_text(&mut out, &found, args, rechecked.as_ref()),
        OutputFormat::Json => write_json(&mut out, &found, rechecked.as_ref()),
    };
    written.map_err(Failure::write)
}

/// What the files of a store hold, and what becomes of it.
fn look_at_files(dir: &Path, args: &DoctorArgs) -> Result<doctor::Report, Failure> {
    must_exist(dir)?;
    let failed = |error: OpenError| Failure::store(dir.display(), &error);
    let options = options(dir);
    let done = match (args.repair, args.rebuild) {
        (true, _) => doctor::repair(&options),
        (false, true) => doctor::rebuild(&options),
        (false, false) => doctor::check(&options),
    };
    done.map_err(failed)
}

/// None if not all threads are known, which was found.
fn recheck(store: &StoreArgs) -> Result<Option<Rechecked>, Failure> {
    let opened = Opened::existing(store)?;
    let rechecked = Rechecked::of(&opened)?;
    let are_all = opened.left_out().is_empty();
    opened.close();
    Ok(are_all.then_some(rechecked))
}

fn write_text(
    out: &mut impl Write,
    found: &doctor::Report,
    args: &DoctorArgs,
    rechecked: Option<&Rechecked>,
) -> io::Result<()> {
    // Notes are for who wants to know everything, as JSON: what they are about mends itself.
    for finding in found.findings.iter().filter(|finding| finding.severity != doctor::Severity::Note) {
        let line = format!("{}: {}: {}", name(finding.severity), finding.place, finding.what);
        writeln!(out, "{}", printable(&line))?;
    }
    for lost in &found.lost {
        let line = format!("lost: {}: offsets {}..{}", lost.thread, lost.offsets.start, lost.offsets.end);
        writeln!(out, "{}", printable(&line))?;
    }
    for file in &found.put_aside {
        writeln!(out, "put aside: damaged/{}", printable(file))?;
    }
    if args.rebuild {
        let said = match found.is_rebuilt {
            true => "the catalogue was made anew",
            false => "the catalogue was not made anew: it may be all that knows what is lost",
        };
        writeln!(out, "{said}")?;
    }
    let verdict = match found.severity() {
        None | Some(doctor::Severity::Note) => "all good",
        Some(doctor::Severity::Derived) if found.is_rebuilt => "nothing is lost",
        Some(doctor::Severity::Derived) => "nothing is lost; --rebuild makes anew what is wrong",
        Some(doctor::Severity::Damage) if args.repair => "what could be saved was saved",
        Some(doctor::Severity::Damage) => "damaged; --repair saves what can be saved",
    };
    writeln!(out, "threads: {}, records: {}: {verdict}", found.threads, found.records)?;
    rechecked.map_or(Ok(()), |rechecked| rechecked.write_text(out))
}

fn write_json(out: &mut impl Write, found: &doctor::Report, rechecked: Option<&Rechecked>) -> io::Result<()> {
    let findings: Vec<_> = found
        .findings
        .iter()
        .map(|one| json!({"severity": name(one.severity), "place": one.place, "what": one.what}))
        .collect();
    let lost: Vec<_> = found
        .lost
        .iter()
        .map(|lost| {
            let (scope, offsets) = (&lost.thread.scope, &lost.offsets);
            json!({"app": scope.app.as_str(), "user": scope.user.as_str(),
                "thread": lost.thread.thread.as_str(), "first": offsets.start, "tail": offsets.end})
        })
        .collect();
    let whole = json!({"threads": found.threads, "records": found.records, "findings": findings, "lost": lost,
        "putAside": found.put_aside, "chain": rechecked.map(Rechecked::as_json)});
    writeln!(out, "{whole}")
}

const fn name(severity: doctor::Severity) -> &'static str {
    match severity {
        doctor::Severity::Note => "note",
        doctor::Severity::Derived => "derived",
        doctor::Severity::Damage => "damage",
    }
}
