//! Fewer attributes, simpler data, no comments.

use ipu_dialects::ipu::Iota;
use ipu_dialects::ir::{Attribute, Module, Name, OpId, Trivia};
use ipu_passes::manager::state::main_program;

use super::{Candidate, Specimen};

/// The module without comments.
pub(super) fn without_comments(module: &Module) -> Module {
    let mut module = module.clone();
    let ops: Vec<OpId> = module.walk(module.root()).collect();
    for op in ops {
        module.set_trivia(op, Trivia::default());
        for region in module.regions(op).to_vec() {
            for block in module.blocks_of(region).to_vec() {
                module.set_block_trivia(block, Vec::new());
            }
        }
    }
    for alias in &mut module.aliases {
        alias.trivia = Trivia::default();
    }
    module
}

/// All but one name of attributes and types: those that nothing uses go.
pub(super) fn fewer_names(specimen: &Specimen) -> Vec<Candidate> {
    let without = |gone: usize| {
        let mut smaller = specimen.clone();
        let alias = smaller.module.aliases.remove(gone);
        Candidate::new(smaller, format!("drop the name {}", alias.name))
    };
    (0..specimen.module.aliases.len()).map(without).collect()
}

/// All but one attribute of an op or of an argument or result of the program.
pub(super) fn fewer_attributes(specimen: &Specimen) -> Vec<Candidate> {
    let module = &specimen.module;
    let mut found = Vec::new();
    for op in module.walk(module.root()) {
        for (name, _) in module.attributes(op) {
            let mut smaller = specimen.clone();
            smaller.module.remove_attribute(op, name.as_str());
            found.push(Candidate::new(smaller, format!("drop {name} of {}", module.name(op))));
        }
    }
    found.extend(dictionaries(specimen, |_, entries| {
        (0..entries.len())
            .map(|gone| {
                let mut left = entries.to_vec();
                let (name, _) = left.remove(gone);
                (left, format!("drop {name}"))
            })
            .collect()
    }));
    found
}

/// Data that counts up instead of random numbers.
pub(super) fn simpler_data(specimen: &Specimen) -> Vec<Candidate> {
    dictionaries(specimen, |_, entries| {
        let iota = Attribute::dialect(Iota { start: 1 });
        let at = entries.iter().position(|(name, value)| name.as_str() == "ipu.data" && *value != iota);
        at.into_iter()
            .map(|at| {
                let mut simpler = entries.to_vec();
                simpler[at].1 = iota.clone();
                (simpler, "data that counts up".to_owned())
            })
            .collect()
    })
}

type Entries = Vec<(Name, Attribute)>;

/// Candidates with another dictionary of one argument or result.
fn dictionaries(
    specimen: &Specimen,
    change: impl Fn(usize, &[(Name, Attribute)]) -> Vec<(Entries, String)>,
) -> Vec<Candidate> {
    let module = &specimen.module;
    let Some(function) = main_program(module) else { return Vec::new() };
    let mut found = Vec::new();
    for list in ["arg_attrs", "res_attrs"] {
        let Some(all) = module.attribute(function, list).and_then(Attribute::as_array) else { continue };
        for (number, dictionary) in all.iter().enumerate() {
            for (entries, edit) in change(number, dictionary.as_dictionary().unwrap_or(&[])) {
                let mut smaller = specimen.clone();
                let mut all = all.to_vec();
                all[number] = Attribute::dictionary(entries);
                smaller.module.set_attribute(function, list, Attribute::array(all));
                found.push(Candidate::new(smaller, edit));
            }
        }
    }
    found
}
