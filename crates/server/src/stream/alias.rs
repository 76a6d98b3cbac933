//! A run that is shown under the ids of another request, as history does.

use serde_json::json;
use threadline_log::RunId;
use threadline_protocol::json::JsonObject;
use threadline_protocol::metadata::Metadata;
use threadline_protocol::{Event, Json, Text};

/// The ids that a request reads a run under.
#[derive(Clone, Debug)]
pub(crate) struct Alias {
    /// The run id of the request.
    pub(crate) run_id: RunId,
    /// The run that is shown, if there is one.
    pub(crate) shown: Option<RunId>,
}

impl Alias {
    /// Puts the request's run id in the place of the run's own, which is kept in the metadata.
    pub(crate) fn apply(&self, event: &mut Event<'static>) {
        let run_id = || Text::from(self.run_id.as_str().to_owned());
        let metadata = match event {
            Event::RunStarted(started) => {
                started.run_id = run_id();
                &mut started.metadata
            }
            Event::RunFinished(finished) => {
                finished.run_id = run_id();
                &mut finished.metadata
            }
            Event::RunError(error) => &mut error.metadata,
            _ => return,
        };
        if let Some(shown) = self.shown.as_ref().filter(|shown| **shown != self.run_id) {
            let ours = about(&json!({ "runId": shown.as_str() }));
            *metadata = Metadata::merge(metadata.as_ref(), Some(&ours));
        }
    }
}

/// Metadata under our key.
#[must_use]
pub(crate) fn about(value: &serde_json::Value) -> Metadata<'static> {
    let json = Json::from(json!({ "threadline": value }));
    let object = JsonObject::try_from(json).expect("an object was written");
    Metadata::from(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadline_protocol::event::{RunError, RunFinished, RunStarted};

    #[test]
    fn the_run_is_known_by_its_metadata() {
        let alias = Alias { run_id: RunId::new("asked").unwrap(), shown: Some(RunId::new("shown").unwrap()) };
        let mut events: [Event<'static>; 3] = [
            RunStarted::new("t", "shown").into(),
            RunFinished::new("t", "shown").into(),
            RunError::new("m").with_code("c").into(),
        ];
        events.iter_mut().for_each(|event| alias.apply(event));
        assert_eq!(
            events.map(|event| event.to_json()),
            [
                r#"{"type":"RUN_STARTED","threadId":"t","runId":"asked","metadata":{"threadline":{"runId":"shown"}}}"#,
                r#"{"type":"RUN_FINISHED","threadId":"t","runId":"asked","metadata":{"threadline":{"runId":"shown"}}}"#,
                r#"{"type":"RUN_ERROR","message":"m","code":"c","metadata":{"threadline":{"runId":"shown"}}}"#,
            ]
        );
    }
}
