//! The generated reference in the book is what the declarations say.

use std::path::Path;
use std::process::Command;

#[test]
fn reference_pages_are_up_to_date() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference");
    let fresh = tempfile::tempdir().unwrap();
    let written =
        Command::new(env!("CARGO_BIN_EXE_ipu")).arg("doc").arg("--write").arg(fresh.path()).status();
    assert!(written.unwrap().success());
    let mut pages = 0;
    for page in std::fs::read_dir(fresh.path()).unwrap() {
        let page = page.unwrap();
        let stored = std::fs::read_to_string(book.join(page.file_name())).unwrap_or_default();
        assert!(
            stored == std::fs::read_to_string(page.path()).unwrap(),
            "docs/reference/{} is stale; run `cargo run --bin ipu -- doc --write docs/reference`",
            page.file_name().to_string_lossy()
        );
        pages += 1;
    }
    assert_eq!(pages, std::fs::read_dir(book).unwrap().count(), "a page of a dialect that is gone");
}
