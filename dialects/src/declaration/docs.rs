//! Reference pages and hover texts from declarations.

use std::fmt::Write as _;

use super::{Arity, Dialect, OpDeclaration, PartDeclaration, ValueDeclaration};

/// One line about an op: its syntax and summary.
#[must_use]
pub fn hover(op: &OpDeclaration) -> String {
    format!("`{}` {}: {}", op.name, op.format.replace('`', ""), op.summary)
}

/// The reference page of a dialect, in Markdown.
#[must_use]
pub fn dialect_markdown(dialect: &Dialect) -> String {
    let mut out = format!("# Dialect `{}`\n\n{}\n", dialect.name, sentence(dialect.summary));
    paragraph(&mut out, dialect.description);
    section(&mut out, "Types", "!", dialect.types);
    section(&mut out, "Attributes", "#", dialect.attributes);
    if !dialect.ops.is_empty() {
        out.push_str("\n## Ops\n");
    }
    for op in dialect.ops {
        op_markdown(&mut out, op);
    }
    out
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
}

fn paragraph(out: &mut String, text: &str) {
    let text = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n");
    if !text.trim().is_empty() {
        let _ = write!(out, "\n{}\n", text.trim());
    }
}

fn section<T>(out: &mut String, title: &str, sigil: &str, values: &[ValueDeclaration<T>]) {
    if values.is_empty() {
        return;
    }
    let _ = write!(out, "\n## {title}\n");
    for value in values {
        let _ = write!(out, "\n### `{sigil}{}`\n\n{}\n", value.name, sentence(value.summary));
        paragraph(out, value.description);
        if !value.syntax.is_empty() {
            let _ = write!(out, "\n```text\n{sigil}{}{}\n```\n", value.name, value.syntax.replace('`', ""));
        }
    }
}

fn op_markdown(out: &mut String, op: &OpDeclaration) {
    let _ = write!(out, "\n### `{}`\n\n{}\n", op.name, sentence(op.summary));
    paragraph(out, op.description);
    if !op.format.is_empty() {
        let format = op.format.split_whitespace().collect::<Vec<_>>().join(" ").replace('`', "");
        let _ = write!(out, "\n```text\n{} {format}\n```\n", op.name);
    }
    parts(out, "operand", op.operands);
    parts(out, "result", op.results);
    if !op.attributes.is_empty() {
        out.push_str("\n| attribute | is | needed |\n|---|---|---|\n");
        for attribute in op.attributes {
            let needed = if attribute.required { "yes" } else { "no" };
            let _ =
                writeln!(out, "| `{}` | {} | {needed} |", attribute.name, attribute.constraint.description);
        }
    }
    if !op.regions.is_empty() {
        out.push_str("\n| region | blocks |\n|---|---|\n");
        for region in op.regions {
            let _ = writeln!(out, "| `{}` | {} |", region.name, if region.one_block { "one" } else { "any" });
        }
    }
    if !op.traits.is_empty() {
        let names: Vec<String> = op.traits.iter().map(|known| format!("{known:?}")).collect();
        let _ = write!(out, "\nTraits: {}\n", names.join(", "));
    }
}

fn parts(out: &mut String, what: &str, parts: &[PartDeclaration]) {
    if parts.is_empty() {
        return;
    }
    let _ = write!(out, "\n| {what} | is | number |\n|---|---|---|\n");
    for part in parts {
        let number = match part.arity {
            Arity::One => "one",
            Arity::Optional => "none or one",
            Arity::Variadic => "any",
        };
        let _ = writeln!(out, "| `{}` | {} | {number} |", part.name, part.constraint.description);
    }
}
