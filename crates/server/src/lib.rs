//! The HTTP server: runs that outlive their connections, attaching, resuming, history.
//!
//! [`App`] is a server without its connections; [`router`] its routes, for who has a server already; [`serve`] does the rest.

pub mod access;
pub mod agents;
mod app;
mod capabilities;
mod cursor;
pub mod duration;
mod error;
pub mod evidence;
mod idle;
mod input;
mod lifecycle;
mod listener;
mod load;
mod metrics;
mod moment;
mod openapi;
mod page_mark;
mod routes;
pub mod runs;
pub mod scope;
pub mod settings;
mod socket;
mod stream;
mod upkeep;

pub use agents::Agents;
pub use app::App;
pub use error::{Code, Refusal};
pub use input::Input;
pub use listener::{listen, serve, serve_with};
pub use routes::{Endpoint, description, endpoints, router};
pub use settings::Settings;
pub use upkeep::keep_up;
