//! Sizes on the command line.

/// Parses `4GB`, `1.5 GiB` or `500M`; a bare number is bytes.
pub fn parse(text: &str) -> Result<u64, String> {
    quantity::size(text).ok_or_else(|| {
        String::from("not a size: write it like 4GB, 1.5GiB or 500MiB (a bare number is bytes)")
    })
}
