//! Names of ranges, of which a number or a word stays that rules go by.

use super::given::{Kind, Names};
use super::public;
use explain::without_numbers;

/// Built-in functions of Python's own that rules go by.
const BUILT_IN: [&str; 9] = ["acquire", "collect", "sleep", "select", "wait", "recv", "read", "poll", "len"];

impl Names {
    /// The name of a range that a framework, a library or the program marked.
    pub(super) fn range(&mut self, text: &str) -> String {
        if public::operator(text) || public::function(text, false) {
            return text.to_owned();
        }
        match public::RANGES.iter().find(|start| text.starts_with(**start)) {
            Some(start) => {
                let rest = &text[start.len()..];
                match rest.bytes().all(|byte| byte.is_ascii_digit() || b"/: ".contains(&byte)) {
                    true => text.to_owned(),
                    false => format!("{start}{}", self.lettered(rest)),
                }
            }
            None => self.lettered(text),
        }
    }

    /// A range's letters, the same for names that differ in their numbers alone, and a number of its own: rules group ranges by that. A word
    /// by which rules tell steps stays.
    fn lettered(&mut self, text: &str) -> String {
        let pattern = without_numbers(text);
        let group = letters(self.number(Kind::Range, &pattern));
        let lower = pattern.to_lowercase();
        let word = public::STEPS.iter().find(|word| lower.contains(**word)).map_or("range", |word| word);
        match pattern == text {
            true => format!("{word}-{group}"),
            false => {
                let next = self.counts.get("instance").copied().unwrap_or(0);
                let known = *self.numbers.entry(("instance", text.to_owned())).or_insert(next + 1);
                self.counts.insert("instance", next.max(known));
                format!("{word}-{group} {known}")
            }
        }
    }

    /// A Python function as a profiler names it: `train.py(12): step`, `<built-in method acquire of …>`.
    pub(super) fn python(&mut self, text: &str) -> String {
        if let Some((place, function)) = text.split_once("): ")
            && let Some((file, line)) = place.rsplit_once('(')
            && line.bytes().all(|byte| byte.is_ascii_digit())
        {
            let is_known = public::source(file).is_some();
            let file = self.source(file);
            let function =
                if is_known { function.to_owned() } else { self.numbered(Kind::Function, function) };
            return format!("{file}({line}): {function}");
        }
        for start in ["<built-in function ", "<built-in method ", "<method "] {
            if let Some(rest) = text.strip_prefix(start) {
                let name = rest.split([' ', '>']).next().unwrap_or(rest).trim_matches('\'');
                return match BUILT_IN.contains(&name) {
                    true => format!("{start}{name}>"),
                    false => format!("{start}{}>", self.numbered(Kind::Function, name)),
                };
            }
        }
        self.numbered(Kind::Function, text)
    }
}

/// `a`, `b`, … `z`, `aa` for 1, 2, … 26, 27.
fn letters(number: usize) -> String {
    let (mut left, mut text) = (number, Vec::new());
    while left > 0 {
        text.push(b'a' + ((left - 1) % 26) as u8);
        left = (left - 1) / 26;
    }
    text.reverse();
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_differ_in_their_numbers_stay_alike() {
        let mut names = Names::default();
        let of = |name: &str, names: &mut Names| names.range(name);
        assert_eq!(of("acme step 17", &mut names), "step-a 1");
        assert_eq!(of("acme step 18", &mut names), "step-a 2");
        assert_eq!(of("acme step 17", &mut names), "step-a 1");
        assert_eq!(of("load customers", &mut names), "range-b");
        assert_eq!(of("aten::copy_", &mut names), "aten::copy_");
        assert_eq!(of("ProfilerStep#3", &mut names), "ProfilerStep#3");
        assert_eq!(of("Optimizer.step#Acme.step", &mut names), "Optimizer.step#step-c");
    }

    #[test]
    fn python_functions_keep_their_line_alone() {
        let mut names = Names::default();
        assert_eq!(names.python("/home/ann/train.py(12): secret"), "path-1.py(12): name-1");
        assert_eq!(
            names.python("torch/nn/modules/module.py(15): _call_impl"),
            "torch/nn/modules/module.py(15): _call_impl"
        );
        assert_eq!(
            names.python("<built-in method acquire of Secret object at 0x1>"),
            "<built-in method acquire>"
        );
        assert_eq!(names.python("nn.Module: SecretNet_0"), "name-2");
    }

    #[test]
    fn letters_follow_each_other() {
        assert_eq!([1, 26, 27, 52].map(letters), ["a", "z", "aa", "az"]);
    }
}
