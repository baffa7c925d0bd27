//! `--list-passes` and `--list-dialects`, for people and as JSON of stable keys.

use ipu_dialects::registry::Registry;
use ipu_passes::manager::{OptionInfo, State, registry};
use serde_json::{Value, json};

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ListFormat {
    /// For people.
    Text,
    /// One array of objects.
    Json,
}

/// All passes in pipeline order: contract, states of input and output, options.
#[must_use]
pub fn list_passes(format: ListFormat) -> String {
    if format == ListFormat::Json {
        return array(registry::all().iter().map(|info| {
            let defaults = (info.defaults)();
            let option = |option: &OptionInfo| {
                json!({"name": option.name, "form": option.form, "default": defaults.get(option.name),
                       "help": option.help})
            };
            let names = |states: &[State]| states.iter().map(|state| state.name()).collect::<Vec<_>>();
            json!({"name": info.name, "summary": info.summary, "requires": names(info.requires),
                   "provides": names(info.provides), "options": info.options.iter().map(option).collect::<Vec<_>>()})
        }));
    }
    let mut text = String::new();
    for info in registry::all() {
        text.push_str(&format!("--{}\n    {}\n", info.name, info.summary));
        for option in info.options {
            text.push_str(&format!("    {}={}  {}\n", option.name, option.form, option.help));
        }
    }
    text
}

/// All dialects with their ops; as JSON also types and attributes.
#[must_use]
pub fn list_dialects(format: ListFormat) -> String {
    let dialects = Registry::standard().dialects();
    if format == ListFormat::Json {
        return array(dialects.iter().map(|dialect| {
            let entry = |name: &str, summary: &str| json!({"name": name, "summary": summary});
            let ops = dialect.ops.iter().map(|op| entry(op.name, op.summary));
            let types = dialect.types.iter().map(|ty| entry(ty.name, ty.summary));
            let attributes =
                dialect.attributes.iter().map(|attribute| entry(attribute.name, attribute.summary));
            json!({"name": dialect.name, "summary": dialect.summary, "ops": ops.collect::<Vec<_>>(),
                   "types": types.collect::<Vec<_>>(), "attributes": attributes.collect::<Vec<_>>()})
        }));
    }
    let mut text = String::new();
    for dialect in dialects {
        text.push_str(&format!("{}\n    {}\n", dialect.name, dialect.summary));
        for op in dialect.ops {
            text.push_str(&format!("    {:28} {}\n", op.name, op.summary));
        }
    }
    text
}

/// An array with one object a line.
fn array(objects: impl Iterator<Item = Value>) -> String {
    let lines: Vec<String> = objects.map(|object| object.to_string()).collect();
    format!("[{}]\n", lines.join(",\n "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_in_the_list_has_a_default_in_its_struct() {
        for info in registry::all() {
            let defaults = (info.defaults)();
            let keys: Vec<&str> =
                defaults.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
            let names: Vec<&str> = info.options.iter().map(|option| option.name).collect();
            assert_eq!(keys, names, "{}", info.name);
        }
    }

    #[test]
    fn passes_as_json_have_stable_keys() {
        let list: Value = serde_json::from_str(&list_passes(ListFormat::Json)).unwrap();
        let place = list.as_array().unwrap().iter().find(|pass| pass["name"] == "place-storage").unwrap();
        assert_eq!(place["requires"], json!(["exchange"]));
        assert_eq!(place["provides"], json!(["placed"]));
        let fuse = list.as_array().unwrap().iter().find(|pass| pass["name"] == "optimize-exchanges").unwrap();
        let option = &fuse["options"][0];
        assert_eq!((&option["name"], &option["default"]), (&json!("fuse"), &json!(true)));
        assert!(option["form"].is_string() && option["help"].is_string());
    }

    #[test]
    fn dialects_as_json_have_their_ops_types_and_attributes() {
        let list: Value = serde_json::from_str(&list_dialects(ListFormat::Json)).unwrap();
        let names: Vec<&Value> = list.as_array().unwrap().iter().map(|dialect| &dialect["name"]).collect();
        assert!(names.contains(&&json!("exchange")), "{names:?}");
        let ipu = list.as_array().unwrap().iter().find(|dialect| dialect["name"] == "ipu").unwrap();
        assert!(ipu["attributes"].as_array().unwrap().iter().any(|entry| entry["name"] == "ipu.npy"));
    }
}
