//! The page around the sections: esbuild builds it from `web/`; the result is committed and embedded here.

/// The built page: markup, styles, the script, and the policy that allows these two by their hashes.
const PAGE: &str = include_str!("../assets/page.html");

/// The four placeholders, in order.
const SLOTS: [&str; 4] =
    ["<!--holdup:title-->", "<!--holdup:body-->", "<!--holdup:first-->", "<!--holdup:rest-->"];

/// The text before, between and after the slots.
pub(crate) fn pieces() -> [&'static str; 5] {
    let mut pieces = [""; 5];
    let mut rest = PAGE;
    for (piece, slot) in pieces.iter_mut().zip(SLOTS) {
        (*piece, rest) = rest.split_once(slot).expect("the built page has every slot, see its test");
    }
    pieces[4] = rest;
    pieces
}

/// The page's Content-Security-Policy.
pub(crate) fn policy() -> &'static str {
    let start = "http-equiv=\"Content-Security-Policy\" content=\"";
    let (_, policy) = PAGE.split_once(start).expect("the built page has a policy, see its test");
    policy.split('"').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_page_has_each_slot_once_and_allows_only_itself() {
        assert_eq!(pieces().concat().len(), PAGE.len() - SLOTS.concat().len());
        for slot in SLOTS {
            assert_eq!(PAGE.matches(slot).count(), 1, "{slot}");
        }
        let policy = policy();
        assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'), "{policy}");
        assert_eq!(PAGE.matches("<script").count(), 1);
    }
}
