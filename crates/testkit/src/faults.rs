//! What not every machine lets tests try.

/// Set to `require` where nothing may be left out.
const FAULTS: &str = "THREADLINE_FAULTS";

/// Says that a test is left out, because something cannot be tried here.
///
/// # Panics
/// If it must be tried.
#[expect(clippy::print_stdout, reason = "for who reads the output of tests")]
pub fn leave_out(why: &str) {
    let is_required = std::env::var(FAULTS).is_ok_and(|faults| faults == "require");
    assert!(!is_required, "must be tried, as {FAULTS} is set to require: {why}");
    println!("skipped: {why}");
}
