//! Links that other users made: one in a folder that several users write to could lead an output to any file of ours.

use crate::failure::Failure;
use std::path::Path;

/// Refuses a path that leads through a link of another user. Those of root are the system's.
///
/// # Errors
/// Names the link.
#[cfg(unix)]
pub fn check(path: &Path) -> Result<(), Failure> {
    // SAFETY: only returns a number.
    let user = unsafe { libc::geteuid() };
    let Some(link) = foreign(path, &|owner| owner != user && owner != 0) else { return Ok(()) };
    let problem =
        format!("leads through {}, a link that another user made: name what it leads to", link.display());
    Err(Failure::of(path, problem))
}

/// Links of other systems are not checked.
#[cfg(not(unix))]
pub fn check(_: &Path) -> Result<(), Failure> {
    Ok(())
}

/// The first link on the way to a path whose owner is a stranger.
#[cfg(unix)]
fn foreign(path: &Path, is_stranger: &dyn Fn(u32) -> bool) -> Option<std::path::PathBuf> {
    use std::os::unix::fs::MetadataExt;
    use std::path::{Component, PathBuf};
    /// As many as the kernel follows.
    const MOST_LINKS: usize = 40;

    let absolute = std::path::absolute(path).ok()?;
    let mut reached = PathBuf::new();
    let mut ahead: Vec<PathBuf> = vec![absolute];
    let mut links = 0;
    while let Some(path) = ahead.pop() {
        let mut parts = path.components();
        let Some(part) = parts.next() else { continue };
        ahead.push(parts.as_path().to_owned());
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = reached.pop(),
            part => reached.push(part),
        }
        // What is not there leads nowhere.
        let Some(found) = reached.symlink_metadata().ok().filter(std::fs::Metadata::is_symlink) else {
            continue;
        };
        if is_stranger(found.uid()) {
            return Some(reached);
        }
        links += 1;
        if links > MOST_LINKS {
            return None;
        }
        ahead.push(reached.read_link().ok()?);
        reached.pop();
    }
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_of_strangers_are_found_wherever_they_are() {
        let folder = tempfile::tempdir().expect("can create");
        // Where temporary files are may have links, too.
        let at = |name: &str| folder.path().canonicalize().expect("is there").join(name);
        std::fs::create_dir_all(at("real/inner")).expect("can create");
        symlink("real", at("relative")).expect("can link");
        symlink(at("relative/inner"), at("twice")).expect("can link");
        symlink("./../relative", at("real/up")).expect("can link");
        symlink("nowhere", at("dangling")).expect("can link");
        symlink("round", at("round")).expect("can link");
        let found = |path: &str| foreign(&at(path), &|_| true);
        assert_eq!(found("real/inner/new.holdup"), None);
        assert_eq!(found("none/new.holdup"), None);
        assert_eq!(found("relative/new.holdup"), Some(at("relative")));
        assert_eq!(found("real/up/new.holdup"), Some(at("real/up")));
        assert_eq!(found("dangling"), Some(at("dangling")));
        // Of several, the one that is a stranger's.
        let inner = at("relative");
        let is_inner = |link: &str| {
            let stranger = std::cell::Cell::new(0);
            foreign(&at(link), &|_| stranger.replace(stranger.get() + 1) == 1)
        };
        assert_eq!(is_inner("twice/new.holdup"), Some(inner));
        assert_eq!(foreign(&at("twice/new.holdup"), &|_| false), None);
        assert_eq!(foreign(&at("round/new.holdup"), &|_| false), None);
    }
}
