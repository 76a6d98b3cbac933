//! Threads that leave and enter a store as lines of JSON.

mod begun;
mod copy;
mod export;
mod import;
mod line;
mod recording;
mod said;
mod standing_in;

pub use copy::Copied;
pub use export::{ExportForm, Exporter};
pub(crate) use import::IMPORTING;
pub use import::{ImportOptions, Imported, Importer};
pub use line::{LINE_BYTES_MAX, begins_export, record_json};
