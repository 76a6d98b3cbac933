//! The `threadline` binary.

mod address;
mod args;
mod bench;
mod check;
mod compact;
mod convert;
mod enforce;
mod events;
mod evidence;
mod examples;
mod expand;
mod fold;
mod manual;
mod normalise;
mod progress;
mod reach;
mod repair;
mod replay;
mod report;
mod serve;
mod sink;
mod store;
mod talk;
mod token;
mod translate;

use args::{Args, Command, Filter};
use clap::Parser;
use report::Report;
use std::io;
use std::process::ExitCode;

#[cfg(not(target_env = "msvc"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    match args.command.unwrap_or(Command::Serve(args.serve)) {
        Command::Serve(args) => serve::run(&args),
        Command::Filter(filter) => run_filter(&filter),
        Command::Run(args) => talk::run(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Token(args) => token::run(&args),
        Command::Store(command) => store::run(&command),
        Command::Bench(args) => bench::run(&args),
        Command::Completions(args) => manual::run_completions(&args),
        Command::Man(args) => manual::run_man(&args),
        Command::Evidence(args) => evidence::run(&args),
    }
}

fn run_filter(filter: &Filter) -> ExitCode {
    let mut report = Report::new(filter.source().name(), filter.reporting(), io::stderr().lock());
    let result = match filter {
        Filter::Convert(options) => convert::run(options, &mut report),
        Filter::Translate(options) => translate::run(options, &mut report),
        Filter::Enforce(options) => enforce::run(options, &mut report),
        Filter::Expand(options) => expand::run(options, &mut report),
        Filter::Compact(options) => compact::run(options, &mut report),
        Filter::Repair(options) => repair::run(options, &mut report),
        Filter::Normalise(options) => normalise::run(options, &mut report),
        Filter::Fold(options) => fold::run(options, &mut report),
        Filter::Check(options) => check::run(options, &mut report),
    };
    report.finish(result)
}
