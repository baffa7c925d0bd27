//! `--explain CODE`: the page of an error code, from `docs/errors`.

use ipu_dialects::spelling;

use crate::exit::{DriverCode, Exit, Failure};

/// The codes that have a page, in order, each with its page in Markdown.
pub const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/error_pages.rs"));

/// The page of `code`, upper or lower case; for `list`, all codes with their titles, one a line.
///
/// # Errors
/// There is no such code.
pub fn explain(code: &str) -> Result<String, Failure> {
    if code == "list" {
        return Ok(list());
    }
    let wanted = code.to_ascii_uppercase();
    if let Some((_, page)) = PAGES.iter().find(|(known, _)| *known == wanted) {
        return Ok((*page).to_owned());
    }
    let near = spelling::nearest(&wanted, PAGES.iter().map(|(code, _)| *code));
    let hint = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let message = format!("no error has code `{code}`{hint} (`ipu-opt --explain list` prints all codes)");
    Err(Failure::new(Exit::Input, DriverCode::Usage, message))
}

fn list() -> String {
    let title = |page: &'static str| page.lines().next().unwrap_or("").trim_start_matches("# ");
    PAGES.iter().map(|(_, page)| format!("{}\n", title(page))).collect()
}
