//! What a client is sent of a run: which events, in which form, until when.

pub(crate) mod alias;
pub(crate) mod encoding;
pub(crate) mod reader;
pub(crate) mod view;

pub(crate) use encoding::{Encoding, PROTOBUF, SSE};
pub(crate) use reader::RunReader;
pub(crate) use view::{Dialect, View};
