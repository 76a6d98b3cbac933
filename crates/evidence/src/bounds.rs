//! Every limit of the contract, in one place.

/// The longest reference to a thread or a run, and the longest id of a message, in code points.
pub const REF_CHARS_MAX: usize = 96;
/// The longest content of a message, in code points.
pub const CONTENT_CHARS_MAX: usize = 400;
/// The longest name of who speaks, in code points.
pub const NAME_CHARS_MAX: usize = 60;
/// The longest error message, in code points.
pub const ERROR_MESSAGE_CHARS_MAX: usize = 200;
/// The longest error code, in code points.
pub const ERROR_CODE_CHARS_MAX: usize = 48;
/// The most messages.
pub const MESSAGES_MAX: usize = 200;
/// The largest artifact.
pub const ARTIFACT_BYTES_MAX: usize = 256 * 1024;
/// The largest statement or envelope that is read.
pub const STATEMENT_BYTES_MAX: usize = 256 * 1024;
/// How deep JSON may nest, in artifacts and in the events that one is made of.
pub const DEPTH_MAX: usize = 64;
/// How many refusals are told. What is wrong a thousand times is not told a thousand times.
pub const REFUSALS_MAX: usize = 32;
