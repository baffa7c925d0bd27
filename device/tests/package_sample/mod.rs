//! A package with something in every field.

use std::collections::BTreeMap;
use std::sync::Arc;

use ipu_device::package::{
    Binding, ConfigWrite, DebugRegion, DebugSymbol, EntryPoint, ExchangeActivity, ExchangeActivityKind,
    Footer, HostCall, HostExchange, HostPage, HostSlice, Package, ProfileStep, RegionSlice, Segment,
    SegmentFlags, StepKind, TileImage, TileProfilePlan,
};
use ipu_device::{Address, Bytes, PhysicalTile};

pub(crate) const TILES: u16 = 1472;

pub(crate) fn segment(address: u32, size: u32, data: &[u8]) -> Segment {
    Segment { address: Address(address), size: Bytes(size), flags: SegmentFlags::CODE, data: data.into() }
}

fn image(fill: u8) -> Arc<[Segment]> {
    vec![segment(0x4c010, 8, &[fill; 8]), segment(0x5c000, 0x400, &[fill; 0x300])].into()
}

fn slice(tile: u16, file_offset: u64) -> RegionSlice {
    RegionSlice { tile: PhysicalTile(tile), address: Address(0x60000), file_offset, size: 256 }
}

fn binding(name: &str) -> Binding {
    let slices = vec![slice(0, 0), slice(64, 256)];
    Binding { name: name.to_owned(), dtype: "f16".to_owned(), shape: vec![16, 16], slices }
}

fn call(name: &str, outputs: bool) -> HostCall {
    let slice = |s: u64| HostSlice { page: 1, page_offset: 4096 * s, file_offset: 256 * s, size: 256 };
    HostCall {
        name: name.to_owned(),
        command: 0,
        phases: if outputs { 3 } else { 2 },
        invocations: 1,
        inputs: vec![slice(0), slice(1)],
        input_batch_ends: vec![2],
        outputs: if outputs { vec![slice(0), slice(1)] } else { vec![] },
        output_batch_ends: if outputs { vec![2] } else { vec![] },
    }
}

fn profile_step() -> ProfileStep {
    ProfileStep {
        local_index: 0,
        phase: 1,
        epoch: 2,
        operation: "gemm".to_owned(),
        kind: StepKind::Compute,
        kernel: "gemm_f8".to_owned(),
        metadata: vec![("rows".to_owned(), "16".to_owned())],
        exchange_activities: vec![ExchangeActivity {
            kind: ExchangeActivityKind::Receive,
            start_cycle: 3,
            end_cycle: 9,
            fanout: 2,
            paired: true,
        }],
        exchange_event_cycles: 12,
    }
}

fn region(tile: Option<PhysicalTile>, address: u32) -> DebugRegion {
    DebugRegion { tile, address: Address(address), size: Bytes(64), name: format!("at {address:x}") }
}

/// A package with something in every field.
pub(crate) fn sample() -> Package {
    let images: Vec<Arc<[Segment]>> = (0..5).map(image).collect();
    Package {
        compiler_version: "0.1.0".to_owned(),
        tiles: (0..TILES)
            .map(|t| TileImage::new(PhysicalTile(t), images[usize::from(t % 5)].clone()))
            .collect(),
        inputs: vec![binding("a")],
        outputs: vec![binding("output.0")],
        weights: vec![binding("b")],
        host_exchange: HostExchange {
            startup_mark: 23,
            command_page: 0,
            command_offset: 0,
            pages: vec![HostPage { index: 0, size: 4096 }, HostPage { index: 1, size: 8192 }],
            attach_order: vec![0, 1],
            calls: vec![call("initialize", false), call("run", true)],
        },
        entry_points: vec![EntryPoint { name: "run".to_owned(), command: 0, external_syncs: 3 }],
        config_writes: vec![ConfigWrite { offset: 0x2000, value: 4 }],
        profile_tiles: vec![TileProfilePlan { tile: PhysicalTile(64), steps: vec![profile_step()] }],
        debug_symbols: vec![DebugSymbol { name: "entry".to_owned(), address: Address(0x5c000) }],
        debug_regions: vec![region(None, 0x5c000), region(Some(PhysicalTile(64)), 0x60000)],
        footer: Some(Footer {
            versions: BTreeMap::from([("ipu".to_owned(), "0.1.0".to_owned())]),
            command: vec!["ipu".to_owned(), "compile".to_owned(), "a.ir".to_owned()],
            binding_layouts: serde_json::from_str(r#"{"b": {"order": "amp_right<32>"}, "a": [1, 2]}"#)
                .unwrap(),
            origins: serde_json::json!({"gemm": ["select-plans"]}),
            reference_kernels: vec!["gemm_f8".to_owned()],
        }),
    }
}
