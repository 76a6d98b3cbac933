//! Streams for peers that know no subagents, and from them.

use crate::event::Event;
use crate::json::Text;
use crate::message::Message;
use crate::run::RunOutcome;

/// Whether the event is about the life of a subagent.
pub(super) const fn is_lifecycle(event: &Event<'_>) -> bool {
    matches!(event, Event::SubagentStarted(_) | Event::SubagentFinished(_) | Event::SubagentError(_))
}

/// Removes every word about whose something is: on the event, on messages in it, and on interrupts. True if there was one.
pub(super) fn remove_tags(event: &mut Event<'_>) -> bool {
    let mut removed = event.tag_mut().is_some_and(|tag| tag.take().is_some());
    removed |= match event {
        Event::MessagesSnapshot(snapshot) => remove_from(&mut snapshot.messages),
        Event::RunStarted(started) => {
            started.input.as_mut().is_some_and(|input| remove_from(&mut input.messages))
        }
        Event::RunFinished(finished) => match &mut finished.outcome {
            Some(RunOutcome::Interrupt(outcome)) => {
                remove_all(outcome.interrupts.iter_mut().map(|interrupt| &mut interrupt.subagent_run_id))
            }
            _ => false,
        },
        _ => false,
    };
    removed
}

fn remove_from(messages: &mut [Message<'_>]) -> bool {
    remove_all(messages.iter_mut().filter_map(Message::tag_mut))
}

fn remove_all<'t, 'a: 't>(tags: impl Iterator<Item = &'t mut Option<Text<'a>>>) -> bool {
    tags.filter_map(Option::take).count() > 0
}
