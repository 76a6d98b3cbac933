//! State and messages as a whole, and changes of state.

use super::event;
use crate::json::Json;
use crate::message::Message;
use crate::metadata::Metadata;
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

impl MessagesSnapshot<'_> {
    /// Marks a snapshot that we made from what a stream or a log says, and that no producer has sent: whoever wants to know what a
    /// producer said must be able to tell them apart.
    ///
    /// # Panics
    /// Never: what is written here is an object.
    pub fn mark_synthesised(&mut self) {
        let mark = Json::parse(r#"{"threadline":{"synthesised":true}}"#).expect("it is JSON");
        let mark = Metadata::try_from(mark).expect("it is an object");
        self.metadata = Metadata::merge(self.metadata.as_ref(), Some(&mark));
    }
}
