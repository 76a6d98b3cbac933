//! What will be sent, before anything is: how many requests, and of which kind.

use super::input::{FAMILIES, Role};
use super::step::{Sends, Step};
use std::fmt::Write as _;

/// What may be sent at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) url: String,
    /// What the caller wants to be said.
    pub(crate) say: Vec<String>,
}

impl Plan {
    /// How many requests a step may send.
    pub(crate) fn requests_max(&self, step: Step) -> usize {
        match step {
            Step::Capabilities | Step::Socket => 2,
            Step::EachRole => Role::SENT.len(),
            Step::Families => FAMILIES.len(),
            Step::Say => self.say.len(),
            _ => 1,
        }
    }

    /// How many requests may be sent in all.
    pub(crate) fn total_max(&self) -> usize {
        Step::ALL.iter().map(|step| self.requests_max(*step)).sum()
    }

    /// How many of them may start runs, those included that should not.
    pub(crate) fn runs_max(&self) -> usize {
        let runs = Step::ALL.iter().filter(|step| step.sends() != Sends::Requests);
        runs.map(|step| self.requests_max(*step)).sum()
    }

    /// The plan for people.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("threadline check asks {}, one request after the other:\n", self.url);
        for step in Step::ALL {
            let (max, name) = (self.requests_max(step), step.name());
            if max == 0 {
                continue;
            }
            let may_be_fewer = step.is_conditional() || step == Step::Capabilities;
            let up_to = if may_be_fewer { "up to " } else { "" };
            let method = match step.sends() {
                Sends::Requests if step == Step::Preflight => "OPTIONS",
                Sends::Requests | Sends::Sockets => "GET",
                Sends::Runs | Sends::Refusals => "POST",
            };
            let count = format!("{up_to}{max} {method}");
            let _ = writeln!(text, "  {count:<13}  {name:<15}  {}", step.purpose());
        }
        let _ = writeln!(
            text,
            "at most {} requests, of which at most {} can start a run of the agent",
            self.total_max(),
            self.runs_max()
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(say: &[&str]) -> Plan {
        let say = say.iter().map(|&text| text.to_owned()).collect();
        Plan { url: "http://localhost/agent".to_owned(), say }
    }

    #[test]
    fn everything_is_announced() {
        let text = plan(&["fail", "slow"]).text();
        for step in Step::ALL {
            assert!(text.contains(&format!("  {:<15}  ", step.name())), "{text}");
        }
        assert!(text.contains("  2 POST         say"), "{text}");
        assert!(text.contains("  up to 2 GET    capabilities"), "{text}");
        assert!(!plan(&[]).text().contains("--say"));
        let of = |plan: &Plan| (plan.total_max(), plan.runs_max());
        assert_eq!(of(&plan(&["a", "b"])), (of(&plan(&[])).0 + 2, of(&plan(&[])).1 + 2));
    }
}
