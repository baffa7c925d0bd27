//! The directives of LLVM's FileCheck that files in `lit/` use, with its meaning: `CHECK`, `-NEXT`, `-SAME`, `-EMPTY`, `-NOT`,
//! `-DAG`, `-COUNT-N`, `-LABEL`, `{{re}}`, `[[VAR:re]]` and `[[VAR]]`. Runs of spaces are one space, as there. Whatever else
//! FileCheck knows (`[[#..]]`, other suffixes) is refused, never ignored. One thing is stricter: IR is printed with its comments, and a
//! directive is not met by a comment that is one.

use std::collections::BTreeMap;

use regex::Regex;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Next,
    Same,
    Empty,
    Not,
    Dag,
    Label,
}

#[derive(Debug, Clone)]
struct Directive {
    kind: Kind,
    line: usize,
    pattern: String,
}

type Variables = BTreeMap<String, String>;

/// Holds `input` to the directives with `prefix` in `checks`; the error names the line of the directive.
pub(crate) fn check(checks: &str, prefix: &str, input: &str) -> Result<(), String> {
    let directives = directives(checks, prefix)?;
    if directives.is_empty() {
        return Err(format!("no `{prefix}:` directive"));
    }
    let input = without_directives(&one_space(input))?;
    let mut variables = Variables::new();
    let mut sections: Vec<Vec<Directive>> = vec![Vec::new()];
    let mut starts = vec![0];
    let mut at = 0;
    // Labels cut the input into blocks first; the checks after a label must be met in its block.
    for directive in directives {
        if directive.kind == Kind::Label {
            let (start, end) = find(&directive, &input, at, &mut Variables::new())?;
            starts.push(start);
            at = end;
            sections.push(Vec::new());
        }
        sections.last_mut().expect("there is a section").push(directive);
    }
    starts.push(input.len());
    for (section, bounds) in sections.iter().zip(starts.windows(2)) {
        check_block(section, &input[bounds[0]..bounds[1]], &mut variables)?;
    }
    Ok(())
}

/// One space for every run of spaces and tabs.
fn one_space(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter(|&c| c != '\r') {
        let c = if c == '\t' { ' ' } else { c };
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}

/// The text without lines that are directives, of whatever prefix, or RUN lines.
fn without_directives(text: &str) -> Result<String, String> {
    let form = Regex::new(r"^ ?// ?[A-Z][A-Z0-9]*(-[A-Z0-9-]+)?:").map_err(|error| error.to_string())?;
    Ok(text.split_inclusive('\n').filter(|line| !form.is_match(line)).collect())
}

fn directives(checks: &str, prefix: &str) -> Result<Vec<Directive>, String> {
    let form = format!(r"(?:^|[^\w.-]){}(-[A-Z0-9-]+)?:(.*)$", regex::escape(prefix));
    let form = Regex::new(&form).map_err(|error| error.to_string())?;
    let mut directives = Vec::new();
    for (line, text) in (1..).zip(checks.lines()) {
        let before = text.find("RUN:").or(text.find("COM:")).unwrap_or(text.len());
        let Some(found) = form.captures(&text[..before]) else { continue };
        let pattern = one_space(found[2].trim());
        let suffix = found.get(1).map_or("", |suffix| suffix.as_str());
        let (kind, count) = match suffix {
            "" => (Kind::Plain, 1),
            "-NEXT" => (Kind::Next, 1),
            "-SAME" => (Kind::Same, 1),
            "-EMPTY" => (Kind::Empty, 1),
            "-NOT" => (Kind::Not, 1),
            "-DAG" => (Kind::Dag, 1),
            "-LABEL" => (Kind::Label, 1),
            _ => match suffix.strip_prefix("-COUNT-").and_then(|count| count.parse::<usize>().ok()) {
                Some(count) => (Kind::Plain, count),
                None => return Err(format!("line {line}: no directive `{prefix}{suffix}`")),
            },
        };
        if pattern.is_empty() != (kind == Kind::Empty) {
            return Err(format!("line {line}: `{prefix}{suffix}` has the wrong text"));
        }
        if directives.is_empty() && matches!(kind, Kind::Next | Kind::Same | Kind::Empty) {
            return Err(format!("line {line}: `{prefix}{suffix}` is the first directive"));
        }
        directives.extend(vec![Directive { kind, line, pattern }; count]);
    }
    Ok(directives)
}

fn check_block(block: &[Directive], input: &str, variables: &mut Variables) -> Result<(), String> {
    let mut at = 0;
    let mut nots: Vec<&Directive> = Vec::new();
    let mut dags: Vec<(usize, usize)> = Vec::new();
    for (index, directive) in block.iter().enumerate() {
        if directive.kind == Kind::Not {
            at = dags.drain(..).fold(at, |at, (_, end)| at.max(end));
            nots.push(directive);
            continue;
        }
        if directive.kind == Kind::Dag {
            let mut from = at;
            let place = loop {
                let place = find(directive, input, from, variables)?;
                match dags.iter().find(|other| other.0 < place.1 && place.0 < other.1) {
                    Some(other) => from = other.1,
                    None => break place,
                }
            };
            dags.push(place);
            let last = block.get(index + 1).is_none_or(|next| next.kind != Kind::Dag);
            if last {
                let first = dags.iter().map(|place| place.0).min().unwrap_or(at);
                none(&mut nots, &input[at..first.max(at)], variables)?;
            }
            continue;
        }
        at = dags.drain(..).fold(at, |at, (_, end)| at.max(end));
        let (start, end) = find(directive, input, at, variables)?;
        let breaks = input[at..start].matches('\n').count();
        let wanted = match directive.kind {
            Kind::Next | Kind::Empty => Some(1),
            Kind::Same => Some(0),
            _ => None,
        };
        if wanted.is_some_and(|wanted| wanted != breaks) {
            return Err(format!("line {}: found {breaks} lines after the match before it", directive.line));
        }
        none(&mut nots, &input[at..start], variables)?;
        at = end;
    }
    at = dags.drain(..).fold(at, |at, (_, end)| at.max(end));
    none(&mut nots, &input[at..], variables)
}

/// None of `nots` is in `between`.
fn none(nots: &mut Vec<&Directive>, between: &str, variables: &Variables) -> Result<(), String> {
    for directive in nots.drain(..) {
        if find(directive, between, 0, &mut variables.clone()).is_ok() {
            return Err(format!(
                "line {}: found what must not be there: {}",
                directive.line, directive.pattern
            ));
        }
    }
    Ok(())
}

/// The first match from `at` on; captures become variables.
fn find(
    directive: &Directive,
    input: &str,
    at: usize,
    variables: &mut Variables,
) -> Result<(usize, usize), String> {
    let Directive { kind, line, pattern } = directive;
    if *kind == Kind::Empty {
        let rest = &input[at..];
        let found = rest.find("\n\n").or(rest.ends_with('\n').then(|| rest.len() - 1));
        let start = at + found.ok_or_else(|| format!("line {line}: there is no empty line"))? + 1;
        return Ok((start, start));
    }
    let (form, names) = expression(pattern, variables).map_err(|error| format!("line {line}: {error}"))?;
    let form = Regex::new(&form).map_err(|error| format!("line {line}: {error}"))?;
    let Some(found) = form.captures_at(input, at) else {
        let near: String = input[at..].lines().take(6).map(|line| format!("\n    {line}")).collect();
        return Err(format!("line {line}: not found: {pattern}\n  from here on:{near}"));
    };
    for (index, name) in names.iter().enumerate() {
        if let Some(value) = found.name(&format!("v{index}")) {
            variables.insert(name.clone(), value.as_str().to_owned());
        }
    }
    let whole = found.get(0).map_or(at..at, |whole| whole.range());
    Ok((whole.start, whole.end))
}

/// A pattern as a regular expression, and the variables that its groups `v0`, `v1`, ... define.
fn expression(pattern: &str, variables: &Variables) -> Result<(String, Vec<String>), String> {
    let (mut form, mut names) = ("(?m)".to_owned(), Vec::new());
    let mut rest = pattern;
    loop {
        let opening = rest.find("{{").into_iter().chain(rest.find("[[")).min();
        let Some(open) = opening else { break };
        form.push_str(&regex::escape(&rest[..open]));
        let (closing, inside) = (if rest[open..].starts_with("{{") { "}}" } else { "]]" }, &rest[open + 2..]);
        let end = inside.find(closing).ok_or_else(|| format!("`{closing}` is missing in {pattern}"))?;
        // `[[VAR:[a-z]]]` ends at the last two.
        let class = closing == "]]" && inside[end..].starts_with("]]]");
        let end = end + usize::from(class);
        let text = &inside[..end];
        rest = &inside[end + 2..];
        if closing == "}}" {
            form.push_str(&format!("(?:{})", posix(text)));
        } else if let Some((name, expression)) = text.split_once(':') {
            form.push_str(&format!("(?P<v{}>{})", names.len(), posix(expression)));
            names.push(name.to_owned());
        } else {
            let value = variables.get(text).ok_or_else(|| format!("variable `{text}` is not defined"))?;
            form.push_str(&regex::escape(value));
        }
    }
    form.push_str(&regex::escape(rest));
    Ok((form, names))
}

/// Negated classes end at a line break, as in FileCheck.
fn posix(expression: &str) -> String {
    expression.replace("[^", "[^\\n")
}
