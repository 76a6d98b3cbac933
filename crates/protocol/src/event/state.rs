//! State and messages as a whole, and changes of state.

use super::event;
use crate::json::Json;
use crate::message::Message;
use crate::patch::JsonPatch;

event! {
    /// The whole state.
    pub struct StateSnapshot = "STATE_SNAPSHOT", attributed {
        /// The state; `null` is one.
        required snapshot: Json<'a> = "snapshot";
    }
}

event! {
    /// A change of the state.
    pub struct StateDelta = "STATE_DELTA", attributed {
        /// The change.
        required delta: JsonPatch<'a> = "delta";
    }
}

event! {
    /// All messages of the thread.
    pub struct MessagesSnapshot = "MESSAGES_SNAPSHOT" {
        /// The messages.
        required messages: Vec<Message<'a>> = "messages";
    }
}
