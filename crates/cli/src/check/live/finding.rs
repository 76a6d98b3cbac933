//! What was found about an endpoint.

use super::exchange::Exchange;
use super::rule::Rule;
use std::borrow::Cow;
use std::collections::BTreeSet;
use threadline_protocol::check::{Family, Severity};

/// How much of a frame is shown.
const TEXT_CHARS_MAX: usize = 400;

/// How much of a body that holds no events.
const BODY_CHARS_MAX: usize = 150;

/// How many pieces of evidence a finding has.
const EVIDENCE_MAX: usize = 3;

macro_rules! areas {
    ($( $area:ident = $name:literal, )*) => {
        /// What a finding is about.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum Area {
            $( $area, )*
        }

        impl Area {
            /// In the order of reports.
            pub(crate) const ALL: &'static [Self] = &[$( Self::$area, )*];

            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $( Self::$area => $name, )*
                }
            }
        }
    };
}

areas! {
    Discovery = "discovery",
    Transport = "transport",
    Errors = "errors",
    Lifecycle = "lifecycle",
    Text = "text",
    ToolCalls = "tool calls",
    Roles = "roles",
    Multimodal = "multimodal",
    Reasoning = "reasoning",
    State = "state",
    Activity = "activity",
    Subagents = "subagents",
    Interrupts = "interrupts",
    Extensions = "extensions",
    UnknownFields = "unknown fields",
}

impl From<Family> for Area {
    fn from(family: Family) -> Self {
        match family {
            Family::Lifecycle => Self::Lifecycle,
            Family::Text => Self::Text,
            Family::ToolCalls => Self::ToolCalls,
            Family::Reasoning => Self::Reasoning,
            Family::State => Self::State,
            Family::Activity => Self::Activity,
            Family::Subagents => Self::Subagents,
            _ => Self::Extensions,
        }
    }
}

/// Whose clients have trouble with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Affects {
    Both,
    /// Those of 1.0. Those of 0.x know nothing of it, or do not mind.
    V1,
    /// Those of 0.x.
    V0,
}

impl Affects {
    pub(crate) const fn v1(self) -> bool {
        matches!(self, Self::Both | Self::V1)
    }

    pub(crate) const fn v0(self) -> bool {
        matches!(self, Self::Both | Self::V0)
    }

    /// For people and for programs.
    pub(crate) const fn eras(self) -> &'static [&'static str] {
        match self {
            Self::Both => &["1.0", "0.x"],
            Self::V1 => &["1.0"],
            Self::V0 => &["0.x"],
        }
    }
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// The name of the rule, for programs. It never changes its meaning.
    pub(crate) rule: &'static str,
    /// What the rule is about.
    pub(crate) summary: &'static str,
    pub(crate) area: Area,
    pub(crate) affects: Affects,
    /// The types of the events it is about, as they are written.
    pub(crate) types: Vec<String>,
    /// Where in the event, as a JSON pointer.
    pub(crate) path: String,
    pub(crate) message: String,
    /// What the specification says.
    pub(crate) says: Cow<'static, str>,
    pub(crate) remedy: String,
    pub(crate) count: u64,
    pub(crate) evidence: Vec<Evidence>,
}

/// What shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Evidence {
    /// The name of the request.
    pub(crate) request: String,
    /// Which frame of the answer, from 1.
    pub(crate) frame: Option<usize>,
    /// The frame, or the head of the answer.
    pub(crate) text: String,
}

impl Evidence {
    /// One frame of an answer.
    pub(crate) fn frame(exchange: &Exchange, at: usize) -> Self {
        let frame = exchange.stream().and_then(|stream| stream.frames.get(at));
        let text = match frame.map(|frame| &frame.json) {
            Some(Ok(json)) => json.as_str(),
            Some(Err(error)) => error.as_str(),
            None => "the end of the stream",
        };
        let frame = frame.is_some().then(|| at + 1);
        Self { request: exchange.request.name.clone(), frame, text: shortened(text, TEXT_CHARS_MAX) }
    }

    /// The head of an answer, and what its body begins with if it holds no events.
    pub(crate) fn head(exchange: &Exchange) -> Self {
        let mut text = exchange.head();
        if let Some(answer) =
            exchange.http().filter(|answer| !answer.is_stream() && !answer.body.text.is_empty())
        {
            text = format!("{text}: {}", shortened(answer.body.text.trim(), BODY_CHARS_MAX));
        }
        Self { request: exchange.request.name.clone(), frame: None, text: shortened(&text, TEXT_CHARS_MAX) }
    }

    /// Something else about an answer.
    pub(crate) fn of(exchange: &Exchange, text: &str) -> Self {
        Self { request: exchange.request.name.clone(), frame: None, text: shortened(text, TEXT_CHARS_MAX) }
    }
}

fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

impl Finding {
    /// What a rule says, and what shows it.
    pub(crate) fn new(rule: Rule, message: impl Into<String>, evidence: Evidence) -> Self {
        Self {
            severity: rule.severity(),
            rule: rule.name(),
            summary: rule.summary(),
            area: rule.area(),
            affects: rule.affects(),
            types: Vec::new(),
            path: String::new(),
            message: message.into(),
            says: Cow::Borrowed(rule.says()),
            remedy: rule.remedy().to_owned(),
            count: 1,
            evidence: vec![evidence],
        }
    }

    pub(crate) fn with_remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    pub(crate) fn with_type(mut self, event_type: Option<&str>) -> Self {
        self.types = event_type.map(str::to_owned).into_iter().collect();
        self
    }

    /// Whether it is the same, found elsewhere.
    fn is_like(&self, other: &Self) -> bool {
        (self.rule, self.severity, self.area) == (other.rule, other.severity, other.area)
            && shape(&self.path) == shape(&other.path)
            && self.remedy == other.remedy
    }
}

/// A path without its indices.
fn shape(path: &str) -> String {
    let is_index = |token: &str| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    path.split('/').map(|token| if is_index(token) { "*" } else { token }).collect::<Vec<_>>().join("/")
}

/// The same things once each, by area, the worst first.
pub(crate) fn merged(findings: Vec<Finding>) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for finding in findings {
        let Some(like) = all.iter_mut().find(|other| other.is_like(&finding)) else {
            all.push(finding);
            continue;
        };
        like.count += finding.count;
        for event_type in finding.types {
            if !like.types.contains(&event_type) {
                like.types.push(event_type);
            }
        }
        if like.path != finding.path {
            like.path = shape(&like.path);
        }
        like.evidence.extend(finding.evidence);
    }
    for finding in &mut all {
        // The same frame in another run shows nothing more.
        let mut shown = BTreeSet::new();
        finding.evidence.retain(|evidence| shown.insert(evidence.text.clone()));
        finding.evidence.truncate(EVIDENCE_MAX);
    }
    all.sort_by_key(|finding| (finding.area, std::cmp::Reverse(finding.severity)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: Rule, event_type: &str, path: &str, text: &str) -> Finding {
        let evidence = Evidence { request: "text".to_owned(), frame: Some(1), text: text.to_owned() };
        let mut finding = Finding::new(rule, "m", evidence).with_type(Some(event_type));
        path.clone_into(&mut finding.path);
        finding
    }

    #[test]
    fn the_same_is_said_once_with_what_shows_it() {
        let all = merged(vec![
            found(Rule::EventId, "A", "/x/0", "one"),
            found(Rule::CustomEvent, "C", "", "three"),
            found(Rule::EventId, "B", "/x/7", "one"),
            found(Rule::EventId, "A", "/x/7", "two"),
            found(Rule::PatchForDelta, "A", "/patch", "four"),
        ]);
        let rules: Vec<&str> = all.iter().map(|finding| finding.rule).collect();
        // By area, errors first.
        assert_eq!(rules, ["patch_for_delta", "event_id", "custom_event"]);
        let [_, merged, _] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((merged.count, merged.path.as_str()), (3, "/x/*"));
        assert_eq!(merged.types, ["A", "B"]);
        let shown: Vec<&str> = merged.evidence.iter().map(|evidence| evidence.text.as_str()).collect();
        assert_eq!(shown, ["one", "two"]);
    }

    #[test]
    fn long_texts_are_cut_between_letters() {
        assert_eq!(shortened("äöü", 2), "äö…");
        assert_eq!(shortened("äöü", 3), "äöü");
    }
}
