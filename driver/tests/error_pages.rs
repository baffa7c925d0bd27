//! Every error code has a page in `docs/errors`, and the page is what happens.
//!
//! A page has the sections `Fails` and `Mended`. The `ir` block of a section is written to `fails.ir` or `mended.ir` in an empty
//! folder, beside a link to `test-ir`; its `sh` block runs there, line by line. The last line of `Fails` must report the code, and the
//! `text` block below it is what it prints to standard error; the last line of `Mended` must exit 0 and not report the code. A section
//! may do without `ir` block. An error that no file can show has the section `Shown by` instead, with a line
//! ``* `name_of_test` in `path/of/test.rs` ``; the test must hold the code: as text, by its name in Rust, or in a snapshot. With
//! `UPDATE_BOOK=1` the `text` blocks are written anew; `PAGES=E02` runs only the pages of codes that start so.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use crate::tree::{files_below, root};
use rayon::prelude::*;

/// A code: the name of its variant, as in `LinkCode::Operand`, and its title.
struct Declared {
    name: String,
    title: String,
}

/// All codes of errors that the sources declare.
fn declared_codes() -> BTreeMap<String, Declared> {
    let pattern =
        r#"(?m)pub enum ([A-Za-z0-9]+) \{$|^\s+([A-Z][A-Za-z0-9]*) = "([A-Z][0-9]{4})", "([^"]+)",$"#;
    let pattern = regex::Regex::new(pattern).unwrap();
    let mut codes = BTreeMap::new();
    for path in ["device", "dialects", "passes", "driver"]
        .map(|name| files_below(&root().join(name).join("src"), "rs"))
        .concat()
    {
        let mut kind = String::new();
        for found in pattern.captures_iter(&std::fs::read_to_string(&path).unwrap()) {
            if let Some(name) = found.get(1) {
                kind = name.as_str().to_owned();
                continue;
            }
            let declared = Declared { name: format!("{kind}::{}", &found[2]), title: found[4].to_owned() };
            let earlier = codes.insert(found[3].to_owned(), declared);
            assert!(earlier.is_none(), "code {} is declared twice", &found[3]);
        }
    }
    codes
}

/// One section of a page: its blocks by language.
#[derive(Default)]
struct Section {
    ir: Option<String>,
    commands: Vec<String>,
    lines: Vec<String>,
}

fn sections(page: &str) -> BTreeMap<String, Section> {
    let mut sections: BTreeMap<String, Section> = BTreeMap::new();
    let mut section = Section::default();
    let mut name = String::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(next) = line.strip_prefix("## ") {
            sections.insert(std::mem::replace(&mut name, next.to_owned()), std::mem::take(&mut section));
            continue;
        }
        section.lines.push(line.to_owned());
        let Some(language) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        match language {
            "ir" => section.ir = Some(block.join("\n") + "\n"),
            "sh" => section.commands = block.iter().map(|line| (*line).to_owned()).collect(),
            _ => {}
        }
    }
    sections.insert(name, section);
    sections
}

/// Runs a section; all commands but the last must exit 0.
fn run(code: &str, name: &str, section: &Section) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("test-ir"), folder.path().join("test-ir")).unwrap();
    if let Some(ir) = &section.ir {
        std::fs::write(folder.path().join(format!("{name}.ir")), ir).unwrap();
    }
    let binaries = Path::new(env!("CARGO_BIN_EXE_ipu")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    let mut last = None;
    for (index, line) in section.commands.iter().enumerate() {
        let output = Command::new("bash")
            .args(["-o", "pipefail", "-c", line])
            .env("PATH", &path)
            .env("NO_COLOR", "1")
            .current_dir(folder.path())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        let is_last = index + 1 == section.commands.len();
        assert!(is_last || output.status.success(), "{code}: `{line}` fails: {error}");
        last = Some(output);
    }
    last.unwrap_or_else(|| panic!("docs/errors/{code}.md: section {name} has no command"))
}

fn check(code: &str, Declared { name, title }: &Declared, page: &str) -> String {
    assert!(
        page.starts_with(&format!("# {code}: {title}\n")),
        "docs/errors/{code}.md must start with `# {code}: {title}`"
    );
    assert!(page.lines().nth(2).is_some_and(|line| !line.is_empty()), "docs/errors/{code}.md says nothing");
    let sections = sections(page);
    if let Some(shown) = sections.get("Shown by") {
        check_tests(code, name, shown);
        return page.to_owned();
    }
    let [Some(fails), Some(mended)] = ["Fails", "Mended"].map(|name| sections.get(name)) else {
        panic!("docs/errors/{code}.md needs the sections `Fails` and `Mended`, or `Shown by`");
    };
    let output = run(code, "fails", fails);
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains(code), "docs/errors/{code}.md: the failing example reports no {code}: {error}");
    let mended = run(code, "mended", mended);
    let after = String::from_utf8_lossy(&mended.stderr);
    assert!(mended.status.success() && !after.contains(code), "docs/errors/{code}.md: not mended: {after}");
    with_text(page, &error)
}

/// The tests that a page names are there and show the code, whose name in Rust is `name`.
fn check_tests(code: &str, name: &str, section: &Section) {
    let pattern = regex::Regex::new(r"^\* `([a-z0-9_]+)` in `([a-z0-9_/.]+\.rs)`").unwrap();
    let mut found = 0;
    for named in section.lines.iter().filter_map(|line| pattern.captures(line)) {
        let source = std::fs::read_to_string(root().join(&named[2]))
            .unwrap_or_else(|_| panic!("docs/errors/{code}.md: there is no `{}`", &named[2]));
        let test = test_text(&root().join(&named[2]), &source, &named[1])
            .unwrap_or_else(|| panic!("docs/errors/{code}.md: `{}` has no test `{}`", &named[2], &named[1]));
        let shows = test.contains(code) || test.contains(name);
        assert!(shows, "docs/errors/{code}.md: test `{}` shows neither `{code}` nor `{name}`", &named[1]);
        found += 1;
    }
    assert!(found > 0, "docs/errors/{code}.md: `Shown by` names no test");
}

/// The text of a test: its function, constants that it names, and snapshots of its name.
fn test_text(path: &Path, source: &str, test: &str) -> Option<String> {
    let item = |start: usize, end: &str| {
        let line = source[..start].rfind('\n').map_or(0, |at| at + 1);
        let indent = &source[line..][..source[line..].find(|c| c != ' ')?];
        let length = source[line..].find(&format!("\n{indent}{end}\n"))?;
        Some(&source[line..line + length])
    };
    let body = item(source.find(&format!("fn {test}("))?, "}")?;
    let mut text = body.to_owned();
    let constant = regex::Regex::new(r"const ([A-Z]+): &\[").unwrap();
    for found in constant.captures_iter(source).filter(|found| body.contains(&found[1])) {
        text.push_str(item(found.get(0)?.start(), "];")?);
    }
    let (stem, folder) = (path.file_stem()?.to_string_lossy(), path.with_file_name("snapshots"));
    let snapshots = if folder.is_dir() { files_below(&folder, "snap") } else { Vec::new() };
    for snapshot in snapshots {
        if snapshot.to_string_lossy().contains(&format!("{stem}__{test}")) {
            text.push_str(&std::fs::read_to_string(snapshot).unwrap());
        }
    }
    Some(text)
}

/// The page with `error` as the `text` block of section `Fails`.
fn with_text(page: &str, error: &str) -> String {
    let Some((before, rest)) = page.split_once("## Fails") else { return page.to_owned() };
    let (fails, after) = rest.split_once("\n## ").unwrap_or((rest, ""));
    let Some((head, stored)) = fails.split_once("```text\n") else { return page.to_owned() };
    let tail = stored.split_once("```\n").map_or("", |(_, tail)| tail);
    let error: String = error.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    format!("{before}## Fails{head}```text\n{error}```\n{tail}\n## {after}")
}

#[test]
fn every_code_has_a_page_that_is_what_happens() {
    let mut codes = declared_codes();
    assert!(codes.len() > 200);
    let folder = root().join("docs/errors");
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let code = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(code == "README" || codes.contains_key(&code), "{} is no page of a code", path.display());
    }
    if let Ok(prefix) = std::env::var("PAGES") {
        codes.retain(|code, _| code.starts_with(&prefix));
    }
    let failures: Vec<String> = codes
        .par_iter()
        .filter_map(|(code, declared)| {
            let path = folder.join(format!("{code}.md"));
            let Ok(page) = std::fs::read_to_string(&path) else {
                return Some(format!("{code} ({}) has no page docs/errors/{code}.md", declared.title));
            };
            let fresh = match std::panic::catch_unwind(|| check(code, declared, &page)) {
                Ok(fresh) => fresh,
                Err(panic) => {
                    return Some(panic.downcast_ref::<String>().cloned().unwrap_or_default());
                }
            };
            if std::env::var_os("UPDATE_BOOK").is_some() {
                std::fs::write(&path, &fresh).unwrap();
            } else if page != fresh {
                return Some(format!("docs/errors/{code}.md is stale; run with UPDATE_BOOK=1"));
            }
            None
        })
        .collect();
    assert!(failures.is_empty(), "{} pages are wrong:\n{}", failures.len(), failures.join("\n"));
}
