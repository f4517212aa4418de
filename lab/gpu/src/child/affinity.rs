//! The processors that a thread runs on.

use std::path::Path;

/// The processors of the NUMA node that a device is on. `system` is the directory `/sys`; `pci` as in
/// `0000:3B:00.0`.
///
/// # Errors
///
/// Why there is nothing to choose, without a full stop.
pub fn near(system: &Path, pci: &str) -> Result<Vec<usize>, String> {
    let nodes = system.join("devices/system/node");
    if count(&nodes) < 2 {
        return Err("the machine has one NUMA node".to_owned());
    }
    let path = system.join("bus/pci/devices").join(pci.to_lowercase()).join("numa_node");
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let node: usize = text.trim().parse().map_err(|_| format!("{} says {}", path.display(), text.trim()))?;
    let path = nodes.join(format!("node{node}/cpulist"));
    let list = std::fs::read_to_string(&path)
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let processors = listed(list.trim());
    match processors.is_empty() {
        true => Err(format!("NUMA node {node} has no processor")),
        false => Ok(processors),
    }
}

/// How many nodes there are.
fn count(nodes: &Path) -> usize {
    let entries = std::fs::read_dir(nodes).into_iter().flatten().flatten();
    let is_node = |name: &str| name.strip_prefix("node").is_some_and(|number| number.parse::<u32>().is_ok());
    entries.filter(|entry| entry.file_name().to_str().is_some_and(is_node)).count()
}

/// The numbers of a list as in `0-3,8`.
fn listed(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let last = last.parse::<usize>().ok()?.min(libc::CPU_SETSIZE as usize - 1);
        Some(first.parse::<usize>().ok()?..=last)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Keeps the calling thread on some processors; without any, or where that may not be, it goes where it goes.
pub fn stay_on(processors: &[usize]) {
    if processors.is_empty() {
        return;
    }
    // SAFETY: an all-zero set is an empty one; the system reads as much as it is long.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let known = processors.iter().filter(|processor| **processor < libc::CPU_SETSIZE as usize);
        known.for_each(|processor| libc::CPU_SET(*processor, &mut set));
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine whose device is on that node, as the system says it.
    fn machine(nodes: &[&str], device_on: &str) -> tempfile::TempDir {
        let system = tempfile::tempdir().expect("can create");
        let write = |path: &str, text: &str| {
            let path = system.path().join(path);
            std::fs::create_dir_all(path.parent().expect("it is in one")).expect("can create");
            std::fs::write(path, text).expect("can write");
        };
        for (number, processors) in nodes.iter().enumerate() {
            write(&format!("devices/system/node/node{number}/cpulist"), &format!("{processors}\n"));
        }
        write("devices/system/node/possible", "0-1\n");
        write("bus/pci/devices/0000:3b:00.0/numa_node", &format!("{device_on}\n"));
        system
    }

    fn found(nodes: &[&str], device_on: &str, pci: &str) -> Result<Vec<usize>, String> {
        let system = machine(nodes, device_on);
        let root = system.path().display().to_string();
        near(system.path(), pci).map_err(|why| why.replace(&root, ""))
    }

    #[test]
    fn a_device_is_near_the_processors_of_its_node() {
        let nodes = ["0-1,4-5", "2-3,6"];
        assert_eq!(found(&nodes, "1", "0000:3B:00.0"), Ok(vec![2, 3, 6]));
        assert_eq!(found(&nodes, "0", "0000:3B:00.0"), Ok(vec![0, 1, 4, 5]));
    }

    #[test]
    fn a_note_says_why_no_processor_is_near() {
        let nodes = ["0", "1"];
        let problem = |nodes: &[&str], on, pci| found(nodes, on, pci).expect_err("nothing to choose");
        assert_eq!(problem(&nodes[..1], "0", "0000:3B:00.0"), "the machine has one NUMA node");
        let file = "/bus/pci/devices/0000:3b:00.0/numa_node";
        assert_eq!(problem(&nodes, "-1", "0000:3B:00.0"), format!("{file} says -1"));
        assert!(problem(&nodes, "0", "0000:4B:00.0").contains("cannot be read"));
        assert!(problem(&nodes, "7", "0000:3B:00.0").contains("node7/cpulist cannot be read"));
        assert_eq!(problem(&["", "1"], "0", "0000:3B:00.0"), "NUMA node 0 has no processor");
    }
}
