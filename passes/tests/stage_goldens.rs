//! What every pass of the default pipeline leaves of six cases, through text: each result is printed, read back, verified,
//! and handed to the next pass. Tile programs keep two images; of the others the text stands for its digest.

use std::fmt::Write as _;

use crate::pass_runs::{parse, printed, run};
use ipu_passes::manager::{State, registry};
use sha2::{Digest, Sha256};

const CASES: [(&str, &str); 6] = [
    ("seed", include_str!("../../test-ir/seed/gemm_f8.ir")),
    ("flat-cast", include_str!("../../test-ir/repro/flat-cast.ir")),
    ("k-split-4", include_str!("../../test-ir/gemm/k-split-4.ir")),
    ("odd-f8", include_str!("../../test-ir/gemm/odd-f8.ir")),
    ("two-tiles", include_str!("../../test-ir/gemm/two-tiles.ir")),
    ("nan-infinity", include_str!("../../test-ir/gemm/nan-infinity.ir")),
];

/// Images that a golden shows in full.
const SHOWN_IMAGES: usize = 2;
/// Largest golden, in bytes.
const LARGEST: usize = 200_000;

#[test]
fn every_stage_of_every_case_is_as_it_was() {
    for (case, text) in CASES {
        let mut text = text.to_owned();
        let module = parse(case, &text);
        let pipeline = registry::default_pipeline(&module, State::Code);
        let passes: Vec<String> = pipeline.entries.iter().map(ToString::to_string).collect();
        for (index, pass) in passes.iter().enumerate().filter(|(_, pass)| *pass != "build-package") {
            let mut module = parse(case, &text);
            let done = run(&mut module, pass);
            assert!(done.failure.is_none(), "{case} {pass}: {}", done.diagnostics.render(&module.sources));
            text = printed(&module);
            assert!(
                printed(&parse(case, &text)) == text,
                "{case}: the result of {pass} prints to something else"
            );
            let again = passes[..index].iter().filter(|earlier| *earlier == pass).count();
            let name = if again == 0 { pass.clone() } else { format!("{pass}-{}", again + 1) };
            let golden = folded(&text);
            assert!(golden.len() < LARGEST, "{case} {pass}: {} bytes", golden.len());
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(format!("../../test-ir/goldens/{case}"));
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.bind(|| insta::assert_snapshot!(name, golden));
        }
    }
}

/// The text with the digest of the contents of every image but the first ones and the last.
fn folded(text: &str) -> String {
    const START: &str = "  tile.image ";
    let mut folded = String::new();
    let images = text.lines().filter(|line| line.starts_with(START)).count();
    let (mut image, mut hidden) = (0, None::<Sha256>);
    for line in text.lines() {
        if line.starts_with(START) {
            image += 1;
            let shown = image <= SHOWN_IMAGES || image == images;
            hidden = (!shown).then(Sha256::new);
        }
        let Some(digest) = &mut hidden else {
            let _ = writeln!(folded, "{line}");
            continue;
        };
        if line.starts_with(START) {
            let _ = write!(folded, "{line} ");
            continue;
        }
        digest.update(line.as_bytes());
        if line == "  }" {
            let digest = hidden.take().map(Sha256::finalize).unwrap_or_default();
            let hex: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            let _ = writeln!(folded, "... {hex} ... }}");
        }
    }
    folded
}
