//! The fixtures of the plan's own sample, and the hashes that its mapper makes of them.

use serde_json::Value;
use threadline_evidence::digest::sha256_hex;
use threadline_evidence::{Reason, check};

/// What the mapper hashes: its envelope around the artifact, in the order of RFC 8785.
fn content_hash(artifact: &str, started_at: &str) -> String {
    let canonical = check(artifact.as_bytes()).expect("an artifact").to_canonical_json();
    let hashed = format!(
        r#"{{"data":{{"external_schema":"ag-ui.compacted-message-snapshot.export.v1","external_surface":"compacted-message-snapshot-artifact","external_system":"ag_ui","observed":{canonical},"observed_upstream_time":"{started_at}"}},"datacontenttype":"application/json","specversion":"1.0","type":"example.placeholder.ag-ui-compacted-message-snapshot"}}"#
    );
    format!("sha256:{}", sha256_hex(hashed.as_bytes()))
}

fn expected_hash(envelope: &str) -> String {
    let envelope: Value = serde_json::from_str(envelope).expect("a fixture that is good");
    envelope["assaycontenthash"].as_str().expect("a fixture that is good").to_owned()
}

#[test]
fn the_content_hashes_come_out() {
    let valid = content_hash(include_str!("../../testdata/assay/valid.ag-ui.json"), "2026-04-14T20:00:00Z");
    assert_eq!(valid, "sha256:460198afb5f1555ef3d9f46e47139b17d08adba0b6cb4733d7115f7317273293");
    assert_eq!(valid, expected_hash(include_str!("../../testdata/assay/valid.assay.ndjson")));
    let failure =
        content_hash(include_str!("../../testdata/assay/failure.ag-ui.json"), "2026-04-14T20:05:00Z");
    assert_eq!(failure, "sha256:8d43e64f059013848277f20b4f8d5f641ce94acb4dce00540cb739b25647838b");
    assert_eq!(failure, expected_hash(include_str!("../../testdata/assay/failure.assay.ndjson")));
}

#[test]
fn what_the_mapper_accepts_is_written_as_it_was() {
    for fixture in [
        include_str!("../../testdata/assay/valid.ag-ui.json"),
        include_str!("../../testdata/assay/failure.ag-ui.json"),
    ] {
        assert_eq!(check(fixture.as_bytes()).unwrap().to_json(), fixture);
    }
}

#[test]
fn state_makes_an_artifact_malformed() {
    let refused = check(include_bytes!("../../testdata/assay/malformed.ag-ui.json")).unwrap_err();
    let [refusal] = refused.refusals() else { panic!("{refused}") };
    assert_eq!((refusal.reason, refusal.path.as_str()), (Reason::UnknownField, "/state"));
}
