//! The generated reader and writer are what the schema text gives, and another implementation agrees with them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use ipu_device::package::Package;

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

#[test]
#[allow(clippy::print_stdout, reason = "a skipped test says so")]
fn the_reference_implementation_reads_and_writes_the_same_package() {
    let Some(capnp) = tool("CAPNP", "capnp") else {
        println!("skipped: needs `capnp` (or $CAPNP)");
        return;
    };
    let convert = |direction: &str, input: Vec<u8>| {
        let mut child = Command::new(&capnp)
            .args([direction, "application.capnp", "Application"])
            .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("schema"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let feeder = std::thread::spawn(move || stdin.write_all(&input).unwrap());
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        assert!(output.status.success(), "{direction}");
        output.stdout
    };
    let mut package = crate::package_sample::sample();
    package.tiles.truncate(65);
    package.footer = None;
    let text = convert("decode", package.message_bytes().unwrap());
    assert!(String::from_utf8_lossy(&text).contains("physicalTile = 64"));
    // The C++ writer makes several segments with far pointers between them.
    let rewritten = convert("encode", text);
    assert!(rewritten[0] > 0, "one segment only");
    assert_eq!(Package::from_foreign_bytes(&rewritten).unwrap(), package);
}
