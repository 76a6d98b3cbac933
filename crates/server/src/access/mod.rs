//! Who may do what, decided in one place before anything else is looked at.

mod authority;
mod caller;
mod check;
mod guard;
mod jwt;
mod permission;
mod signatures;
mod tickets;
pub mod tokens;
mod watch;

pub use authority::{AccessError, Authority};
pub use caller::{Caller, Identity};
pub(crate) use check::{Needs, check};
pub use permission::Permission;
pub(crate) use tickets::TICKET_MS;
pub use watch::watch;
