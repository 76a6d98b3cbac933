//! How much is tried, by variables of the environment.

/// A number that a variable of the environment may set.
pub(crate) fn number(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |set| set.parse().expect("the variable is a number"))
}

/// How many images of a disk are tried where there are too many to try all.
pub(crate) fn crash_images(default: usize) -> usize {
    number("THREADLINE_CRASH_IMAGES", default)
}
