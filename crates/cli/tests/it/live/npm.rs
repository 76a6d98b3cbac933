//! An agent made of the npm encoder.

use super::{finding, report, rules};
use std::collections::BTreeSet;
use threadline_interop::node_agent::NodeAgent;

#[test]
fn an_agent_of_the_npm_encoder_is_as_it_should_be_but_for_what_it_leaves_open() {
    let agent = NodeAgent::start();
    let plain = report(agent.url(), &["--say", "tool", "--say", "state"]);
    // It has no such route.
    assert_eq!(rules(&plain), BTreeSet::from(["no_capabilities"]), "{plain:#}");
    assert_eq!(plain["verdict"], "conformant");
    let answered = |name: &str| {
        let asked =
            plain["requests"].as_array().expect("requests").iter().find(|asked| asked["name"] == name);
        asked.expect("a request")["answer"].clone()
    };
    assert_eq!(answered("protobuf"), "200 application/vnd.ag-ui.event+proto");
    assert_eq!(answered("not-json"), "400 no content-type");
    let failing = report(agent.url(), &["--say", "fail", "--say", "stop"]);
    let expected = ["no_capabilities", "open_at_run_error", "run_not_ended"];
    assert_eq!(rules(&failing), expected.into(), "{failing:#}");
    assert_eq!(finding(&failing, "run_not_ended")["evidence"][0]["request"], "say-2");
}
