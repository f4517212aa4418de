//! JSON that says by its `schema` what it is: `holdup/stats/1` is described by `docs/schema/stats.json`.

use serde::Serialize;

/// An object with the name of its schema before its own fields.
#[derive(Serialize)]
struct Named<'a, T: Serialize> {
    schema: &'static str,
    #[serde(flatten)]
    body: &'a T,
}

/// The object as indented text, `schema` first.
pub fn json<T: Serialize>(schema: &'static str, body: &T) -> String {
    pretty(&Named { schema, body })
}

/// The objects as one array, each with its `schema`.
pub fn json_array<T: Serialize>(schema: &'static str, bodies: &[T]) -> String {
    pretty(&bodies.iter().map(|body| Named { schema, body }).collect::<Vec<_>>())
}

fn pretty<T: Serialize>(value: &T) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("numbers and strings always serialize");
    text.push('\n');
    text
}
