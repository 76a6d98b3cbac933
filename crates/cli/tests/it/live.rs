//! `threadline check URL`

mod adk;
mod dialect;
mod endpoint;
mod good;
mod npm;
mod own;
mod slips;

use crate::{Ran, threadline};
use serde_json::Value;
use std::collections::BTreeSet;

/// Checks an endpoint, with these arguments more.
fn checked(url: &str, more: &[&str]) -> Ran {
    let mut args = vec!["check", url];
    args.extend_from_slice(more);
    threadline(&args, "")
}

/// What a check of an endpoint has to say, for programs.
fn report(url: &str, more: &[&str]) -> Value {
    let mut args = vec!["--format", "json"];
    args.extend_from_slice(more);
    let ran = checked(url, &args);
    let report: Value = serde_json::from_str(ran.text()).unwrap_or_else(|_| panic!("{}", ran.stderr));
    let is_good = report["errors"] == 0 && report["warnings"] == 0;
    assert_eq!(ran.code, i32::from(!is_good), "{}", ran.stderr);
    report
}

/// The names of the rules that are broken.
fn rules(report: &Value) -> BTreeSet<&str> {
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().map(|finding| finding["code"].as_str().expect("a name")).collect()
}

/// The finding of a rule.
fn finding<'a>(report: &'a Value, rule: &str) -> &'a Value {
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().find(|finding| finding["code"] == rule).unwrap_or_else(|| panic!("no {rule}: {report:#}"))
}
