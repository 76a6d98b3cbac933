//! What a MESSAGES_SNAPSHOT does to the messages that are there.

use super::Fold;
use super::messages::Kept;
use crate::event::MessagesSnapshot;
use crate::json::{JsonObject, Kind, Reader, Text};
use crate::message::Message;
use std::collections::{HashMap, HashSet};

/// Under this key of a snapshot's metadata the reference client keeps which activities the snapshot owns.
const ACTIVITY_NAMESPACE: &str = "@ag-ui/client";

/// Which of the activities that it does not contain a snapshot deletes.
enum Owned {
    All,
    Types(HashSet<Text<'static>>),
    None,
}

impl Fold {
    /// Messages that the snapshot has are replaced where they are; those that it lacks are gone, except for reasoning and
    /// activities that it cannot know; those that are new follow.
    pub(super) fn take_snapshot(&mut self, snapshot: &MessagesSnapshot<'_>) {
        let by_id: HashMap<&[u8], &Message<'_>> =
            snapshot.messages.iter().filter_map(|message| Some((message.id()?.wtf8(), message))).collect();
        let has_reasoning = snapshot.messages.iter().any(|message| matches!(message, Message::Reasoning(_)));
        let owned = owned_activities(snapshot);
        let mut kept = Vec::new();
        let mut held = HashSet::new();
        for (position, message) in self.messages.iter().enumerate() {
            let Some(id) = message.id() else { continue };
            let keep = match (by_id.get(id.wtf8()), message) {
                (Some(replacement), _) if *replacement == message => Kept::At(position),
                (Some(replacement), _) => Kept::New((*replacement).clone().into_owned()),
                (None, Message::Reasoning(_)) if !has_reasoning => Kept::At(position),
                (None, Message::Activity(activity)) if !owned.owns(&activity.activity_type) => {
                    Kept::At(position)
                }
                (None, _) => {
                    self.removed.push((self.revision, id.clone()));
                    continue;
                }
            };
            held.insert(id.clone());
            kept.push(keep);
        }
        let is_new = |message: &&Message<'_>| message.id().is_some_and(|id| !held.contains(id.wtf8()));
        let new =
            snapshot.messages.iter().filter(is_new).map(|message| Kept::New(message.clone().into_owned()));
        let kept: Vec<Kept> = kept.into_iter().chain(new).collect();
        self.messages.set(kept.into_iter(), self.revision);
    }
}

impl Owned {
    fn owns(&self, activity_type: &Text<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Types(types) => types.contains(activity_type.wtf8()),
            Self::None => false,
        }
    }
}

fn owned_activities(snapshot: &MessagesSnapshot<'_>) -> Owned {
    // Without a declaration, a snapshot that has activities is taken to have all of them.
    let undeclared = || {
        let has_activity = snapshot.messages.iter().any(|message| matches!(message, Message::Activity(_)));
        if has_activity { Owned::All } else { Owned::None }
    };
    let Some(metadata) = &snapshot.metadata else { return undeclared() };
    let metadata = metadata.as_object().members();
    let Some((_, namespace)) = metadata.iter().find(|(key, _)| *key == ACTIVITY_NAMESPACE) else {
        return undeclared();
    };
    let Ok(namespace) = JsonObject::try_from(namespace.clone()) else { return Owned::None };
    let namespace = namespace.members();
    let Some((_, types)) = namespace.iter().find(|(key, _)| *key == "authoritativeActivityTypes") else {
        return undeclared();
    };
    if types.is_null() {
        return Owned::All;
    }
    read_types(types.reader()).map_or(Owned::None, Owned::Types)
}

/// The strings of an array, if it is an array of strings.
fn read_types(mut reader: Reader<'_>) -> Option<HashSet<Text<'static>>> {
    if reader.kind().ok()? != Kind::Array {
        return None;
    }
    reader.open();
    let mut types = HashSet::new();
    let mut first = true;
    while reader.next_element(&mut first).ok()? {
        if reader.kind().ok()? != Kind::String {
            return None;
        }
        types.insert(reader.string().ok()?.into_owned());
    }
    Some(types)
}
