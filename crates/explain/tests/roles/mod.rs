//! The roles that a case states in its comments: `# positive: gil`.

/// Every role.
pub const ROLES: [&str; 3] = ["positive", "control", "near miss"];

/// The roles and causes that a case's comments state.
pub fn roles(text: &str) -> impl Iterator<Item = (&'static str, &str)> {
    let comments = text.lines().filter_map(|line| line.strip_prefix("# "));
    comments.flat_map(|comment| {
        let (role, cause) = comment.split_once(": ")?;
        Some((ROLES.into_iter().find(|known| *known == role)?, cause))
    })
}
