//! What an agent writes with.

mod activity;
mod guard;
mod reasoning;
mod run_writer;
mod step;
mod subagent;
mod text;
mod tool_call;

pub use activity::Activity;
pub use reasoning::Reasoning;
pub use run_writer::RunWriter;
pub use step::Step;
pub use subagent::Subagent;
pub use text::TextMessage;
pub use tool_call::{PendingCall, ToolCallWriter};
