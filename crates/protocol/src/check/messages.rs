//! What is often wrong with messages. All of a list at once: the schema names one thing at a time, and lists are long.

use super::code::Code;
use super::finding::{Severity, excerpt};
use super::issue::Issue;
use super::members;
use super::mend::Mender;
use super::tree_path::{get, get_mut, rename, set, string, text};
use crate::event::EventType;
use crate::json::{Members, Tree};

impl Mender {
    /// Mends the messages of an event that has any.
    pub(super) fn mend_messages(&mut self, event_type: EventType) {
        let list = match event_type {
            EventType::MessagesSnapshot => "/messages",
            EventType::RunStarted => "/input/messages",
            _ => return,
        };
        let Some(Tree::Array(messages)) = get(&self.tree, list) else { return };
        for index in 0..messages.len() {
            if self.is_full() {
                return;
            }
            self.mend_message(&format!("{list}/{index}"));
        }
    }

    fn mend_message(&mut self, at: &str) {
        match get(&self.tree, at) {
            Some(Tree::String(content)) => {
                let message = [
                    ("id", string("")),
                    ("role", string("user")),
                    ("content", Tree::String(content.clone())),
                ];
                let advice = "write {\"id\": ..., \"role\": \"user\", \"content\": ...}";
                self.report(Issue::new(Severity::Error, Code::MessageIsText, at).with_advice(advice));
                set(&mut self.tree, at, object(message));
            }
            Some(Tree::Object(_)) => {
                let Some(role) = self.mend_role(at) else { return };
                if role == "tool" && rename(&mut self.tree, at, "tool_call_id", "toolCallId") {
                    self.report_renamed(at, "tool_call_id", "toolCallId");
                }
                self.mend_id(at);
                if role == "assistant" {
                    self.mend_tool_calls(at);
                }
            }
            _ => {}
        }
    }

    /// The role, if it is one or is meant to be one.
    fn mend_role(&mut self, at: &str) -> Option<&'static str> {
        let path = format!("{at}/role");
        self.mend_role_in_type(at);
        let written = get(&self.tree, &path).and_then(text).map(str::to_owned);
        let meant = written.as_deref().and_then(members::role);
        if meant.is_some() && meant == written.as_deref() {
            return meant;
        }
        let message = match &written {
            Some(written) => format!("`{}` is no role of AG-UI 1.0", excerpt(written)),
            None => "the message has no role".to_owned(),
        };
        let mut issue = Issue::new(Severity::Error, Code::UnknownRole, path.clone()).with_message(message);
        if let Some(meant) = meant {
            issue = issue.with_advice(format!("write {meant}"));
            set(&mut self.tree, &path, string(meant));
        } else {
            // It will be dropped, and then nothing in it matters.
            self.settle(at);
        }
        self.report(issue);
        meant
    }

    /// LangChain and others say in `type` who speaks.
    fn mend_role_in_type(&mut self, at: &str) {
        let written = get(&self.tree, &format!("{at}/type")).and_then(text);
        if written.and_then(members::role).is_some() && rename(&mut self.tree, at, "type", "role") {
            self.report_renamed(at, "type", "role");
        }
    }

    fn mend_id(&mut self, at: &str) {
        let Some(Tree::Object(members)) = get(&self.tree, at) else { return };
        let has_one = members.keys().filter_map(|key| key.as_str());
        if has_one.into_iter().any(|key| key == "id" || key != "toolCallId" && members::is_alias(key, "id")) {
            return;
        }
        let path = format!("{at}/id");
        set(&mut self.tree, &path, string(""));
        self.report(Issue::new(Severity::Error, Code::MessageWithoutId, path));
    }

    fn mend_tool_calls(&mut self, at: &str) {
        let path = format!("{at}/toolCalls");
        if rename(&mut self.tree, at, "tool_calls", "toolCalls") {
            self.report_renamed(at, "tool_calls", "toolCalls");
        }
        let Some(Tree::Array(calls)) = get(&self.tree, &path) else { return };
        for index in 0..calls.len() {
            if self.is_full() {
                return;
            }
            self.mend_tool_call(&format!("{path}/{index}"));
        }
    }

    fn mend_tool_call(&mut self, at: &str) {
        let Some(Tree::Object(call)) = get_mut(&mut self.tree, at) else { return };
        let has = |call: &Members, key: &str| call.contains_key(key.as_bytes());
        if !has(call, "function") && has(call, "name") {
            let mut function = Members::new();
            let name = call.shift_remove(&b"name"[..]);
            function.insert("name".into(), name.unwrap_or_else(|| string("")));
            let arguments = ["arguments", "args", "input", "parameters"];
            let arguments =
                arguments.iter().find_map(|name| Some((*name, call.shift_remove(name.as_bytes())?)));
            let (written, arguments) = arguments.unwrap_or_else(|| ("arguments", string("")));
            function.insert("arguments".into(), arguments);
            call.insert("function".into(), Tree::Object(Box::new(function)));
            call.insert("type".into(), string("function"));
            self.report(Issue::new(Severity::Error, Code::FlatToolCall, at));
            self.renamed(format!("{at}/function"), at.to_owned());
            self.renamed(format!("{at}/function/arguments"), format!("{at}/{written}"));
        } else if !has(call, "type") {
            call.insert("type".into(), string("function"));
            self.report(Issue::new(Severity::Error, Code::ToolCallWithoutType, format!("{at}/type")));
        }
        self.mend_arguments(&format!("{at}/function/arguments"));
    }

    /// Arguments that are JSON become its text.
    pub(super) fn mend_arguments(&mut self, at: &str) -> bool {
        let Some(json @ (Tree::Object(_) | Tree::Array(_))) = get(&self.tree, at) else { return false };
        let arguments = string(json.to_json().as_str());
        let mut issue = Issue::new(Severity::Error, Code::ArgumentsNotText, at);
        if at == "/content" {
            issue = issue
                .with_message("the result of a tool call is JSON, not text")
                .with_advice("write the result as a string that holds JSON, or as content parts");
        }
        self.report(issue);
        set(&mut self.tree, at, arguments)
    }
}

fn object<const N: usize>(members: [(&str, Tree); N]) -> Tree {
    let members = members.into_iter().map(|(key, value)| (key.to_owned().into(), value));
    Tree::Object(Box::new(members.collect()))
}
