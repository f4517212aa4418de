//! Groups of threads whose time is summed up: those of a name, and those of a pool.

use explain::{AccountPart, ThreadAccount, without_numbers};
use std::collections::BTreeMap;
use trace::Ns;

/// Fewest threads whose names differ in numbers alone that are one group: those of a pool.
const POOL: usize = 4;

/// Fewest threads without a name that are not listed one by one, as those of a server that has one for each request. A choice.
const UNNAMED: usize = 64;

/// The threads of each process and name, first those that call CUDA; of few threads without a name each by itself. The name of a
/// pool has `#` for each number.
pub(crate) fn groups(threads: &[ThreadAccount]) -> Vec<(String, Vec<&ThreadAccount>)> {
    let mut pools = BTreeMap::<_, usize>::new();
    let key = |thread: &ThreadAccount| (thread.calls == 0, thread.pid, without_numbers(&thread.name));
    threads.iter().for_each(|thread| *pools.entry(key(thread)).or_default() += 1);
    let mut groups = BTreeMap::<_, Vec<_>>::new();
    for thread in threads {
        let (has_no_calls, pid, pool) = key(thread);
        let is_named = pool.contains(char::is_alphabetic);
        let alike = pools.get(&key(thread)).copied().unwrap_or_default();
        let name = if is_named && alike >= POOL { pool } else { thread.name.clone() };
        let alone = (thread.name.is_empty() && alike < UNNAMED).then_some(thread.tid);
        groups.entry((has_no_calls, pid, name, alone)).or_default().push(thread);
    }
    let named = groups.into_iter().map(|((_, _, name, _), threads)| {
        // Threads of one name keep it.
        let is_one = threads.windows(2).all(|pair| pair[0].name == pair[1].name);
        (if is_one { threads[0].name.clone() } else { name }, threads)
    });
    named.collect()
}

/// The parts of several accounts by cause, most time first; places, calls and finding are those of the largest.
pub(crate) fn united(threads: &[&ThreadAccount]) -> Vec<AccountPart> {
    let mut parts = BTreeMap::<_, (Ns, AccountPart)>::new();
    for part in threads.iter().flat_map(|thread| &thread.parts) {
        let (largest, sum) =
            parts.entry(part.cause).or_insert_with(|| (0, AccountPart { ns: 0, ..part.clone() }));
        if part.ns > *largest {
            (*largest, *sum) = (part.ns, AccountPart { ns: sum.ns, ..part.clone() });
        }
        sum.ns += part.ns;
    }
    let mut parts: Vec<AccountPart> = parts.into_values().map(|(_, part)| part).collect();
    parts.sort_by_key(|part| (std::cmp::Reverse(part.ns), part.cause));
    parts
}
