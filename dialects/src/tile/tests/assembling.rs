//! Sections from the device's assembler.

use ipu_device::Address;
use ipu_device::host_exchange::{TileHostPlan, plan_host_exchange};
use ipu_device::isa::{Instruction, Register};
use ipu_device::package::{Binding, RegionSlice, SegmentFlags};
use ipu_device::supervisor::{Assembler, WorkerSeeds, host_programs, host_tables, runtime};
use ipu_device::units::PhysicalTile;

use crate::tile::{Assembled, Line, Section};

fn bytes(sections: &[Section]) -> Vec<u8> {
    sections.iter().flat_map(|section| section.stored_bytes().expect("fields fit")).collect()
}

fn linked_bytes(program: &Assembler, start: Address, lookup: impl Fn(&str) -> Option<Address>) -> Vec<u8> {
    program.link(start, lookup).expect("links").words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn the_runtime_is_a_section_for_each_symbol() {
    let start = Address(0x5c000);
    let lookup = |name: &str| (name == "program").then_some(Address(0x60000));
    for seeds in [WorkerSeeds::Reset, WorkerSeeds::PerTile] {
        let program = runtime(seeds);
        let sections = Section::assembled(&program, Assembled::Code, start, "start", lookup).expect("links");
        assert_eq!(bytes(&sections), linked_bytes(&program, start, lookup));
        let linked = program.link(start, lookup).expect("links");
        let found: Vec<_> =
            sections.iter().map(|section| (section.symbol.to_string(), section.address)).collect();
        assert_eq!(found, linked.symbols.into_iter().collect::<Vec<_>>());
        let named: Vec<&str> =
            sections.iter().flat_map(Section::lines).filter_map(|line| line.symbol.as_deref()).collect();
        assert!(named.contains(&"program"), "{named:?}");
    }
}

#[test]
fn host_programs_and_tables_link_as_the_assembler_links_them() {
    let slice = RegionSlice { tile: PhysicalTile(66), address: Address(0x60000), file_offset: 0, size: 8200 };
    let input = Binding { name: "x".to_owned(), slices: vec![slice], ..Binding::default() };
    let plan = plan_host_exchange(&[], &[input], &[]).expect("legal");
    let tile = TileHostPlan::new(&plan, PhysicalTile(66)).expect("fits");
    let programs = host_programs(&tile);
    let sections =
        Section::assembled(&programs, Assembled::Code, Address(0x5d000), "code", |_| None).expect("links");
    assert_eq!(bytes(&sections), linked_bytes(&programs, Address(0x5d000), |_| None));
    let tables = host_tables(&tile);
    let kind = Assembled::Data(SegmentFlags::TABLE);
    let sections = Section::assembled(&tables, kind, Address(0x5e000), "data", |_| None).expect("links");
    assert_eq!(bytes(&sections), linked_bytes(&tables, Address(0x5e000), |_| None));
    assert!(sections.iter().all(|section| section.flags() == SegmentFlags::TABLE));
}

#[test]
fn what_stands_before_a_label_has_the_name_given_and_local_labels_are_numbers() {
    let mut program = Assembler::new();
    let again = program.local();
    program.label(again.clone());
    program.push(Instruction::Br { target: Register::M10 });
    program.reference(Instruction::Brnz { source: Register::M0, target: Address(0) }, again);
    program.align();
    program.label("next");
    program.call(Register::M10, "next");
    let sections =
        Section::assembled(&program, Assembled::Code, Address(0x60000), "first", |_| None).expect("links");
    let names: Vec<_> =
        sections.iter().map(|section| (&*section.symbol, section.address, section.lines().len())).collect();
    assert_eq!(names, [("first", Address(0x60000), 2), ("next", Address(0x60008), 1)]);
    let branch = Instruction::Brnz { source: Register::M0, target: Address(0x60000) };
    assert_eq!(sections[0].lines()[1], Line::new(branch));
    assert_eq!(sections[1].lines()[0].symbol.as_deref(), Some("next"));
}
