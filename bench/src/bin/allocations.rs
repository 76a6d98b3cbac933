//! Counts what reading an event allocates. A program of its own, because counting takes time.

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::io::{self, Write};
use threadline_bench::{corpus, protocol};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> io::Result<()> {
    let corpus = corpus::generate();
    let mut out = io::stdout().lock();
    for plan in [
        protocol::reading(&corpus),
        protocol::reading_beside_ag_ui(&corpus),
        protocol::reading_beside_ag_ui_core(&corpus),
    ] {
        writeln!(out, "## {}\n\n{} {} events.\n", plan.title, plan.note, plan.whole.events.len())?;
        writeln!(out, "| | allocations/event | reallocations/event | bytes/event |\n|---|--:|--:|--:|")?;
        for candidate in &plan.candidates {
            let region = Region::new(ALLOCATOR);
            candidate.pass(&plan.whole.events);
            let change = region.change();
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
            let per_event = |count: usize| count as f64 / plan.whole.events.len() as f64;
            writeln!(
                out,
                "| {} | {:.2} | {:.2} | {:.0} |",
                candidate.name(),
                per_event(change.allocations),
                per_event(change.reallocations),
                per_event(change.bytes_allocated)
            )?;
        }
        writeln!(out)?;
    }
    Ok(())
}
