//! Where events that AG-UI does not have belong.

use super::rule::Rule;

/// What a type of another protocol is to be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// ACTIVITY_SNAPSHOT and ACTIVITY_DELTA.
    Activity,
    /// STEP_STARTED and STEP_FINISHED.
    Steps,
    /// STATE_SNAPSHOT and STATE_DELTA.
    State,
    /// CUSTOM.
    Custom,
}

/// Words about money and figures, which are the vendor's own whatever else the name has.
const OWN: [&str; 8] = ["budget", "cost", "spending", "roi", "metrics", "counts", "telemetry", "learning"];

impl Target {
    /// By the words of the name.
    pub(crate) fn of(name: &str) -> Self {
        let words = words(name);
        let has = |word: &str| words.iter().any(|known| known == word);
        if OWN.iter().any(|word| has(word)) {
            Self::Custom
        } else if has("typing") {
            Self::Activity
        } else if has("task") || has("tasks") {
            Self::Steps
        } else if ["config", "configuration", "settings", "preferences"].iter().any(|word| has(word)) {
            Self::State
        } else {
            Self::Custom
        }
    }

    pub(crate) const fn rule(self) -> Rule {
        match self {
            Self::Activity => Rule::TypingEvent,
            Self::Steps => Rule::TaskEvent,
            Self::State => Rule::ConfigurationEvent,
            Self::Custom => Rule::CustomEvent,
        }
    }
}

/// What to write in place of an event, if there is more to say than the rule does.
pub(crate) fn remedy(name: &str) -> String {
    match Target::of(name) {
        Target::Custom => format!(
            "write {{\"type\": \"CUSTOM\", \"name\": \"vendor.{}\", \"value\": {{...}}}}, with your own name for vendor",
            words(name).join("_")
        ),
        target => target.rule().remedy().to_owned(),
    }
}

/// The words of a name, in lower case: `GetROIDashboard` is get, roi, dashboard.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut begins = true;
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            begins = true;
            continue;
        }
        let before = at.checked_sub(1).and_then(|before| letters.get(before));
        let after_lower = before.is_some_and(|before| before.is_lowercase());
        let ends_capitals = before.is_some_and(|before| before.is_uppercase())
            && letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if begins || letter.is_uppercase() && (after_lower || ends_capitals) {
            words.push(String::new());
        }
        begins = false;
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    // What every event is says nothing.
    if words.len() > 1 && words.last().is_some_and(|word| word == "event") {
        words.pop();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The event names of the drift analysis, by its headings, and what it says they should become.
    const NAMES: &str = include_str!("../../../tests/data/check/foreign-names.txt");

    #[test]
    fn every_name_of_the_analysis_has_its_target() {
        let mut count = 0;
        let mut expected = Target::Custom;
        for line in NAMES.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
            if let Some(heading) = line.strip_prefix("== ") {
                expected = match heading.rsplit_once(": ").expect("a target").1 {
                    "ACTIVITY_*" => Target::Activity,
                    "STEP_*" => Target::Steps,
                    "STATE_*" => Target::State,
                    "CUSTOM" => Target::Custom,
                    other => panic!("{other}"),
                };
                continue;
            }
            count += 1;
            assert_eq!(Target::of(line), expected, "{line}");
            // The same in the spelling that its events have.
            let (first, rest) = line.split_at(1);
            let camel = first.to_lowercase() + rest;
            assert_eq!(Target::of(&camel), expected, "{camel}");
            assert_eq!(remedy(&camel).contains("\"vendor."), expected == Target::Custom, "{camel}");
        }
        assert_eq!(count, 69);
    }

    #[test]
    fn names_are_dotted_and_in_snake_case() {
        for (name, dotted) in [
            ("budgetStatusUpdate", "vendor.budget_status_update"),
            ("GetROIDashboard", "vendor.get_roi_dashboard"),
            ("A2AMessage", "vendor.a2a_message"),
            ("mesh.status", "vendor.mesh_status"),
            ("TdfAuditEvent", "vendor.tdf_audit"),
            ("event", "vendor.event"),
        ] {
            assert!(remedy(name).contains(&format!("\"{dotted}\"")), "{}", remedy(name));
        }
    }
}
