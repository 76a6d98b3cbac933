//! Makes the Rust types of the binary form from `ag_ui.proto`, so that building the codec needs no protoc.

use prost_build::{Config, Module};
use std::io::{Error, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HEADER: &str = "\
// @generated from crates/protocol/proto/ag_ui.proto. Do not edit; to make it anew:
// cargo run -p threadline-interop --bin codegen
";

/// Where the generated file is checked in.
#[must_use]
pub fn generated_path() -> PathBuf {
    protocol_crate().join("src/proto/generated.rs")
}

/// The text that the checked-in file should have.
///
/// # Errors
/// If the schema does not compile, or rustfmt cannot be run.
pub fn generate() -> Result<String, Error> {
    let schema = protox::compile(["ag_ui.proto"], [protocol_crate().join("proto")]).map_err(Error::other)?;
    let mut config = Config::new();
    // Any JSON may stand in these, nested as deep as its sender likes. Ours keep the bytes and do not recurse.
    config.extern_path(".google.protobuf.Value", "crate::proto::value::Value");
    config.extern_path(".google.protobuf.Struct", "crate::proto::value::Struct");
    let files =
        schema.file.into_iter().map(|file| (Module::from_protobuf_package_name(file.package()), file));
    let mut modules = config.generate(files.collect())?;
    let ours = modules.remove(&Module::from_protobuf_package_name("ag_ui"));
    let code = ours.ok_or_else(|| Error::other("nothing was generated"))?;
    Ok(with_unopened_lists(&rustfmt(&format!("{HEADER}\n{code}"))?))
}

/// Makes the elements of lists messages that are not taken apart: an empty one takes two bytes on the wire, and would
/// take some 300 in memory. prost-build cannot be told to.
fn with_unopened_lists(code: &str) -> String {
    let mut out = String::with_capacity(code.len());
    let mut repeated = false;
    for line in code.split_inclusive('\n') {
        match line.split_once("::prost::alloc::vec::Vec<") {
            Some((field, element)) if repeated => {
                let element = element.replacen('>', ">>", 1);
                out.extend([field, "::prost::alloc::vec::Vec<crate::proto::value::WireMessage<", &element]);
            }
            _ => out.push_str(line),
        }
        repeated = line.trim_start().starts_with("#[prost(message, repeated,");
    }
    out
}

fn protocol_crate() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/protocol")
}

fn rustfmt(code: &str) -> Result<String, Error> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config-path"])
        .arg(protocol_crate().join("../../rustfmt.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    // It reads everything before it writes anything, so neither side waits for the other.
    rustfmt.stdin.take().expect("piped").write_all(code.as_bytes())?;
    let mut formatted = String::new();
    rustfmt.stdout.take().expect("piped").read_to_string(&mut formatted)?;
    if rustfmt.wait()?.success() { Ok(formatted) } else { Err(Error::other("rustfmt failed")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checked_in_code_is_what_the_schema_says() {
        let checked_in = std::fs::read_to_string(generated_path()).unwrap();
        assert!(
            checked_in == generate().unwrap(),
            "generated.rs is stale: cargo run -p threadline-interop --bin codegen"
        );
    }
}
