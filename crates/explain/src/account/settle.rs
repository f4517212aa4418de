//! Gives what threads did outside calls to places, in proportion to the weight of the samples within.

use super::division::{divide, part};
use super::known_calls;
use super::naming::SpotId;
use super::roots::{Between, Culprit, Root, Row, united};
use super::sites::{ENOUGH, SiteId, Sites};
use super::sums::add_to;
use crate::{Cause, SAMPLE};
use rustc_hash::FxHashMap;
use trace::{Ns, Trace};

/// The culprit of each row that has most of its time.
pub(super) fn largest(rows: &[Row], sites: &Sites) -> Vec<Root> {
    let seen = seen(rows);
    let root = |row: &Row| {
        let places = places(row.clone(), &seen, sites);
        places.iter().max_by_key(|row| row.ns).map_or(row.root, |largest| largest.root)
    };
    rows.iter().map(root).collect()
}

/// The weight of samples by culprit, and by whether the thread was asleep.
type Samples = FxHashMap<(Culprit, bool), Vec<(SpotId, u64)>>;

fn seen(rows: &[Row]) -> Samples {
    let mut seen = Samples::default();
    for row in rows {
        let all = seen.entry((row.root.culprit, is_asleep(row.root.cause))).or_default();
        row.seen.iter().for_each(|(spot, count)| add_to(all, *spot, *count));
    }
    seen
}

/// Rows whose culprits are known, each root once, from those that may have sites.
pub(super) fn settle(rows: Vec<Row>, trace: &Trace, sites: &Sites) -> Vec<Row> {
    settle_beside(0, rows, trace, sites)
}

/// Like [`settle`], but for a time so short that few samples or one lie within: the samples of all pauses of a site have the weight
/// of two beside them. Two are a choice.
pub(super) fn settle_short(rows: Vec<Row>, trace: &Trace, sites: &Sites) -> Vec<Row> {
    settle_beside(2 * SAMPLE, rows, trace, sites)
}

fn settle_beside(weight: u64, mut rows: Vec<Row>, trace: &Trace, sites: &Sites) -> Vec<Row> {
    if sites.sees_sleep() {
        reweigh(&mut rows);
    }
    for row in &mut rows {
        if let Culprit::Site(site) = row.root.culprit {
            add_scaled(&mut row.seen, weight, &sites.row(site).seen[usize::from(is_asleep(row.root.cause))]);
        }
    }
    let seen = seen(&rows);
    let placed = rows.into_iter().flat_map(|row| places(row, &seen, sites));
    united(placed.flat_map(|row| known_calls::divided(row, trace, sites)))
}

/// Adds the samples of `others`, all of which together are given this weight.
fn add_scaled(samples: &mut Vec<(SpotId, u64)>, weight: u64, others: &[(SpotId, u64)]) {
    let all: u64 = others.iter().map(|(_, weight)| weight).sum();
    for (spot, of_spot) in others {
        let part = part(weight as Ns, *of_spot, all) as u64;
        if part > 0 {
            add_to(samples, *spot, part);
        }
    }
}

/// Activity of a thread in its own time outside calls, as the scheduler tells it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnTime {
    Asleep,
    Awake,
    /// Ready without a processor.
    Ready,
    Unknown,
}

/// The activity that a cause of a thread's own time outside calls states; `None` if it states more, or is no cause of such time.
fn own_time(cause: Cause) -> Option<OwnTime> {
    match cause {
        // Who writes or reads files is known from the system call in which it sleeps.
        Cause::Blocked | Cause::NoDemand | Cause::FileWriting | Cause::FileReading => Some(OwnTime::Asleep),
        Cause::HostCode | Cause::KernelBuild => Some(OwnTime::Awake),
        Cause::NoCpu => Some(OwnTime::Ready),
        Cause::NotRecorded => Some(OwnTime::Unknown),
        Cause::DriverLock
        | Cause::ApplicationLock
        | Cause::PageableStaging
        | Cause::PageableOrder
        | Cause::HiddenSync
        | Cause::ExplicitSync
        | Cause::ImplicitDeviceSync
        | Cause::QueueFull
        | Cause::BlockingLaunch
        | Cause::FirstUse
        | Cause::Allocation
        | Cause::PoolTrim
        | Cause::ObjectChurn
        | Cause::PageFaults
        | Cause::PageMigration
        | Cause::ProfilerOverhead
        | Cause::CopyEngineBusy
        | Cause::Gil
        | Cause::Lock
        | Cause::DataLoading
        | Cause::Feeding
        | Cause::GarbageCollection
        | Cause::OwnWork
        | Cause::LaunchLatency
        | Cause::Dependency
        | Cause::DefaultStream
        | Cause::ConnectionAliasing
        | Cause::IssueOrder
        | Cause::TimeSlicing
        | Cause::GpuFull
        | Cause::CollectiveWait
        | Cause::StartUp
        | Cause::Unexplained => None,
    }
}

fn is_asleep(cause: Cause) -> bool {
    own_time(cause) == Some(OwnTime::Asleep)
}

/// The scheduler counts for some milliseconds, and so does not tell when in a pause a thread slept. Where most of what was
/// charged are parts of pauses, such as those in which a thread held a lock, the samples within tell better.
fn reweigh(rows: &mut [Row]) {
    let mut pairs = FxHashMap::<(Culprit, bool), [Vec<usize>; 2]>::default();
    for (at, row) in rows.iter().enumerate() {
        let is_of_scheduler = !matches!(own_time(row.root.cause), Some(OwnTime::Ready | OwnTime::Unknown));
        if matches!(row.root.culprit, Culprit::Site(_) | Culprit::Held(..)) && is_of_scheduler {
            let pair = pairs.entry((row.root.culprit, row.root.is_selected)).or_default();
            pair[usize::from(is_asleep(row.root.cause))].push(at);
        }
    }
    for pair in pairs.into_values() {
        let [[awake], [asleep]] = [pair[0].as_slice(), pair[1].as_slice()] else { continue };
        let samples = |at: usize| rows[at].seen.iter().map(|(_, count)| *count).sum::<u64>();
        let [working, sleeping] = [samples(*awake), samples(*asleep)];
        let all = rows[*awake].ns + rows[*asleep].ns;
        let partial = rows[*awake].partial + rows[*asleep].partial;
        if working + sleeping >= ENOUGH && partial >= all - all / 10 {
            rows[*asleep].ns = part(all, sleeping, working + sleeping);
            rows[*awake].ns = all - rows[*asleep].ns;
        }
    }
}

/// A row for each place of a row.
fn places(row: Row, seen: &Samples, sites: &Sites) -> Vec<Row> {
    let (site, told) = match row.root.culprit {
        Culprit::Site(site) => (site, None),
        Culprit::Held(_, site, spot) => (site, spot),
        Culprit::Part(_)
        | Culprit::Lock(..)
        | Culprit::Call(..)
        | Culprit::Spot(..)
        | Culprit::Before(..)
        | Culprit::Between(_)
        | Culprit::Device(_) => return vec![row],
    };
    let row = between(row, site, sites);
    let asleep = is_asleep(row.root.cause);
    let is_awake = own_time(row.root.cause) == Some(OwnTime::Awake);
    let is_lock = matches!(row.root.culprit, Culprit::Held(..)) && own_time(row.root.cause).is_none();
    let within = |asleep| seen.get(&(row.root.culprit, asleep)).map_or(&[][..], Vec::as_slice);
    let at_site = |asleep: bool| sites.row(site).seen[usize::from(asleep)].as_slice();
    let told = told.map(|spot| [(spot, 1)]);
    // Of a holder that works, the recorded wait itself tells the place.
    let first = told.as_ref().map_or(&[][..], |told| if is_lock { &told[..] } else { &[][..] });
    let then = told.as_ref().map_or(&[][..], |told| &told[..]);
    let candidates =
        [first, &row.seen, within(asleep), at_site(asleep), then, within(!asleep), at_site(!asleep)];
    let spots = candidates.into_iter().find(|spots| !spots.is_empty()).unwrap_or_default().to_vec();
    divide(row, &spots, |root, spot| {
        let known = spot.or(sites.row(site).spot).and_then(|spot| sites.cause(spot, !is_awake));
        let cause = known.filter(|_| is_general(root.cause)).unwrap_or(root.cause);
        Root { cause, culprit: culprit(root, site, spot, is_lock, sites), ..root }
    })
}

/// Whether the cause is only that the thread ran or slept, or not even that: known work says more.
fn is_general(cause: Cause) -> bool {
    matches!(cause, Cause::Blocked | Cause::HostCode | Cause::KernelBuild | Cause::NotRecorded)
}

/// A row of one site, with its pauses.
fn between(row: Row, site: SiteId, sites: &Sites) -> Row {
    let site = sites.row(site);
    let pauses = Between { calls: [site.last, site.next], ns: row.ns, count: row.count };
    Row { between: if site.is_short { Vec::new() } else { vec![pauses] }, ..row }
}

fn culprit(root: Root, site: SiteId, spot: Option<SpotId>, is_lock: bool, sites: &Sites) -> Culprit {
    let site = sites.row(site);
    match (root.culprit, spot.or(site.spot)) {
        (Culprit::Held(lock, ..), spot) if is_lock => Culprit::Lock(site.process, lock, spot),
        (_, Some(spot)) => Culprit::Spot(site.process, spot),
        (_, None) if site.is_short || site.next.is_empty() => Culprit::Between(site.process),
        (_, None) => Culprit::Before(site.process, site.next),
    }
}
