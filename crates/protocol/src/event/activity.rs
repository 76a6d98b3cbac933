//! Activities: what goes on, for the user to see.

use super::event;
use crate::json::{JsonObject, Text};
use crate::patch::JsonPatch;

event! {
    /// A whole activity.
    pub struct ActivitySnapshot = "ACTIVITY_SNAPSHOT", attributed {
        /// Names the activity's message in its thread.
        required message_id: Text<'a> = "messageId";
        /// Says what the content is. Any word.
        required activity_type: Text<'a> = "activityType";
        /// What there is to show.
        required content: JsonObject<'a> = "content";
        /// Whether it replaces an activity that is there; absent means yes.
        optional replace with_replace: bool = "replace";
    }
}

event! {
    /// A change of an activity.
    pub struct ActivityDelta = "ACTIVITY_DELTA", attributed {
        /// The activity's message.
        required message_id: Text<'a> = "messageId";
        /// Says what the content is. Any word.
        required activity_type: Text<'a> = "activityType";
        /// The change of the content.
        required patch: JsonPatch<'a> = "patch";
    }
}
