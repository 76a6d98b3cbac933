//! Google's ADK behind the published `ag-ui-adk` middleware, with a model that plays a script: what it really does otherwise.

use super::{finding, report, rules};
use std::collections::BTreeSet;
use threadline_interop::adk::Adk;

#[test]
fn what_the_middleware_does_otherwise_is_reported() {
    let adk = Adk::start();
    // It knows which questions are open, and fails where it should go on. That it sends no timestamps is no finding.
    let resume = BTreeSet::from(["resume_refused"]);
    for agent in ["plain", "tool", "client", "reasoning", "plain/snapshot", "tool/snapshot"] {
        let report = report(&adk.url(agent), &[]);
        assert_eq!(rules(&report), resume, "{agent}: {report:#}");
        let evidence = finding(&report, "resume_refused")["evidence"][0]["text"].as_str().expect("a frame");
        assert!(evidence.contains("UNKNOWN_INTERRUPT"), "{evidence}");
    }
    // A run that fails in the middle of a sentence leaves it open.
    for agent in ["error", "error/snapshot"] {
        let report = report(&adk.url(agent), &[]);
        assert_eq!(rules(&report), BTreeSet::from(["open_at_run_error", "plain_run_fails"]), "{report:#}");
        let open = finding(&report, "open_at_run_error");
        assert!(open["message"].as_str().expect("text").contains("a text message"), "{open}");
        let evidence = open["evidence"][0]["text"].as_str().expect("a frame");
        assert!(evidence.contains("BACKGROUND_EXECUTION_ERROR"), "{evidence}");
    }
    // One that fails before the first word has nothing to leave open.
    assert_eq!(rules(&report(&adk.url("refused"), &[])), BTreeSet::from(["plain_run_fails"]));
}
