//! Distinct images, sections that all images share, kernels.

use std::sync::Arc;

use indexmap::IndexMap;
use ipu_device::hash::{HashMap, HashSet};
use ipu_device::package::{Package, Segment, SegmentFlags};
use ipu_device::topology::TILE_COUNT;
use ipu_device::{Address, Bytes, LogicalTile, PhysicalTile};
use ipu_dialects::tile::{Body, Data, Image, KernelCode, KernelImage, Section, TileProgram};

use super::decode::Decoder;
use super::names::{Names, is_code};
use crate::build_package::{Record, SectionKind};

/// A segment, what it is, and what it is called.
pub(super) struct Part<'p> {
    pub(super) segment: &'p Segment,
    pub(super) kind: SectionKind,
    pub(super) name: Arc<str>,
}

/// Tiles with equal segments.
struct Group<'p> {
    /// In ascending order.
    tiles: Vec<PhysicalTile>,
    /// In order of address.
    parts: Vec<Part<'p>>,
}

/// Puts kernels, common sections and images of `package` into `program`, which has the bindings already.
pub(super) fn lift(package: &Package, record: &Record, program: &mut TileProgram) {
    let names = Names::new(package, program);
    let mut groups = groups(package, record, &names);
    program.kernels = kernels(package, record, &mut groups, &names);
    let common = common(record, &groups);
    let mut decoder = Decoder::default();
    let shared = shared_symbols(&program.kernels, &groups, &common);
    let everywhere = everywhere(&groups, &common);
    if let Some(first) = groups.first() {
        let symbols = |address: Address| shared.get(&address).or_else(|| everywhere.get(&address)).cloned();
        let parts = |name: &Arc<str>| first.parts.iter().find(|part| part.name == *name);
        let sections = common.iter().filter_map(parts).map(|part| section(part, &mut decoder, symbols));
        program.common = sections.collect();
    }
    let is_common: HashSet<&str> = common.iter().map(|name| &**name).collect();
    for group in &groups {
        let own = group
            .parts
            .iter()
            .filter(|part| part.kind != SectionKind::Kernel && !is_common.contains(&*part.name));
        let mut symbols = shared.clone();
        symbols.extend(group.parts.iter().filter_map(named));
        let lookup = |address: Address| symbols.get(&address).cloned();
        let sections = own.map(|part| section(part, &mut decoder, lookup)).collect();
        let mut tiles: Vec<LogicalTile> = group.tiles.iter().map(|tile| tile.logical()).collect();
        tiles.sort_unstable();
        program.images.push(Image { source: None, tiles, sections, steps: None });
    }
    program.images.sort_by_key(|image| image.tiles.first().copied());
}

// Images.

/// What makes segments equal.
type Contents<'p> = Vec<(Address, Bytes, SegmentFlags, &'p [u8])>;

/// Tiles by their segments, in order of their least tile.
fn groups<'p>(package: &'p Package, record: &Record, names: &Names<'p>) -> Vec<Group<'p>> {
    let mut by_allocation: HashMap<usize, usize> = HashMap::default();
    let mut by_contents: IndexMap<Contents<'p>, (Vec<PhysicalTile>, Vec<&'p Segment>)> = IndexMap::new();
    for image in &package.tiles {
        let allocation = Arc::as_ptr(&image.segments).addr();
        let place = by_allocation.entry(allocation).or_insert_with(|| {
            let mut segments: Vec<&Segment> = image.segments.iter().collect();
            segments.sort_by_key(|segment| segment.address);
            let contents = segments.iter().map(|s| (s.address, s.size, s.flags, &*s.data)).collect();
            let entry = by_contents.entry(contents);
            let place = entry.index();
            entry.or_insert((Vec::new(), segments));
            place
        });
        if let Some((_, (tiles, _))) = by_contents.get_index_mut(*place) {
            tiles.push(image.tile);
        }
    }
    let group = |(tiles, segments): (Vec<PhysicalTile>, Vec<&'p Segment>)| {
        let parts = recorded(record, &tiles, &segments).unwrap_or_else(|| names.parts(segments));
        Group { tiles, parts }
    };
    by_contents.into_values().map(group).collect()
}

/// The parts as the footer has them, if it has them all and has names for them.
fn recorded<'p>(record: &Record, tiles: &[PhysicalTile], segments: &[&'p Segment]) -> Option<Vec<Part<'p>>> {
    let known = record.segments(*tiles.first()?).filter(|known| known.len() == segments.len())?;
    if known.iter().any(|known| known.name.is_empty()) {
        return None;
    }
    let part = |(&segment, known): (&&'p Segment, &crate::build_package::SegmentRecord)| {
        let kind = if is_code(segment) { known.kind } else { SectionKind::Data };
        Part { segment, kind, name: known.name.as_str().into() }
    };
    Some(segments.iter().zip(known).map(part).collect())
}

/// Names of the sections that all images have: those that the footer says, without one all that are equal everywhere.
fn common(record: &Record, groups: &[Group<'_>]) -> Vec<Arc<str>> {
    let Some((first, others)) = groups.split_first() else { return Vec::new() };
    let candidates: Vec<&Part<'_>> = if record.images.is_empty() {
        if others.is_empty() { Vec::new() } else { first.parts.iter().collect() }
    } else {
        let part = |name: &String| first.parts.iter().find(|part| *part.name == **name);
        record.common.iter().filter_map(part).collect()
    };
    let by_name = |group: &'_ Group<'_>| -> HashMap<Arc<str>, usize> {
        (0..).zip(&group.parts).map(|(at, part)| (Arc::clone(&part.name), at)).collect()
    };
    let indexed: Vec<_> = others.iter().map(|group| (group, by_name(group))).collect();
    let everywhere = |part: &&Part<'_>| {
        part.kind != SectionKind::Kernel
            && indexed.iter().all(|(group, names)| {
                let same = names.get(&part.name).and_then(|&at| group.parts.get(at));
                same.is_some_and(|same| same.kind == part.kind && same.segment == part.segment)
            })
    };
    candidates.into_iter().filter(everywhere).map(|part| Arc::clone(&part.name)).collect()
}

// Kernels.

/// The kernels, in order of debug symbols. A kernel that lies elsewhere or has other words on some tiles is code there.
fn kernels(
    package: &Package,
    record: &Record,
    groups: &mut [Group<'_>],
    names: &Names<'_>,
) -> Vec<KernelImage> {
    let mut kernels: IndexMap<Arc<str>, (KernelImage, &[u8])> = IndexMap::new();
    for group in groups {
        for at in 0..group.parts.len() {
            let Some(part) = group.parts.get(at).filter(|part| part.kind == SectionKind::Kernel) else {
                continue;
            };
            let (segment, symbol) = (part.segment, Arc::clone(&part.name));
            let fresh = || (kernel(package, record, &symbol, segment), &*segment.data);
            let (kernel, words) = kernels.entry(Arc::clone(&symbol)).or_insert_with(fresh);
            if kernel.address == segment.address && **words == *segment.data {
                let tiles = kernel.tiles.get_or_insert_default();
                tiles.extend(group.tiles.iter().map(|tile| tile.logical()));
                continue;
            }
            let taken = group.parts.iter().map(|part| Arc::clone(&part.name)).collect();
            let name = names.plain("code", segment, &taken);
            if let Some(part) = group.parts.get_mut(at) {
                (part.kind, part.name) = (SectionKind::Code, name);
            }
        }
    }
    let place = |name: &str| package.debug_symbols.iter().position(|symbol| symbol.name == name);
    let mut kernels: Vec<KernelImage> = kernels.into_values().map(|(kernel, _)| kernel).collect();
    kernels.sort_by_cached_key(|kernel| (place(&kernel.symbol).unwrap_or(usize::MAX), kernel.address));
    for kernel in &mut kernels {
        kernel.tiles.iter_mut().for_each(|tiles| tiles.sort_unstable());
        kernel.tiles.take_if(|tiles| tiles.len() == usize::from(TILE_COUNT));
    }
    kernels
}

/// The kernel in `segment`, without its tiles.
fn kernel(package: &Package, record: &Record, symbol: &Arc<str>, segment: &Segment) -> KernelImage {
    let reference = KernelImage {
        source: None,
        symbol: Arc::clone(symbol),
        address: segment.address,
        tiles: None,
        code: KernelCode::Reference(segment.size),
    };
    let words = words(&segment.data);
    let footer = package.footer.as_ref().filter(|_| !record.images.is_empty());
    let said = footer.is_none_or(|footer| footer.reference_kernels.iter().any(|known| **known == **symbol));
    if said && reference.words() == words {
        return reference;
    }
    KernelImage { code: KernelCode::Words(words), ..reference }
}

// Sections.

/// Address and name of a part. What takes no room has no address of its own.
fn named(part: &Part<'_>) -> Option<(Address, Arc<str>)> {
    (part.segment.size.0 > 0).then(|| (part.segment.address, Arc::clone(&part.name)))
}

/// Symbols of the program by address: kernels and common sections.
fn shared_symbols(
    kernels: &[KernelImage],
    groups: &[Group<'_>],
    common: &[Arc<str>],
) -> HashMap<Address, Arc<str>> {
    let mut symbols: HashMap<Address, Arc<str>> = HashMap::default();
    symbols.extend(kernels.iter().map(|kernel| (kernel.address, Arc::clone(&kernel.symbol))));
    let parts = groups.first().into_iter().flat_map(|group| &group.parts);
    symbols.extend(parts.filter(|part| common.contains(&part.name)).filter_map(named));
    symbols
}

/// Symbols of sections that differ but have one name at one address in all images.
fn everywhere(groups: &[Group<'_>], common: &[Arc<str>]) -> HashMap<Address, Arc<str>> {
    let mut symbols: HashMap<Address, Arc<str>> = HashMap::default();
    let Some((first, others)) = groups.split_first() else { return symbols };
    let own = |part: &&Part<'_>| part.kind != SectionKind::Kernel && !common.contains(&part.name);
    symbols.extend(first.parts.iter().filter(own).filter_map(named));
    for group in others {
        let here: HashMap<Address, &Arc<str>> =
            group.parts.iter().filter(own).map(|part| (part.segment.address, &part.name)).collect();
        symbols.retain(|address, name| here.get(address) == Some(&&*name));
    }
    symbols
}

fn section(part: &Part<'_>, decoder: &mut Decoder, symbols: impl Fn(Address) -> Option<Arc<str>>) -> Section {
    let segment = part.segment;
    let words = words(&segment.data);
    let mut lines = |words: &[u32]| decoder.lines(segment.address, words, &symbols);
    let body = match part.kind {
        SectionKind::Row => Body::Row(lines(&words)),
        SectionKind::Code => Body::Code(lines(&words)),
        SectionKind::Data | SectionKind::Kernel => Body::Data(Data {
            flags: segment.flags,
            words,
            stored: Bytes(u32::try_from(segment.data.len()).unwrap_or(u32::MAX)),
            size: segment.size,
        }),
    };
    Section { source: None, symbol: Arc::clone(&part.name), address: segment.address, body }
}

/// Little-endian words; the last one filled with zeros.
fn words(data: &[u8]) -> Vec<u32> {
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
    data.chunks(4).map(word).collect()
}
