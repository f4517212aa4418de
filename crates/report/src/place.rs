//! A source place in a sentence: `serve.py:17`, and the functions below it.

use crate::escape::visible;
use crate::layout::{elide, width};
use crate::short::{Level, at, fit};
use explain::{AccountPart, Cause, Finding, Place};

/// Longest place, columns.
const PLACE: usize = 40;

/// `serve.py:17`, or the function without a line. Of PyTorch's `enumerate(DataLoader)#Iterator.__next__`, which is long, the latter.
pub(crate) fn short(place: &Place) -> String {
    within(place, PLACE)
}

/// Longest place where there is room for all of it, columns.
const WIDE: usize = 72;

/// Functions of which a name tells nothing that their line does not.
const TELL_NOTHING: [&str; 3] = ["<module>", "<lambda>", "main"];

/// Like [`short`], with longer names, and with the function of a line: `train.py:31 train_step`.
pub(crate) fn wide(place: &Place) -> String {
    let line = within(place, WIDE);
    let name = at(&place.function, Level::Base);
    let tells = place.line > 0 && !name.is_empty() && !TELL_NOTHING.contains(&name.as_ref());
    let whole = if tells { format!("{line} {}", visible(&name)) } else { line.clone() };
    if width(&whole) <= WIDE { whole } else { line }
}

/// The name of a call, as far as there is room for it.
pub(crate) fn called(call: &str) -> String {
    visible(&elide(&at(call, Level::Template), WIDE)).into_owned()
}

fn within(place: &Place, columns: usize) -> String {
    let file = file_name(&place.file);
    // A compiler of a running program has no file, and a profiler none for what it wrote to memory.
    let is_made = file.starts_with('[') || file.starts_with("perf-") && file.ends_with(".map");
    let text = match (if is_made { "" } else { file }, place.line) {
        ("", 0) if is_made => function(&place.function, columns),
        ("", _) if place.function.len() > PLACE => {
            place.function.rsplit(")#").next().unwrap_or_default().to_owned()
        }
        ("", _) => place.function.clone(),
        // A function says more than its library.
        (file, 0) if !place.function.is_empty() => {
            let function = function(&place.function, columns);
            if function.chars().count() + file.len() < columns {
                format!("{function} {file}")
            } else {
                function
            }
        }
        (file, 0) => file.to_owned(),
        (file, line) => format!("{file}:{line}"),
    };
    visible(&elide(&text, columns)).into_owned()
}

/// The name of a file, of one that each of Python's packages has with the package: `nvfuser/__init__.py`.
fn file_name(path: &str) -> &str {
    let of_package = ["__init__.py", "__main__.py"];
    let name = path.rfind('/').map_or(path, |at| &path[at + 1..]);
    match of_package.contains(&name) {
        true => path.rmatch_indices('/').nth(1).map_or(path, |(at, _)| &path[at + 1..]),
        false => name,
    }
}

/// The name of a function in so many columns, as far as that goes; the last of its namespaces or its class stays.
fn function(name: &str, columns: usize) -> String {
    let levels = [Level::Whole, Level::NoParameters, Level::Template].map(|level| at(name, level));
    if let Some(text) = levels.iter().find(|text| width(text) <= columns) {
        return text.to_string();
    }
    let mut last = levels[2].rsplitn(3, "::");
    match (last.next(), last.next()) {
        (Some(name), Some(class)) => format!("{class}::{name}"),
        _ => levels[2].to_string(),
    }
}

/// Longest name of a function below a place, columns.
const FUNCTION: usize = 32;

/// ` → adam.py:545 _single_tensor_adam`, ` → torch.save`, or ` → DataLoader → data.py:9 Images.__getitem__` of its workers: who does what is
/// done at a finding's place; empty if nobody knows.
pub(crate) fn below(finding: &Finding) -> String {
    let name = |place: &Place| {
        let function = fit(&[&place.function], FUNCTION).pop().unwrap_or_default();
        let file = file_name(&place.file);
        let at = if place.line > 0 { format!("{file}:{}", place.line) } else { file.to_owned() };
        let parts = [visible(&at).into_owned(), visible(&function).into_owned()];
        let parts: Vec<String> = parts.into_iter().filter(|text| !text.is_empty()).collect();
        format!(" → {}", parts.join(" "))
    };
    let inner: String = finding.inner.iter().map(name).collect();
    let work = Some(finding.work).filter(|work| !work.is_empty());
    let work = work.map_or(String::new(), |work| format!(" → {work}"));
    // The loader's workers are behind it.
    if finding.cause == Cause::DataLoading { format!("{work}{inner}") } else { format!("{inner}{work}") }
}

/// Where most of a part's time passed: `serve.py:17 one`, else the calls in or before which it did.
pub(crate) fn of_part(part: &AccountPart) -> String {
    let named = |place: &Place| match place.line {
        0 => format!("{} {}", place.function, place.file),
        line => format!("{}:{line} {}", place.file, place.function),
    };
    match part.places.first() {
        Some(place) => named(place).trim_end().to_owned(),
        None => part.calls.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_its_function_where_there_is_room() {
        let of = |file: &str, function: &str| {
            wide(&Place { file: file.into(), line: 3, function: function.into() })
        };
        assert_eq!(of("/home/a/train.py", "Trainer.step"), "train.py:3 Trainer.step");
        assert_eq!(of("run.cu", "ns::sweep<float>(int, float*)"), "run.cu:3 sweep<…>");
        assert_eq!(of("train.py", "<module>"), "train.py:3");
        assert_eq!(of("train.py", &"f".repeat(70)), "train.py:3", "no room");
    }

    #[test]
    fn a_file_that_each_package_has_is_named_with_the_package() {
        let of = |file: &str| short(&Place { file: file.into(), line: 3, function: "f".into() });
        assert_eq!(of("/lib/site-packages/nvfuser/__init__.py"), "nvfuser/__init__.py:3");
        assert_eq!(of("nvfuser/__init__.py"), "nvfuser/__init__.py:3");
        assert_eq!(of("__init__.py"), "__init__.py:3");
    }
}
