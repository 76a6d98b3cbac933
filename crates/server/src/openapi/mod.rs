//! What the server says about itself: `/openapi.json`, made from the table of routes.
//!
//! A route cannot be in the table without an [`Operation`], which stands beside its handler and says what it takes and answers. What follows
//! from the table itself (names in paths, who may call, what any request can be refused for) is added here. Bodies are written by hand
//! on both sides, so that deriving their schemas from types would describe types that nothing is read or written with; tests look at
//! every answer that they get instead.

pub(crate) mod agui;
mod document;
mod operation;
pub(crate) mod shapes;

pub(crate) use document::document;
pub(crate) use operation::Operation;
