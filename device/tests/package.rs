//! Packages survive a round trip, and nothing damaged or inconsistent gets through in either direction.

use crate::package_sample::{TILES, sample, segment};
use ipu_device::package::{HostExchange, Package, PackageCode, Segment};
use ipu_device::{Address, Bytes, PhysicalTile};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::SplitMix64;

/// A package small enough that a random byte often falls on structure.
fn small() -> Package {
    let mut package = sample();
    package.tiles.truncate(65);
    package
}

#[test]
fn a_round_trip_keeps_every_field_and_every_byte() {
    let package = sample();
    let bytes = package.to_bytes().unwrap();
    assert_eq!(bytes, package.clone().to_bytes().unwrap());
    let read = Package::from_bytes(&bytes).unwrap();
    assert_eq!(read, package);
    assert_eq!(read.to_bytes().unwrap(), bytes);
    read.validate_loadable().unwrap();
}

#[test]
fn equal_images_are_one_allocation_after_reading() {
    let read = Package::from_bytes(&sample().to_bytes().unwrap()).unwrap();
    let mut distinct: Vec<*const Segment> = read.tiles.iter().map(|image| image.segments.as_ptr()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 5);
}

#[test]
fn a_file_at_any_alignment_is_read() {
    let package = small();
    let bytes = package.to_bytes().unwrap();
    for shift in 0..8 {
        let mut shifted = vec![0; shift];
        shifted.extend_from_slice(&bytes);
        assert_eq!(Package::from_bytes(&shifted[shift..]).unwrap(), package);
    }
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let bytes = small().to_bytes().unwrap();
    let mut random = SplitMix64::seed_from_u64(1);
    let edges = [0, 1, 3, 4, 7, 8, bytes.len() - 1, bytes.len() - 32, bytes.len() - 33];
    let places = edges.into_iter().chain((0..200).map(|_| random.random_range(0..bytes.len())));
    for length in places {
        let error = Package::from_bytes(&bytes[..length]).unwrap_err();
        assert!(matches!(error.code, PackageCode::Framing | PackageCode::Footer), "cut at {length}: {error}");
    }
}

#[test]
fn a_file_with_any_byte_flipped_is_refused() {
    let bytes = small().to_bytes().unwrap();
    let mut random = SplitMix64::seed_from_u64(2);
    for _ in 0..200 {
        let mut damaged = bytes.clone();
        let at = random.random_range(0..bytes.len());
        damaged[at] ^= random.random_range(1..=255_u8);
        let error = Package::from_bytes(&damaged).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(": ") && error.fix.is_some(), "flip at {at}: {text}");
    }
}

#[test]
fn a_damaged_foreign_file_gives_an_error_or_a_valid_package() {
    let bytes = small().message_bytes().unwrap();
    let mut random = SplitMix64::seed_from_u64(3);
    let mut refused = 0;
    for round in 0..4000 {
        let mut damaged = bytes.clone();
        // The first words hold the header and the lists; damage there reaches every reader.
        let reach = if round % 2 == 0 { bytes.len() } else { 4096 };
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..reach);
            damaged[at] ^= 1 << random.random_range(0..8);
        }
        match Package::from_foreign_bytes(&damaged) {
            Ok(package) => package.validate().unwrap(),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 400, "only {refused} of 4000 refused");
}

#[test]
fn a_package_without_our_footer_is_refused_unless_foreign() {
    let package = sample();
    let message = package.message_bytes().unwrap();
    assert_eq!(Package::from_bytes(&message).unwrap_err().code, PackageCode::Footer);
    let foreign = Package::from_foreign_bytes(&message).unwrap();
    assert_eq!(foreign, Package { footer: None, ..package.clone() });
    assert_eq!(foreign.to_bytes().unwrap_err().code, PackageCode::Footer);

    let mut stray = message.clone();
    stray.extend_from_slice(&[0; 9]);
    assert_eq!(Package::from_bytes(&stray).unwrap_err().code, PackageCode::Footer);
    assert_eq!(Package::from_foreign_bytes(&stray).unwrap().footer, None);
    let ours = package.to_bytes().unwrap();
    assert_eq!(Package::from_foreign_bytes(&ours).unwrap(), package);
}

/// Ten words: root pointer, two data words, three pointers, the target, and one tile without segments.
fn minimal_message() -> Vec<u8> {
    let list =
        |size: u64, elements: u64, words_ahead: u64| (elements << 35) | (size << 32) | (words_ahead << 2) | 1;
    let words: [u64; 10] = [
        0x0003_0002_0000_0000, // root: struct, 2 data words, 3 pointers
        0x0004_c000_0000_0005, // schema version 5, tile memory base
        0x0000_0000_0009_c000, // tile memory size
        0,                     // compiler version: null
        list(2, 6, 1),         // target: 6 bytes
        list(7, 2, 1),         // tiles: 2 words of structs
        u64::from_le_bytes(*b"ipu21\0\0\0"),
        0x0000_0002_0000_0004, // tag: one struct of 2 data words
        0,
        0,
    ];
    let mut bytes = vec![0, 0, 0, 0, 10, 0, 0, 0];
    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    bytes
}

#[test]
fn the_smallest_message_is_accepted_as_foreign() {
    let bytes = minimal_message();
    assert_eq!(bytes.len(), 88);
    let package = Package::from_foreign_bytes(&bytes).unwrap();
    assert_eq!(package.tiles.len(), 1);
    assert_eq!(package.tiles[0].tile, PhysicalTile(0));
    assert_eq!(package.host_exchange, HostExchange::default());
    assert_eq!(package.validate_loadable().unwrap_err().code, PackageCode::NotLoadable);
}

#[test]
fn another_header_is_refused() {
    let reject = |at: usize, value: u8| {
        let mut bytes = minimal_message();
        bytes[at] = value;
        let error = Package::from_foreign_bytes(&bytes).unwrap_err();
        assert_eq!(error.code, PackageCode::Header, "{error}");
        error.at
    };
    assert_eq!(reject(16, 4), "schema version");
    assert_eq!(reject(16, 6), "schema version");
    assert_eq!(reject(21, 0xc1), "tile memory");
    assert_eq!(reject(25, 0xc1), "tile memory");
    assert_eq!(reject(56, b'I'), "target");
}

#[test]
fn lists_longer_than_their_file_are_refused_before_they_are_allocated() {
    let mut bytes = minimal_message();
    // A tag that claims 2^28 tiles of no size.
    bytes[64..72].copy_from_slice(&(1_u64 << 30).to_le_bytes());
    assert_eq!(Package::from_foreign_bytes(&bytes).unwrap_err().code, PackageCode::Limit);
    // The same as an announced segment size.
    let mut bytes = minimal_message();
    bytes[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(Package::from_foreign_bytes(&bytes).unwrap_err().code, PackageCode::Framing);
    let packed = [0xff; 16];
    assert_eq!(Package::from_foreign_bytes(&packed).unwrap_err().code, PackageCode::Framing);
}

type Spoil = fn(&mut Package);

fn segments(package: &mut Package, segments: Vec<Segment>) {
    package.tiles[1].segments = segments.into();
}

/// What spoils a package, and the kind of error it must give.
const SPOILED: &[(&str, PackageCode, Spoil)] = &[
    ("no tiles", PackageCode::NoTiles, |p| p.tiles.clear()),
    ("odd register offset", PackageCode::ConfigWrite, |p| p.config_writes[0].offset = 2),
    ("register twice", PackageCode::ConfigWrite, |p| p.config_writes.push(p.config_writes[0])),
    ("tile twice", PackageCode::Tile, |p| p.tiles[1].tile = PhysicalTile(0)),
    ("tile outside the device", PackageCode::Tile, |p| p.tiles[1].tile = PhysicalTile(TILES)),
    ("segment overflows", PackageCode::Segment, |p| segments(p, vec![segment(u32::MAX, 8, &[])])),
    ("segment below memory", PackageCode::Segment, |p| segments(p, vec![segment(0x4bffc, 8, &[])])),
    ("segment past memory", PackageCode::Segment, |p| segments(p, vec![segment(0xe7ffc, 8, &[])])),
    ("more data than memory", PackageCode::Segment, |p| segments(p, vec![segment(0x4c010, 1, &[1, 2])])),
    ("segments overlap", PackageCode::SegmentOverlap, |p| {
        segments(p, vec![segment(0x4c020, 8, &[]), segment(0x4c010, 17, &[])]);
    }),
    ("segment inside another", PackageCode::SegmentOverlap, |p| {
        segments(p, vec![segment(0x4c010, 64, &[]), segment(0x4c020, 4, &[])]);
    }),
    ("profile of a missing tile", PackageCode::Profile, |p| p.profile_tiles[0].tile = PhysicalTile(70)),
    ("profile twice", PackageCode::Profile, |p| p.profile_tiles.push(p.profile_tiles[0].clone())),
    ("steps misnumbered", PackageCode::Profile, |p| p.profile_tiles[0].steps[0].local_index = 1),
    ("symbol without name", PackageCode::Debug, |p| p.debug_symbols[0].name.clear()),
    ("region without name", PackageCode::Debug, |p| p.debug_regions[0].name.clear()),
    ("region without size", PackageCode::Debug, |p| p.debug_regions[0].size = Bytes(0)),
    ("region overflows", PackageCode::Debug, |p| p.debug_regions[0].size = Bytes(u32::MAX)),
    ("region of a missing tile", PackageCode::Debug, |p| p.debug_regions[1].tile = Some(PhysicalTile(70))),
    ("binding without name", PackageCode::Binding, |p| p.inputs[0].name.clear()),
    ("name taken in another list", PackageCode::Binding, |p| p.weights[0].name = "a".to_owned()),
    ("slice of a missing tile", PackageCode::Binding, |p| p.inputs[0].slices[0].tile = PhysicalTile(70)),
    ("slice below memory", PackageCode::Binding, |p| p.inputs[0].slices[0].address = Address(0)),
    ("slice past memory", PackageCode::Binding, |p| p.inputs[0].slices[0].address = Address(0xe7f04)),
    ("slice larger than u32", PackageCode::Binding, |p| p.inputs[0].slices[0].size = 1 << 32),
    ("file offset overflows", PackageCode::Binding, |p| p.inputs[0].slices[0].file_offset = u64::MAX),
    ("page twice", PackageCode::HostPage, |p| p.host_exchange.pages[1].index = 0),
    ("missing page attached", PackageCode::HostPage, |p| p.host_exchange.attach_order.push(2)),
    ("missing command page", PackageCode::HostPage, |p| p.host_exchange.command_page = 2),
    ("command past its page", PackageCode::HostPage, |p| p.host_exchange.command_offset = 4093),
    ("command offset overflows", PackageCode::HostPage, |p| p.host_exchange.command_offset = u64::MAX - 1),
    ("no invocations", PackageCode::HostCall, |p| p.host_exchange.calls[1].invocations = 0),
    ("batches fall", PackageCode::HostCall, |p| p.host_exchange.calls[1].input_batch_ends = vec![2, 1, 2]),
    ("empty batch", PackageCode::HostCall, |p| p.host_exchange.calls[1].input_batch_ends = vec![0, 2]),
    ("last slice in no batch", PackageCode::HostCall, |p| {
        p.host_exchange.calls[1].output_batch_ends = vec![1];
    }),
    ("slices without batch", PackageCode::HostCall, |p| p.host_exchange.calls[1].output_batch_ends.clear()),
    ("batch without slices", PackageCode::HostCall, |p| p.host_exchange.calls[0].output_batch_ends = vec![1]),
    ("slice of a missing page", PackageCode::HostCall, |p| p.host_exchange.calls[0].inputs[0].page = 7),
    ("slice past its page", PackageCode::HostCall, |p| p.host_exchange.calls[0].inputs[0].page_offset = 8000),
    ("page offset overflows", PackageCode::HostCall, |p| {
        p.host_exchange.calls[0].inputs[0].page_offset = u64::MAX;
    }),
];

#[test]
fn each_rule_refuses_what_breaks_it() {
    for (what, code, spoil) in SPOILED {
        let mut package = small();
        spoil(&mut package);
        let error = package.to_bytes().expect_err(what);
        assert_eq!(error.code, *code, "{what}: {error}");
    }
}

#[test]
fn what_the_rules_allow_is_accepted() {
    let allowed: &[Spoil] = &[
        |p| segments(p, vec![segment(0x4c010, 16, &[]), segment(0x4c020, 16, &[])]),
        |p| segments(p, vec![segment(0x4c010, 16, &[]), segment(0x4c014, 0, &[])]),
        |p| segments(p, vec![segment(0x4c011, 3, &[])]),
        |p| p.inputs[0].dtype = "nonsense".to_owned(),
        |p| p.inputs[0].slices.clear(),
        |p| p.inputs[0].slices[1].file_offset = 0,
        |p| p.host_exchange.attach_order = vec![0, 1, 1],
        |p| p.host_exchange.calls[0].name = "run".to_owned(),
        |p| p.host_exchange.calls[0].phases = 99,
        |p| p.tiles.reverse(),
    ];
    for (index, change) in allowed.iter().enumerate() {
        let mut package = small();
        change(&mut package);
        let bytes = package.to_bytes().unwrap_or_else(|error| panic!("case {index}: {error}"));
        assert_eq!(Package::from_bytes(&bytes).unwrap(), package, "case {index}");
    }
}

#[test]
fn the_loader_wants_every_tile_in_order_within_reach() {
    let cases: &[Spoil] = &[
        |p| p.tiles.truncate(1408),
        |p| p.tiles.swap(0, 1),
        |p| segments(p, vec![]),
        |p| segments(p, vec![segment(0x4c014, 4, &[])]),
        |p| segments(p, vec![segment(0x4c010, 0xe7bb0 - 0x4c010 + 1, &[])]),
    ];
    for (index, spoil) in cases.iter().enumerate() {
        let mut package = sample();
        spoil(&mut package);
        let error = package.validate_loadable().expect_err("refused");
        assert_eq!(error.code, PackageCode::NotLoadable, "case {index}: {error}");
    }
    let mut package = sample();
    segments(&mut package, vec![segment(0x4c010, 0xe7bb0 - 0x4c010, &[])]);
    package.validate_loadable().unwrap();
}
