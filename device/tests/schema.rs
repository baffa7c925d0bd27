//! The generated reader and writer are what the schema text gives.

use std::path::Path;
use std::process::Command;

/// Where to find `capnp` (package `capnproto`) and `capnpc-rust` (crate `capnpc` 0.27.0).
fn tool(variable: &str, name: &str) -> Option<String> {
    let program = std::env::var(variable).unwrap_or_else(|_| name.to_owned());
    let runs = Command::new("sh").args(["-c", "command -v \"$0\" >/dev/null", &program]).status();
    runs.is_ok_and(|status| status.success()).then_some(program)
}

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says so")]
fn generated_code_is_what_the_schema_gives() {
    let (Some(capnp), Some(generator)) = (tool("CAPNP", "capnp"), tool("CAPNPC_RUST", "capnpc-rust")) else {
        println!("skipped: needs `capnp` (or $CAPNP) and `capnpc-rust` 0.27 (or $CAPNPC_RUST)");
        return;
    };
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = tempfile::tempdir().unwrap();
    let status = Command::new(capnp)
        .arg("compile")
        .arg(format!("-o{generator}:{}", out.path().display()))
        .arg("application.capnp")
        .current_dir(crate_dir.join("schema"))
        .status()
        .unwrap();
    assert!(status.success());
    let body = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap();
        // The header names the versions of the tools.
        text.lines().filter(|line| !line.starts_with("//")).collect::<Vec<_>>().join("\n")
    };
    let fresh = body(&out.path().join("application_capnp.rs"));
    let kept = body(&crate_dir.join("src/package/application_capnp.rs"));
    assert!(
        fresh == kept,
        "device/src/package/application_capnp.rs is stale: in device/schema run \
         `capnp compile -ocapnpc-rust:../src/package application.capnp`"
    );
}
