//! The model that `--model` names.

use crate::failure::Failure;
use sim::Model;

/// The built-in model of that name, or that of the file; `None` without a name.
pub fn named(name: Option<&str>) -> Result<Option<Model>, Failure> {
    let load = |name: &str| {
        Model::load(name).map_err(|error| {
            let known = Model::names().any(|known| known == name);
            let is_file = std::path::Path::new(name).is_file();
            // An unknown name has its own remedy.
            let remedy =
                if is_file && !known { ": correct it, or write it with `holdup lab calibrate`" } else { "" };
            Failure::Message(format!("--model {error}{remedy}"))
        })
    };
    name.map(load).transpose()
}
