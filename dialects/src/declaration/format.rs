//! Format strings, compiled once: the one description that parser and printer both follow.
//!
//! A bad format string is a bug of the declaration; it panics at first use and a test compiles all of them.

use super::{Arity, OpDeclaration};

/// An element of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Element {
    /// A word or punctuation.
    Literal(String),
    /// A forced space.
    Space,
    /// No space here.
    NoSpace,
    /// A place where a long line may break.
    Wrap,
    /// Operand number.
    Operand(usize),
    /// Attribute number.
    Attribute(usize),
    /// Region number.
    Region(usize),
    /// Successor number.
    Successor(usize),
    /// Type of operand number.
    OperandType(usize),
    /// Type of result number.
    ResultType(usize),
    /// `(operand types) -> result types`
    FunctionalType,
    /// The rest of the attributes, with the word `attributes` before them if set.
    AttributeDictionary(bool),
    /// A function signature.
    FunctionSignature,
    /// Hook number.
    Custom(usize),
    /// `(then)?` or `(then) : (otherwise)?`
    Group {
        /// Present if the anchor is.
        then: Vec<Element>,
        /// Present if not.
        otherwise: Vec<Element>,
        /// The element of `then` that decides when printing.
        anchor: usize,
    },
}

/// A compiled format.
#[derive(Debug)]
pub struct Format {
    /// Elements in order.
    pub elements: Vec<Element>,
    /// Attributes that are not printed by the dictionary.
    pub elided: Vec<&'static str>,
    /// Whether a function signature is written.
    pub has_signature: bool,
    /// By result: whether its type is written.
    pub result_types: Vec<bool>,
    /// Whether an attribute is written outside of the dictionary.
    pub has_attributes: bool,
}

/// Attributes of a function signature.
pub const SIGNATURE_ATTRIBUTES: [&str; 4] = ["sym_name", "function_type", "arg_attrs", "res_attrs"];
/// Sizes of the operand groups, where the syntax alone tells them.
pub const SEGMENT_SIZES: &str = "operandSegmentSizes";

impl Format {
    /// The compiled format of `declaration`.
    #[must_use]
    pub fn compile(declaration: &'static OpDeclaration) -> Self {
        let mut compiler = Compiler { declaration, rest: declaration.format, elided: vec![SEGMENT_SIZES] };
        let (elements, _) = compiler.sequence(false);
        let mut format = Self {
            elements: Vec::new(),
            elided: compiler.elided,
            has_signature: false,
            result_types: vec![false; declaration.results.len()],
            has_attributes: false,
        };
        let mut stack: Vec<&Element> = elements.iter().collect();
        while let Some(element) = stack.pop() {
            match element {
                Element::FunctionSignature => format.has_signature = true,
                Element::FunctionalType => format.result_types.fill(true),
                Element::ResultType(index) => format.result_types[*index] = true,
                Element::Attribute(_) => format.has_attributes = true,
                Element::Group { then, otherwise, .. } => stack.extend(then.iter().chain(otherwise)),
                _ => {}
            }
        }
        format.elements = elements;
        format
    }
}

struct Compiler {
    declaration: &'static OpDeclaration,
    rest: &'static str,
    elided: Vec<&'static str>,
}

impl Compiler {
    fn bug(&self, what: &str) -> ! {
        let OpDeclaration { name, format, .. } = self.declaration;
        unreachable!("internal bug: format of `{name}`: {what} at `{}` in `{format}`", self.rest)
    }

    fn eat(&mut self, text: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn word(&mut self) -> &'static str {
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    /// Elements up to the end or the `)` of a group, and the position of the anchor.
    fn sequence(&mut self, in_group: bool) -> (Vec<Element>, Option<usize>) {
        let (mut elements, mut anchor) = (Vec::new(), None);
        loop {
            self.rest = self.rest.trim_start();
            if self.rest.is_empty() && !in_group {
                return (elements, anchor);
            }
            if in_group && self.eat(")") {
                return (elements, anchor);
            }
            let top_level_colon = !in_group && self.rest.starts_with("`:`");
            if top_level_colon {
                elements.push(Element::Wrap);
            }
            let element = self.element();
            let ambiguous = matches!(element, Element::Region(_))
                && matches!(elements.last(), Some(Element::AttributeDictionary(false)));
            if ambiguous {
                self.bug("`attr-dict` before a region must be `attr-dict-with-keyword`");
            }
            elements.push(element);
            if self.eat("^") {
                anchor = Some(elements.len() - 1);
            }
        }
    }

    fn element(&mut self) -> Element {
        if self.eat("`") {
            let Some((text, rest)) = self.rest.split_once('`') else { self.bug("literal without end") };
            self.rest = rest;
            return match text {
                "" => Element::NoSpace,
                " " => Element::Space,
                _ => Element::Literal(text.to_owned()),
            };
        }
        if self.eat("$") {
            let name = self.word();
            return self.part(name);
        }
        if self.eat("(") {
            return self.group();
        }
        match self.word() {
            "type" => self.type_of(),
            "functional-type" => Element::FunctionalType,
            "attr-dict" => Element::AttributeDictionary(false),
            "attr-dict-with-keyword" => Element::AttributeDictionary(true),
            "wrap" => Element::Wrap,
            "function-signature" => {
                self.elided.extend(SIGNATURE_ATTRIBUTES);
                Element::FunctionSignature
            }
            "custom" => self.custom(),
            word => self.bug(&format!("unknown directive `{word}`")),
        }
    }

    fn part(&mut self, name: &str) -> Element {
        let declaration = self.declaration;
        if let Some(index) = declaration.operands.iter().position(|part| part.name == name) {
            return Element::Operand(index);
        }
        if let Some(index) = declaration.attributes.iter().position(|part| part.name == name) {
            self.elided.push(declaration.attributes[index].name);
            return Element::Attribute(index);
        }
        if let Some(index) = declaration.regions.iter().position(|part| part.name == name) {
            return Element::Region(index);
        }
        if let Some(index) = declaration.successors.iter().position(|part| *part == name) {
            return Element::Successor(index);
        }
        self.bug(&format!("no part `{name}`"))
    }

    fn type_of(&mut self) -> Element {
        if !self.eat("($") {
            self.bug("expected `($part)`");
        }
        let name = self.word();
        if !self.eat(")") {
            self.bug("expected `)`");
        }
        if let Some(index) = self.declaration.operands.iter().position(|part| part.name == name) {
            return Element::OperandType(index);
        }
        match self.declaration.results.iter().position(|part| part.name == name) {
            Some(index) => Element::ResultType(index),
            None => self.bug(&format!("no operand or result `{name}`")),
        }
    }

    fn custom(&mut self) -> Element {
        let Some((name, rest)) = self.rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) else {
            self.bug("expected `<Name>`")
        };
        self.rest = rest;
        match self.declaration.hooks.iter().position(|hook| hook.name == name) {
            Some(index) => {
                self.elided.extend(self.declaration.hooks[index].attributes);
                Element::Custom(index)
            }
            None => self.bug(&format!("no hook `{name}`")),
        }
    }

    fn group(&mut self) -> Element {
        let (then, anchor) = self.sequence(true);
        let mut otherwise = Vec::new();
        if self.eat(":") {
            if !self.eat("(") {
                self.bug("expected `(` after `:`");
            }
            otherwise = self.sequence(true).0;
        }
        if !self.eat("?") {
            self.bug("expected `?` after a group");
        }
        let Some(anchor) = anchor else { self.bug("a group needs an anchor `^`") };
        let starts = match then.first() {
            Some(Element::Literal(_) | Element::Attribute(_) | Element::Region(_)) => true,
            Some(Element::Operand(index)) => self.declaration.operands[*index].arity != Arity::One,
            _ => false,
        };
        if !starts {
            self.bug("a group starts with a literal, an optional operand, an attribute or a region");
        }
        Element::Group { then, otherwise, anchor }
    }
}
