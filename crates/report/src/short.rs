//! Names cut to a column so that different names stay different: a C++ kernel's parameters go first, then its template's
//! arguments, then its namespaces; what still does not fit is cut in the middle, and told apart by what differs.

use crate::layout::{elide, width};
use std::borrow::Cow;
use std::collections::HashMap;

/// How much of a name is left.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Level {
    /// All of it.
    Whole,
    /// `void` and parameters gone: `at::native::reduce_kernel<512, 1>`.
    NoParameters,
    /// Template arguments gone as well: `at::native::reduce_kernel<…>`.
    Template,
    /// Namespaces gone as well: `reduce_kernel<…>`.
    Base,
}

const LEVELS: [Level; 4] = [Level::Whole, Level::NoParameters, Level::Template, Level::Base];

/// The name at that level; a name that is none of C++ stays whole, but for a method of Java's.
pub(crate) fn at(name: &str, level: Level) -> Cow<'_, str> {
    if let Some(method) = of_java(name) {
        return Cow::Owned(method);
    }
    if level == Level::Whole || name.starts_with(['(', '[', '<']) {
        return Cow::Borrowed(name);
    }
    let name = match without_parameters(without_lambda(name)) {
        // Only templates have the type that they return before their name.
        function if function.len() < name.len() && function.contains('<') => without_return(function),
        function => function,
    };
    if level == Level::NoParameters {
        return Cow::Borrowed(name);
    }
    let folded = folded(name);
    // Where brackets do not match, a `::` may be in the middle of an argument.
    let whole = folded.len() == name.len() && name.contains('<');
    match (level, folded.rfind("::")) {
        (Level::Base, Some(at)) if !whole => Cow::Owned(folded[at + 2..].to_owned()),
        _ => folded,
    }
}

/// The names in at most so many columns: alike only where they are the same.
pub(crate) fn fit(names: &[&str], columns: usize) -> Vec<String> {
    let short = |name: &&str| {
        let mut levels = LEVELS.iter().map(|level| at(name, *level));
        levels
            .find(|text| width(text) <= columns)
            .map_or_else(|| elide(&at(name, Level::Base), columns), Cow::into_owned)
    };
    let mut texts: Vec<String> = names.iter().map(short).collect();
    let mut alike: HashMap<&str, Vec<usize>> = HashMap::new();
    for (row, text) in texts.iter().enumerate() {
        alike.entry(text).or_default().push(row);
    }
    let mut told: Vec<(usize, String)> = Vec::new();
    for (text, rows) in alike.iter().filter(|(_, rows)| rows.iter().any(|row| names[*row] != names[rows[0]]))
    {
        let group: Vec<&str> = rows.iter().map(|row| names[*row]).collect();
        told.extend(rows.iter().copied().zip(apart(text, &group, columns)));
    }
    for (row, text) in told {
        texts[row] = text;
    }
    texts
}

/// Different names with the same short text, told apart by the part in which they differ, else by numbers.
fn apart(text: &str, names: &[&str], columns: usize) -> Vec<String> {
    let base = at(names[0], Level::Base);
    let base = base.split('<').next().unwrap_or(text);
    // Parameters repeat what the arguments of the template say, unless there are none.
    let whole = names.iter().all(|name| at(name, Level::NoParameters) == at(names[0], Level::NoParameters));
    let level = if whole { Level::Whole } else { Level::NoParameters };
    let parts: Vec<Cow<'_, str>> = names.iter().map(|name| at(name, level)).collect();
    let front = common(parts.iter().map(|name| name.chars()));
    let rest: Vec<&str> = parts.iter().map(|name| after(name, front)).collect();
    let back = common(rest.iter().map(|rest| rest.chars().rev()));
    let differs = |rest: &&str| {
        let length = rest.chars().count() - back;
        rest.chars().take(length).collect::<String>()
    };
    let room = columns.saturating_sub(width(base) + 4);
    let texts: Vec<String> =
        rest.iter().map(|rest| format!("{base}<…{}…>", elide(&differs(rest), room))).collect();
    let distinct = |at: usize| (0..at).all(|other| names[other] == names[at] || texts[other] != texts[at]);
    // Less than this says nothing of what differs.
    const ENOUGH: usize = 6;
    if room >= ENOUGH && (0..names.len()).all(distinct) {
        return texts;
    }
    let mut numbers: Vec<&str> = Vec::new();
    let mut numbered = |name| {
        let known = numbers.iter().position(|other| *other == name);
        let number = known.unwrap_or_else(|| {
            numbers.push(name);
            numbers.len() - 1
        });
        let number = format!(" #{}", number + 1);
        format!("{}{number}", elide(text, columns.saturating_sub(number.len())))
    };
    names.iter().map(|name| numbered(*name)).collect()
}

/// How many characters all begin with.
fn common<I: Iterator<Item = char>>(texts: impl Iterator<Item = I>) -> usize {
    let mut texts: Vec<I> = texts.collect();
    let mut same = 0;
    while let Some(first) = texts[0].next() {
        if !texts[1..].iter_mut().all(|text| text.next() == Some(first)) {
            break;
        }
        same += 1;
    }
    same
}

/// The text after so many characters.
fn after(text: &str, chars: usize) -> &str {
    text.char_indices().nth(chars).map_or("", |(at, _)| &text[at..])
}

/// `Batch.read` for `Lorg/example/Batch;::read`, as HotSpot names methods for profilers.
fn of_java(name: &str) -> Option<String> {
    let (class, method) = name.strip_prefix('L')?.split_once(";::")?;
    Some(format!("{}.{method}", class.rsplit('/').next().unwrap_or(class)))
}

/// The name of the function in which a lambda is, for that of the lambda.
fn without_lambda(name: &str) -> &str {
    let is_outside = |at: &usize| name[..*at].matches('<').count() == name[..*at].matches('>').count();
    name.find("::{lambda(").filter(is_outside).map_or(name, |at| &name[..at])
}

/// The name up to its parameters: the last parenthesis outside of template arguments.
fn without_parameters(name: &str) -> &str {
    let trimmed = name.trim_end_matches(" const");
    if !trimmed.ends_with(')') {
        return name;
    }
    let mut depth = 0usize;
    for (at, c) in trimmed.char_indices().rev() {
        match c {
            ')' => depth += 1,
            // After a space it is a remark in a range's name.
            '(' if depth == 1 => {
                return if trimmed[..at].ends_with([' ', ')']) { name } else { &trimmed[..at] };
            }
            '(' => depth -= 1,
            _ => {}
        }
    }
    name
}

/// The name without the type that it returns, which templates have before them.
fn without_return(name: &str) -> &str {
    let mut depth = 0usize;
    let mut start = 0;
    for (at, c) in name.char_indices() {
        match c {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 && !name[..at].ends_with("operator") => start = at + 1,
            _ => {}
        }
    }
    if start < name.len() { &name[start..] } else { name }
}

/// The name with `<…>` for the arguments of every template.
fn folded(name: &str) -> Cow<'_, str> {
    if !name.contains('<') {
        return Cow::Borrowed(name);
    }
    let (mut text, mut depth) = (String::new(), 0usize);
    for c in name.chars() {
        match c {
            '<' | '>' if depth == 0 && text.ends_with("operator") => text.push(c),
            // Python's `f.<locals>` is no template.
            '<' if depth > 0 || text.ends_with(|c: char| c.is_alphanumeric() || c == '_') => {
                if depth == 0 {
                    text.push_str("<…>");
                }
                depth += 1;
            }
            '>' if depth > 0 => depth -= 1,
            c if depth == 0 => text.push(c),
            _ => {}
        }
    }
    if depth == 0 { Cow::Owned(text) } else { Cow::Borrowed(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADD: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)";
    const MUL: &str = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_mul<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_mul<float>, std::array<char*, 3ul>)";

    #[test]
    fn a_name_is_cut_where_it_says_least() {
        assert_eq!(at(ADD, Level::Template), "at::native::vectorized_elementwise_kernel<…>");
        assert_eq!(at(ADD, Level::Base), "vectorized_elementwise_kernel<…>");
        for (name, short) in [
            ("saxpy(int, float*)", "saxpy"),
            ("Lorg/example/Batch;::read", "Batch.read"),
            ("a::Pool::run(std::vector<int> const&)::{lambda(void*)#3}", "run"),
            ("(anonymous namespace)::f(int)", "(anonymous namespace)::f(int)"),
            ("[copy device to pinned memory]", "[copy device to pinned memory]"),
            ("ns::f<int (*)(int)>(int (*)(int))", "f<…>"),
            ("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n", "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n"),
            ("a<b>::c<d>()", "c<…>"),
            ("bool operator< <int>(int)", "operator<"),
            ("train step (warm up)", "train step (warm up)"),
            ("Model.f.<locals>.g", "Model.f.<locals>.g"),
            ("void a::f<b::c::operator()() const::{lambda()#1}, d<e> >(int, d<e>)", "f<…>"),
            ("a<b", "a<b"),
            (")", ")"),
            ("(", "("),
            ("", ""),
        ] {
            assert!(at(name, Level::Base).starts_with(short), "{name}: {}", at(name, Level::Base));
        }
    }

    #[test]
    fn different_names_stay_different() {
        let fitted = fit(&[ADD, MUL, "saxpy"], 50);
        assert_eq!(fitted[0], "vectorized_elementwise_kernel<…add…>");
        assert_eq!(fitted[1], "vectorized_elementwise_kernel<…mul…>");
        assert_eq!(fitted[2], "saxpy");
        for columns in [8, 16, 30, 34, 40, 200, 1000] {
            let fitted = fit(&[ADD, MUL, ADD], columns);
            assert_ne!(fitted[0], fitted[1], "{columns}");
            assert_eq!(fitted[0], fitted[2]);
            assert!(fitted.iter().all(|name| width(name) <= columns), "{fitted:?}");
        }
    }
}
