//! `threadline export`: threads as lines of JSON.

use super::args::{ExportArgs, FormArg};
use super::opened::{Opened, not_listed};
use super::remote::{Refused, Remote, failure, thread_path};
use crate::progress::Progress;
use crate::report::{Failure, Report};
use std::io::{self, BufWriter, Write};
use threadline_client::ClientError;
use threadline_log::thread::ThreadInfo;
use threadline_log::transfer::ExportForm;
use threadline_log::{Error, ErrorKind, ThreadKey};

/// About how many bytes a line of an export has beside the event.
const LINE_BYTES: u64 = 96;

pub(crate) fn run(args: &ExportArgs, report: &mut Report<'_>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let failed = match Remote::of(&args.place)? {
        Some(remote) => told(&remote, args, &mut out, report)?,
        None => stored(args, &mut out, report)?,
    };
    out.flush().map_err(Failure::write)?;
    match failed {
        0 => Ok(()),
        count => Err(Failure::Store(format!("threads that could not be exported whole: {count}"))),
    }
}

/// Those of a store. Gives how many could not be exported.
fn stored(args: &ExportArgs, out: &mut impl Write, report: &mut Report<'_>) -> Result<usize, Failure> {
    let opened = Opened::existing(&args.place.store)?;
    let form = match args.form {
        FormArg::Raw => ExportForm::Raw,
        FormArg::Compact => ExportForm::Compact,
        FormArg::Snapshot => ExportForm::Snapshot,
    };
    let threads = match &args.thread {
        Some(thread) => vec![args.scope.thread(thread)],
        None => opened.all_threads()?,
    };
    let left_out = opened.left_out();
    let mut failed = Vec::new();
    for thread in threads {
        match export(&opened, &thread, form, out, report) {
            // What is wrong with one thread is no reason to keep back the others.
            Err(Failure::Refused(error)) if args.all && is_about(&error) => failed.push((thread, error)),
            exported => exported?,
        }
    }
    opened.close();
    for (thread, error) in &failed {
        report.warn(&format!("{thread}: {error}"));
    }
    left_out.iter().for_each(|what| report.warn(&not_listed(what)));
    Ok(failed.len() + left_out.len())
}

/// Whether it is about this thread alone: it is damaged, or was trimmed or compacted meanwhile.
fn is_about(error: &Error) -> bool {
    error.kind() == ErrorKind::Corrupt || matches!(error, Error::ThreadChanged(_))
}

fn export(
    opened: &Opened,
    thread: &ThreadKey,
    form: ExportForm,
    out: &mut impl Write,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    let info = opened.wait(opened.engine.store().thread(thread))?;
    let mut progress = progress(&info, form == ExportForm::Raw);
    let mut exporter = opened.wait(opened.engine.export(thread, form))?;
    while let Some(lines) = opened.wait(exporter.next())? {
        pass_on(&lines, out, progress.as_mut(), report)?;
    }
    Ok(())
}

/// Those of a server. Gives how many could not be exported.
fn told(
    remote: &Remote,
    args: &ExportArgs,
    out: &mut impl Write,
    report: &mut Report<'_>,
) -> Result<usize, Failure> {
    let threads = match &args.thread {
        Some(thread) => vec![remote.thread(thread)?],
        None => remote.all_threads(&[])?,
    };
    let form = match args.form {
        FormArg::Raw => "raw",
        FormArg::Compact => "compact",
        FormArg::Snapshot => "snapshot",
    };
    let mut failed = Vec::new();
    for thread in threads {
        let mut progress = progress(&thread, args.form == FormArg::Raw);
        let path = format!("{}/export?form={form}", thread_path(&thread.key.thread));
        match remote.download(&path, |lines| pass_on(lines, out, progress.as_mut(), report))? {
            Ok(()) => {}
            // It was deleted since it was listed.
            Err(error) if args.all && is_gone(&error) => {}
            Err(error) if args.all && is_about_one(&error) => failed.push((thread.key, failure(&error))),
            Err(error) => return Err(failure(&error)),
        }
    }
    for (thread, error) in &failed {
        report.warn(&format!("{thread}: {error}"));
    }
    Ok(failed.len())
}

fn is_gone(error: &ClientError) -> bool {
    Refused::of(error).is_some_and(|refused| refused.code == "thread_not_found")
}

/// Whether something is wrong with one thread, which is no reason to keep back the others.
fn is_about_one(error: &ClientError) -> bool {
    match error {
        ClientError::Status { status, .. } => status.is_server_error(),
        error => error.kind() == threadline_client::ErrorKind::Broken,
    }
}

fn pass_on(
    lines: &[u8],
    out: &mut impl Write,
    progress: Option<&mut Progress>,
    report: &mut Report<'_>,
) -> Result<(), Failure> {
    out.write_all(lines).map_err(Failure::write)?;
    if let Some(line) = progress.and_then(|progress| progress.advance(lines.len())) {
        report.show_progress(&line);
    }
    Ok(())
}

/// How far a raw export has come, of about as many bytes as it will have. How much smaller others are is not known before.
fn progress(thread: &ThreadInfo, is_raw: bool) -> Option<Progress> {
    let records = thread.offsets.end - thread.offsets.start;
    let bytes = thread.bytes.saturating_add(records.saturating_mul(LINE_BYTES));
    if is_raw { Progress::of_output(bytes) } else { None }
}
