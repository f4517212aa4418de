//! Samples of output in pages, in which a line `…` stands for any number of lines.

use crate::page::{Documented, Page, root};

/// Whether the output is what a page shows; a page that shows nothing is right.
pub fn is_shown(shown: &[String], output: &str) -> bool {
    let shown: Vec<&str> = without_end(shown);
    shown.is_empty() || fits(&shown, &lines(output))
}

/// Rewrites a sample with what is printed today: each piece becomes the lines that are most like it.
pub fn update(page: &Page, command: &Documented, output: &str) -> Result<(), String> {
    let (shown, printed) = (without_end(&command.prints), lines(output));
    let fresh = if shown.contains(&"…") { pieces(&shown, &printed) } else { printed };
    if fresh.len() != shown.len() && shown.contains(&"…") {
        return Err(format!("a piece of the sample is longer than the output:\n{output}"));
    }
    let path = root().join(&page.name);
    let text = std::fs::read_to_string(&path).expect("readable");
    let old = format!("$ {}\n{}\n", command.line, shown.join("\n"));
    if !text.contains(&old) {
        return Err("its sample cannot be found again: update it by hand".to_owned());
    }
    let new = format!("$ {}\n{}\n", command.line, fresh.join("\n"));
    std::fs::write(&path, text.replacen(&old, &new, 1)).expect("can write");
    Ok(())
}

fn lines(output: &str) -> Vec<&str> {
    output.trim_end().lines().map(str::trim_end).collect()
}

/// The lines of a sample, without empty ones at its end.
fn without_end(shown: &[String]) -> Vec<&str> {
    let count = shown.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
    shown[..count].iter().map(String::as_str).collect()
}

fn fits(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&"…", rest)) => (0..=printed.len()).any(|skipped| fits(rest, &printed[skipped..])),
        Some((line, rest)) => printed.first() == Some(line) && fits(rest, &printed[1..]),
    }
}

/// The sample with each piece between `…` replaced by as many lines of the output, in order.
fn pieces<'a>(shown: &[&str], mut printed: &[&'a str]) -> Vec<&'a str> {
    let mut fresh = Vec::new();
    for (number, piece) in shown.split(|line| *line == "…").enumerate() {
        if number > 0 {
            fresh.push("…");
        }
        let places = 0..(printed.len() + 1).saturating_sub(piece.len());
        let Some(best) = places.max_by_key(|at| (likeness(piece, &printed[*at..]), usize::MAX - at)) else {
            break;
        };
        fresh.extend(&printed[best..best + piece.len()]);
        printed = &printed[best + piece.len()..];
    }
    fresh
}

/// How many characters of lines are the same from their beginnings on.
fn likeness(piece: &[&str], printed: &[&str]) -> usize {
    let same = |(a, b): (&&str, &&str)| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    piece.iter().zip(printed).map(same).sum()
}
