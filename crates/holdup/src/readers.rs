//! Readers that an output file may have.
//!
//! A recording may hold argument strings, paths and stacks, so it is its owner's alone, and what is made of it is, too.

use std::path::Path;

/// Bits of read permission that a file may have beyond its owner's, as in `st_mode`. The umask takes further ones away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Readers(u32);

impl Readers {
    /// Its owner.
    pub const OWNER: Readers = Readers(0);
    /// All that the umask permits.
    pub const ALL: Readers = Readers(0o044);

    /// The users who may read each of the inputs that an output is made from. Standard input has no permissions.
    pub fn of<'a>(inputs: impl IntoIterator<Item = &'a Path>) -> Readers {
        let modes = inputs.into_iter().filter_map(mode);
        Readers(modes.fold(Readers::ALL.0, |all, mode| all & mode))
    }

    /// The mode of a new file. Who may read it may write it, where the umask permits that.
    pub fn file_mode(self) -> u32 {
        0o600 | self.0 | self.0 >> 1
    }

    /// The mode of a new folder.
    pub fn folder_mode(self) -> u32 {
        0o700 | self.0 | self.0 >> 1 | self.0 >> 2
    }
}

#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().ok().map(|found| found.permissions().mode())
}

#[cfg(not(unix))]
fn mode(_: &Path) -> Option<u32> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::{Permissions, set_permissions, write};
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_output_has_no_more_readers_than_its_inputs() {
        let folder = tempfile::tempdir().expect("can create");
        let [private, group, public] =
            [("private", 0o600), ("group", 0o640), ("public", 0o444)].map(|(name, mode)| {
                let path = folder.path().join(name);
                write(&path, "").expect("can write");
                set_permissions(&path, Permissions::from_mode(mode)).expect("own file");
                path
            });
        let modes = |inputs: &[&Path]| {
            let readers = Readers::of(inputs.iter().copied());
            (readers.file_mode(), readers.folder_mode())
        };
        assert_eq!(modes(&[&public]), (0o666, 0o777));
        assert_eq!(modes(&[&public, &group]), (0o660, 0o770));
        assert_eq!(modes(&[&group, &private, &public]), (0o600, 0o700));
        set_permissions(folder.path(), Permissions::from_mode(0o700)).expect("own folder");
        assert_eq!(modes(&[folder.path()]), (0o600, 0o700));
        assert_eq!(modes(&[Path::new("-"), &folder.path().join("none")]), (0o666, 0o777));
    }
}
