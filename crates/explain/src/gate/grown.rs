//! Which site has more than before: sites are matched by line, then by function, because an edit moves lines.

use super::figures::Site;
use std::collections::BTreeMap;

/// The mean of each site over the traces of a side.
pub(super) fn mean<'a>(traces: impl Iterator<Item = Option<&'a BTreeMap<Site, f64>>>) -> BTreeMap<Site, f64> {
    let mut sums = BTreeMap::<Site, f64>::new();
    let mut count = 0.0;
    for sites in traces {
        count += 1.0;
        sites
            .into_iter()
            .flatten()
            .for_each(|(site, amount)| *sums.entry(site.clone()).or_default() += amount);
    }
    sums.values_mut().for_each(|sum| *sum /= count);
    sums
}

/// How much more each site has than before, most first; only those with more.
pub(super) fn grown(before: &BTreeMap<Site, f64>, after: &BTreeMap<Site, f64>) -> Vec<(Site, f64)> {
    let (mut grown, mut new) = (Vec::new(), Vec::new());
    for (site, amount) in after {
        match before.get(site) {
            Some(old) => grown.push((site.clone(), amount - old)),
            None => new.push((site.clone(), *amount)),
        }
    }
    let gone = before.iter().filter(|(site, _)| !after.contains_key(site));
    let mut gone: Vec<(&Site, f64)> = gone.map(|(site, amount)| (site, *amount)).collect();
    // The most alike of a function are the same line that moved.
    while let Some((at, old)) = closest(&new, &gone) {
        let (site, amount) = new.swap_remove(at);
        grown.push((site, amount - gone.swap_remove(old).1));
    }
    grown.extend(new);
    grown.retain(|(_, more)| *more > 0.0);
    grown.sort_by(|one, other| other.1.total_cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    grown
}

/// The two of one function that are most alike: first by their amounts, in tenths of the larger one, then by their lines.
fn closest(new: &[(Site, f64)], gone: &[(&Site, f64)]) -> Option<(usize, usize)> {
    let line = |site: &Site| site.place.as_ref().map_or(0, |place| place.line);
    let distance = |(one, amount): &(Site, f64), (other, old): &(&Site, f64)| {
        let tenths = (10.0 * (amount - old).abs() / amount.max(*old)).round();
        (tenths as u64, line(one).abs_diff(line(other)))
    };
    let mut found: Option<((u64, u32), usize, usize)> = None;
    for (at, one) in new.iter().enumerate() {
        for (old, other) in gone.iter().enumerate().filter(|(_, other)| is_alike(&one.0, other.0)) {
            let distance = distance(one, other);
            if found.is_none_or(|(least, _, _)| distance < least) {
                found = Some((distance, at, old));
            }
        }
    }
    found.map(|(_, at, old)| (at, old))
}

fn is_alike(one: &Site, other: &Site) -> bool {
    let function =
        |site: &Site| site.place.as_ref().map(|place| (place.file.clone(), place.function.clone()));
    one.call == other.call && function(one) == function(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Place;

    fn site(line: u32) -> Site {
        let (file, function) = (String::from("a.py"), String::from("step"));
        Site { place: Some(Place { file, line, function }), call: String::from("cudaStreamSynchronize") }
    }

    #[test]
    fn a_line_that_moved_has_no_more() {
        let before = BTreeMap::from([(site(10), 1.0), (site(30), 0.1)]);
        let after = BTreeMap::from([(site(12), 1.0), (site(20), 1.0), (site(33), 0.1)]);
        assert_eq!(grown(&before, &after).into_iter().map(|(_, more)| more).collect::<Vec<_>>(), [1.0]);
        assert_eq!(grown(&after, &before), []);
    }

    #[test]
    fn a_line_that_stays_is_compared_with_itself() {
        let before = BTreeMap::from([(site(10), 1.0), (site(30), 0.25)]);
        let after = BTreeMap::from([(site(10), 1.0), (site(30), 0.75), (site(40), 0.25)]);
        assert_eq!(grown(&before, &after), [(site(30), 0.5), (site(40), 0.25)]);
    }
}
