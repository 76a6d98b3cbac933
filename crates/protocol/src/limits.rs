//! Every limit of the protocol crate, with its default.
//!
//! Reading an event costs at most 64 times its bytes in memory, and that only for lists of empty objects.

/// Bounds on what a decoder accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest event, in bytes of its JSON or of its protobuf frame, prefix included. 10 MiB, as in the
    /// reference client.
    pub event_bytes_max: usize,
    /// The longest line of an SSE stream, in bytes, terminator excluded.
    pub line_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { event_bytes_max: 10 * 1024 * 1024, line_bytes_max: 10 * 1024 * 1024 + 16 }
    }
}

/// Bounds on what a JSON Patch may do to a document. A patch that breaks one is refused whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatchLimits {
    /// The most operations of one patch.
    pub operations_max: usize,
    /// The largest document that a patch may make, in bytes of compact JSON. One that is larger already may be
    /// patched, but not grow.
    pub document_bytes_max: usize,
    /// The most that the `copy` operations of one patch may copy, in bytes of memory: many small values take several
    /// times their JSON.
    pub cloned_bytes_max: usize,
    /// The deepest that a patch may put anything: arrays and objects around a value and inside of it.
    pub depth_max: usize,
    /// The most values that one patch may disturb beside those it names: what makes way in an array, closes up
    /// after something removed, or has to be looked through because it moves deeper. Without it, a small patch
    /// could shift a large array a thousand times.
    pub disturbed_max: usize,
}

impl Default for PatchLimits {
    fn default() -> Self {
        Self {
            operations_max: 1_000,
            document_bytes_max: 8 * 1024 * 1024,
            cloned_bytes_max: 16 * 1024 * 1024,
            depth_max: 64,
            disturbed_max: 16 * 1024 * 1024,
        }
    }
}

/// How much of an input is held back to tell its format. An input that is undecided by then is most likely JSONL with a
/// very large first event.
pub const HEAD_BYTES_MAX: usize = 64 * 1024;

/// How deep a document may nest that is patched.
pub const DOCUMENT_DEPTH_MAX: usize = 512;

/// How many arrays and objects may stand inside each other in one opaque value of the binary form, both ways.
///
/// Nothing here recurses, so this is not about our own stack: other readers of the binary form recurse, and the reference
/// client falls over somewhere above a thousand levels.
pub const PROTO_DEPTH_MAX: usize = 512;

/// How many times as long as the bytes of the binary form its JSON may be. Text that is all control characters needs 6;
/// lists of empty elements could make it 12.
pub const PROTO_EXPANSION_MAX: usize = 8;

/// How many places are named of what the binary form cannot carry.
pub const PROTO_NOTES_MAX: usize = 1_000;

/// How many different findings of each severity a check keeps. More are counted.
pub const CHECK_FINDINGS_MAX: usize = 1_000;

/// Of how many events a finding keeps the positions.
pub const CHECK_POSITIONS_MAX: usize = 5;

/// How often a check reads an event anew to see what else is wrong with it.
pub const CHECK_READINGS_MAX: usize = 64;

/// How many bytes a check reads of one event in all those readings, if there are more than eight.
pub const CHECK_READING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Of how many activities a check keeps what they show, to judge patches of them.
pub const CHECK_ACTIVITIES_MAX: usize = 1_000;

/// How many bytes of JSON those activities have in all.
pub const CHECK_ACTIVITY_BYTES_MAX: usize = 16 * 1024 * 1024;
