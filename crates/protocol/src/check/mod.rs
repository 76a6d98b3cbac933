//! The check: what is wrong with a stream, how much it matters, and what to do about it.
//!
//! The stages tell a reader what it may see and end at the first thing that ends a client. A [`Checker`] is for the one
//! who writes the stream: it names everything, goes on after everything, and knows the dialects that AG-UI is often
//! confused with. What it recognises, it reads as what was meant, so that one slip is one finding and not a hundred.
//!
//! ```
//! use threadline_protocol::check::{Checker, Verdict};
//!
//! let mut checker = Checker::new();
//! checker.push(r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","protocolVersion":"1.0"}"#);
//! checker.push(r#"{"type":"textMessageStart","message_id":"m"}"#);
//! checker.push(r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#);
//! checker.push(r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#);
//! let report = checker.finish();
//! assert_eq!(report.verdict, Verdict::Drift);
//! let found: Vec<_> = report.findings.iter().map(|found| (found.code.name(), found.path.as_str())).collect();
//! assert_eq!(found, [("type_spelling", "/type"), ("member_spelling", "/message_id")]);
//! assert_eq!(report.findings[1].advice, "write messageId");
//! ```

mod checker;
mod code;
mod coverage;
mod documents;
mod family;
mod finding;
mod issue;
mod members;
mod mend;
mod messages;
mod report;
mod sequence;
#[cfg(test)]
mod tests;
mod tree_path;
mod types;

pub use checker::Checker;
pub use code::Code;
pub use coverage::{Coverage, Usage};
pub use family::Family;
pub use finding::{Finding, Severity};
pub use report::{CheckReport, Verdict};
