//! What the segments of a package without our footer are, and what they are called.

use std::sync::Arc;

use ipu_device::hash::{HashMap, HashSet};
use ipu_device::kernels::Kernel;
use ipu_device::package::{Package, Segment, SegmentFlags};
use ipu_device::{Address, Bytes};
use ipu_dialects::tile::TileProgram;

use super::images::Part;
use crate::build_package::SectionKind;

/// What names there are, where the footer has none.
pub(super) struct Names<'p> {
    /// Debug symbols by address.
    debug: HashMap<Address, Vec<&'p str>>,
    /// Names of bindings, which nothing else may have.
    bindings: HashSet<String>,
}

impl<'p> Names<'p> {
    pub(super) fn new(package: &'p Package, program: &TileProgram) -> Self {
        let mut debug: HashMap<Address, Vec<&str>> = HashMap::default();
        for symbol in &package.debug_symbols {
            debug.entry(symbol.address).or_default().push(&symbol.name);
        }
        Self { debug, bindings: program.bindings.iter().map(|binding| binding.name.clone()).collect() }
    }

    /// Kinds and names of segments without a footer: what a debug symbol says, else `code_5c000`.
    pub(super) fn parts(&self, segments: Vec<&'p Segment>) -> Vec<Part<'p>> {
        let mut taken: HashSet<Arc<str>> = HashSet::default();
        let mut parts = Vec::with_capacity(segments.len());
        for segment in segments {
            let (kind, name) = self.part(segment, &taken);
            taken.insert(Arc::clone(&name));
            parts.push(Part { segment, kind, name });
        }
        parts
    }

    fn part(&self, segment: &Segment, taken: &HashSet<Arc<str>>) -> (SectionKind, Arc<str>) {
        let free = |name: &str| !taken.contains(name) && !self.bindings.contains(name);
        let known = self.debug.get(&segment.address).into_iter().flatten().copied();
        let mut known = known.filter(|name| free(name) && segment.size.0 > 0);
        if !is_code(segment) {
            // A kernel's name stands for code.
            let name = known.find(|name| Kernel::parse(name).is_err());
            return (SectionKind::Data, name.map_or_else(|| self.plain("data", segment, taken), Arc::from));
        }
        match known.next() {
            Some(name) if Kernel::parse(name).is_ok() => (SectionKind::Kernel, name.into()),
            Some(name) => (SectionKind::Code, name.into()),
            None => (SectionKind::Code, self.plain("code", segment, taken)),
        }
    }

    /// `code_5c000`, with a number behind it if that is taken.
    pub(super) fn plain(&self, kind: &str, segment: &Segment, taken: &HashSet<Arc<str>>) -> Arc<str> {
        let plain = format!("{kind}_{:x}", segment.address.0);
        let more = (2_u32..).map(|number| format!("{plain}_{number}"));
        let mut names = std::iter::once(plain.clone()).chain(more);
        let free = |name: &String| !taken.contains(name.as_str()) && !self.bindings.contains(name);
        names.find(free).unwrap_or_default().into()
    }
}

/// Whether a segment can be instructions: executable, whole words on whole words, all stored.
pub(super) fn is_code(segment: &Segment) -> bool {
    let whole = segment.address.is_aligned(Bytes(4)) && segment.size.0.is_multiple_of(4);
    segment.flags == SegmentFlags::CODE && whole && segment.data.len() == segment.size.0 as usize
}
