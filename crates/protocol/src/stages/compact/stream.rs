//! The stream form.

use super::Output;
use super::activity::Activities;
use super::content::Contents;
use super::state::StateWindow;
use crate::event::Event;
use crate::json::Json;

/// Compacts in place: pieces go into the first one, and everything else stays where it is.
#[derive(Debug, Default)]
pub(super) struct StreamForm<'a> {
    out: Output<'a>,
    contents: Contents,
    activities: Activities,
    state: StateWindow,
}

impl<'a> StreamForm<'a> {
    pub(super) fn new(base: Option<&Json<'_>>) -> Self {
        Self { state: StateWindow::new(base), ..Self::default() }
    }

    /// Takes in the next event, none of which is a chunk.
    pub(super) fn push<'e>(&mut self, event: &Event<'e>, keep: impl FnOnce(&Event<'e>) -> Event<'a>) {
        let at = self.out.len();
        match event {
            Event::RunStarted(started) => {
                self.end_run();
                self.state.start(started);
            }
            Event::RunFinished(_) | Event::RunError(_) => self.end_run(),
            Event::MessagesSnapshot(snapshot) => {
                self.contents.take_snapshot(snapshot);
                self.activities.close(&mut self.out);
            }
            Event::StateSnapshot(_) | Event::StateDelta(_) => self.state.add(event, at),
            Event::ActivitySnapshot(snapshot) => {
                self.contents.forget_message(&snapshot.message_id);
                if self.activities.take_snapshot(snapshot, at, &mut self.out) {
                    return;
                }
            }
            Event::ActivityDelta(delta) => {
                if self.activities.take_delta(delta, &mut self.out) {
                    return;
                }
            }
            _ => {
                if self.contents.take(event, at, &mut self.out) {
                    return;
                }
            }
        }
        self.out.push(Some(keep(event)));
    }

    /// What nothing that follows can change any more: all or nothing, so that places stay what they are.
    pub(super) fn settled(&mut self) -> Vec<Event<'a>> {
        if self.contents.is_empty() && self.activities.is_empty() && self.state.is_empty() {
            self.out.drain(..).flatten().collect()
        } else {
            Vec::new()
        }
    }

    pub(super) fn finish(mut self) -> Vec<Event<'a>> {
        self.end_run();
        self.out.into_iter().flatten().collect()
    }

    fn end_run(&mut self) {
        self.contents.clear();
        self.activities.close(&mut self.out);
        self.state.close(&mut self.out);
    }
}
