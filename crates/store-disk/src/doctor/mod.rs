//! Looks at a whole store, and mends what can be mended. Nobody else may have the store open.

mod check;
mod compare;
mod identity;
mod orphans;
mod remembered;
mod repair;
mod report;
mod shadow;

pub use check::check;
pub use repair::{rebuild, repair};
pub use report::{Finding, Lost, Report, Severity};
