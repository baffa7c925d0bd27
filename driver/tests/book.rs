//! The how-to pages of the book are what happens: every command of an `sh` block runs, from the root of the repository, exits as it
//! says, and prints the `text` block that follows it.
//!
//! A line that ends in `# exits N` exits so. With `UPDATE_BOOK=1` the `text` blocks are written anew.

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Standard output of a command, which exits as its comment says.
fn run(line: &str) -> String {
    let binaries = Path::new(env!("CARGO_BIN_EXE_ipu")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    let (_, wanted) = line.split_once("# exits ").unwrap_or((line, "0"));
    let output = Command::new("bash")
        .args(["-o", "pipefail", "-c", line])
        .env("PATH", path)
        .current_dir(root())
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code().map(|code| code.to_string()).as_deref(),
        Some(wanted),
        "`{line}`: {error}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The page with fresh `text` blocks.
fn refreshed(page: &str) -> String {
    let mut fresh = String::new();
    let mut printed: Option<String> = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        fresh.push_str(line);
        fresh.push('\n');
        let block = |lines: &mut std::str::Lines<'_>| -> Vec<String> {
            lines.take_while(|line| *line != "```").map(str::to_owned).collect()
        };
        match line {
            "```sh" => {
                let commands = block(&mut lines);
                for command in &commands {
                    printed = Some(run(command));
                }
                fresh.push_str(&commands.join("\n"));
                fresh.push_str("\n```\n");
            }
            "```text" => {
                let stored = block(&mut lines);
                match printed.take() {
                    Some(printed) => fresh.push_str(&printed),
                    None => stored.iter().for_each(|line| fresh.push_str(&format!("{line}\n"))),
                }
                fresh.push_str("```\n");
            }
            _ => {}
        }
    }
    fresh
}

#[test]
fn how_to_pages_are_what_happens() {
    std::fs::create_dir_all(root().join("target")).unwrap();
    let mut pages: Vec<PathBuf> =
        std::fs::read_dir(root().join("docs/how-to")).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.sort();
    assert!(pages.len() >= 5);
    for path in pages {
        let page = std::fs::read_to_string(&path).unwrap();
        let fresh = refreshed(&page);
        if std::env::var_os("UPDATE_BOOK").is_some() {
            std::fs::write(&path, fresh).unwrap();
        } else {
            let name = path.file_name().unwrap().to_string_lossy();
            for (line, (stored, fresh)) in page.lines().zip(fresh.lines()).enumerate() {
                assert_eq!(stored, fresh, "docs/how-to/{name}:{} is stale; run with UPDATE_BOOK=1", line + 1);
            }
            assert!(
                page.lines().count() == fresh.lines().count(),
                "docs/how-to/{name} is stale; run with UPDATE_BOOK=1"
            );
        }
    }
}
