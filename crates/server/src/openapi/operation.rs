//! What is said about one way to call the server.

use super::shapes::text;
use crate::error::Code;
use axum::http::StatusCode;
use serde_json::{Map, Value, json};

/// What a route takes and answers, beyond what follows from its place in the table.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(super) summary: &'static str,
    /// As the document has them.
    pub(super) parameters: Vec<Value>,
    pub(super) body: Option<Value>,
    pub(super) answers: Vec<(StatusCode, Value)>,
    /// What it can be refused for, beyond what every request of its kind can be.
    pub(super) codes: Vec<Code>,
}

impl Operation {
    /// In a few words.
    pub(crate) const fn new(summary: &'static str) -> Self {
        Self { summary, parameters: Vec::new(), body: None, answers: Vec::new(), codes: Vec::new() }
    }

    /// With something that may be in the query.
    pub(crate) fn query(self, name: &str, what: &str, schema: Value) -> Self {
        self.parameter(json!({ "in": "query", "name": name, "description": what }), schema)
    }

    /// With something that must be in the query.
    pub(crate) fn needs_query(self, name: &str, what: &str, schema: Value) -> Self {
        let parameter = json!({ "in": "query", "name": name, "description": what, "required": true });
        self.parameter(parameter, schema)
    }

    /// With a header that may be there.
    pub(crate) fn header(self, name: &str, what: &str, schema: Value) -> Self {
        self.parameter(json!({ "in": "header", "name": name, "description": what }), schema)
    }

    fn parameter(mut self, mut parameter: Value, schema: Value) -> Self {
        parameter["schema"] = schema;
        self.parameters.push(parameter);
        self
    }

    /// With a body, by any of these content types.
    pub(crate) fn takes(mut self, types: &[&str], schema: &Value) -> Self {
        let content: Map<String, Value> =
            types.iter().map(|name| ((*name).to_owned(), json!({ "schema": schema }))).collect();
        self.body = Some(json!({ "required": true, "content": content }));
        self
    }

    /// With an answer of this status, in any of these forms; without a body, if there is none.
    pub(crate) fn answers<'t>(
        mut self,
        status: StatusCode,
        what: &str,
        forms: impl IntoIterator<Item = (&'t str, Value)>,
    ) -> Self {
        let forms: Map<String, Value> =
            forms.into_iter().map(|(name, schema)| (name.to_owned(), json!({ "schema": schema }))).collect();
        let mut answer = json!({ "description": what });
        if !forms.is_empty() {
            answer["content"] = forms.into();
        }
        self.answers.push((status, answer));
        self
    }

    /// With 200 and JSON.
    pub(crate) fn answers_json(self, what: &str, schema: Value) -> Self {
        self.answers(StatusCode::OK, what, [("application/json", schema)])
    }

    /// With an `ETag` on what was described so far, and 304 for who has it already.
    pub(crate) fn conditional(mut self) -> Self {
        let tag = json!({ "ETag": { "description": "Tells this answer from others.", "schema": text() } });
        for (_, answer) in &mut self.answers {
            answer["headers"] = tag.clone();
        }
        let answer = json!({ "description": "The caller has it already.", "headers": tag });
        self.answers.push((StatusCode::NOT_MODIFIED, answer));
        self.header("If-None-Match", "The tags of answers that the caller has.", text())
    }

    /// With what goes wrong where threads are read.
    pub(crate) fn reads(self) -> Self {
        self.refuses(&[Code::Damaged, Code::StoreUnavailable])
    }

    /// With what goes wrong where threads are changed.
    pub(crate) fn writes(self) -> Self {
        self.reads().refuses(&[Code::OutcomeUnknown, Code::ShuttingDown])
    }

    /// With what goes wrong where threads are made, or more is kept in them.
    pub(crate) fn keeps(self) -> Self {
        self.writes().refuses(&[Code::QuotaExceeded])
    }

    /// With what else it can be refused for. What follows from permissions, parameters and bodies need not be said.
    pub(crate) fn refuses(mut self, codes: &[Code]) -> Self {
        self.codes.extend_from_slice(codes);
        self
    }
}
