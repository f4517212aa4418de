//! Searches that begin where the answer is likely: what goes through a time in order asks for places near each other.

/// The first of `count` places at which `is_before` does not hold; it holds at all places before that one. As
/// [`slice::partition_point`], in few steps if that place is near `likely`.
pub fn partition_point_near(count: usize, likely: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut width) = (likely.min(count), 1);
    let mut high = low;
    while low > 0 && !is_before(low - 1) {
        high = low - 1;
        low = high.saturating_sub(width);
        width *= 2;
    }
    while high < count && is_before(high) {
        low = high + 1;
        high = (low + width).min(count);
        width *= 2;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        match is_before(middle) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search that begins anywhere finds what a search of all places finds.
    #[test]
    fn finds_the_place_from_anywhere() {
        let times = [0, 10, 10, 10, 20, 35, 35, 50, 80];
        for count in 0..=times.len() {
            for likely in 0..=times.len() + 1 {
                for time in -5..90 {
                    let found = partition_point_near(count, likely, |at| times[at] <= time);
                    assert_eq!(
                        found,
                        times[..count].partition_point(|at| *at <= time),
                        "{time} from {likely}"
                    );
                }
            }
        }
    }
}
