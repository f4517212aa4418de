//! Readers of files that `holdup record` and the commands after it write, and where they do not write: no GPU is needed.
#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "the capture library's own tests use the rest")]
#[path = "../../capture/tests/standin/compile.rs"]
mod compile;

use compile::{Binding, built, library};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

const NOBODY: u32 = 65534;

fn directory() -> TempDir {
    tempfile::tempdir().expect("can create")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("output is UTF-8")
}

/// `holdup` in a directory under a umask.
fn holdup(directory: &Path, umask: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", "umask $0; exec \"$@\"", umask, env!("CARGO_BIN_EXE_holdup")]).args(arguments);
    command.current_dir(directory).stdin(Stdio::null());
    command.env("HOLDUP_CAPTURE_LIB", library()).env("STANDIN_FACTS", directory.join("facts"));
    command.env("LD_LIBRARY_PATH", built().folder(Binding::Lazy)).env_remove("LD_PRELOAD");
    command.output().expect("the program starts")
}

/// The same as [`holdup`], which succeeds.
fn succeeds(directory: &Path, umask: &str, arguments: &[&str]) {
    let output = holdup(directory, umask, arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
}

fn waits() -> String {
    built().looking_up("waits").display().to_string()
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display())).mode() & 0o777
}

/// The files of a folder, however deep.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("is there").flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Whether this user may give a file to another one.
fn is_root() -> bool {
    // SAFETY: only returns a number.
    unsafe { libc::geteuid() == 0 }
}

/// A link that another user made.
fn foreign_link(to: &Path, at: &Path) -> PathBuf {
    symlink(to, at).expect("can link");
    lchown(at, Some(NOBODY), Some(NOBODY)).expect("root may");
    at.to_owned()
}

#[test]
fn a_recording_is_its_owners_alone_unless_it_is_shared() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    for (umask, alone, shared) in
        [("000", 0o600, 0o666), ("022", 0o600, 0o644), ("077", 0o600, 0o600), ("027", 0o600, 0o640)]
    {
        let (waits, file) = (waits(), format!("{umask}.holdup"));
        succeeds(directory.path(), umask, &["record", "-q", "-o", &file, &waits, "uncontended"]);
        assert_eq!(mode(&at(&file)), alone, "umask {umask}");
        succeeds(
            directory.path(),
            umask,
            &["record", "-q", "--share", "--force", "-o", &file, &waits, "uncontended"],
        );
        assert_eq!(mode(&at(&file)), shared, "umask {umask}, shared");
    }
}

#[test]
fn a_spool_is_its_owners_alone_while_the_program_runs() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    // `stat` is a process of the program, after one that recorded.
    let script = "\"$0\" uncontended; stat -c '%a %n' \"$HOLDUP_SPOOL\" \"$HOLDUP_SPOOL\"/* > modes";
    fs::create_dir(at("spools")).expect("can create");
    symlink("spools", at("own-link")).expect("can link");
    for umask in ["000", "022", "077"] {
        let arguments = ["record", "-q", "--spool-dir", "own-link", "--share", "sh", "-c", script, &waits()];
        succeeds(directory.path(), umask, &arguments);
        let modes = fs::read_to_string(at("modes")).expect("it was made");
        let (folder, files) = modes.split_once('\n').expect("a line for the folder");
        assert!(folder.starts_with("700 "), "umask {umask}: {modes}");
        assert!(
            files.lines().count() >= 2 && files.lines().all(|file| file.starts_with("600 ")),
            "umask {umask}: {modes}"
        );
        assert_eq!(fs::read_dir(at("spools")).expect("is there").count(), 0, "the spool is removed");
    }
}

#[test]
fn parts_of_a_program_obey_the_same() {
    let directory = directory();
    let program = built().looking_up("long").display().to_string();
    for (share, expected) in [(&[][..], 0o600), (&["--share"], 0o644)] {
        let words = [&["record", "-q", "--after", "program"], share, &["--", &program, "windows"]].concat();
        succeeds(directory.path(), "022", &words);
        let made: Vec<_> =
            fs::read_dir(directory.path()).expect("is there").flatten().map(|entry| entry.path()).collect();
        let parts: Vec<_> =
            made.iter().filter(|path| path.extension().is_some_and(|it| it == "holdup")).collect();
        assert!(!parts.is_empty(), "{made:?}");
        for part in parts {
            assert_eq!(mode(part), expected, "{}", part.display());
            fs::remove_file(part).expect("own file");
        }
    }
}

#[test]
fn what_is_made_of_a_trace_has_no_more_readers_than_it() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pytorch-d2h-stall.json.gz");
    fs::copy(example, at("trace")).expect("can copy");
    for (readers, file, folder) in [(0o600, 0o600, 0o700), (0o640, 0o640, 0o750), (0o644, 0o644, 0o755)] {
        fs::set_permissions(at("trace"), fs::Permissions::from_mode(readers)).expect("own file");
        let outputs: [(&[&str], &str, u32); 8] = [
            (&["import", "trace"], "out.holdup", file),
            (&["explain", "trace", "--gains", "never", "--format", "html"], "out.html", file),
            (&["explain", "trace", "--gains", "never", "--format", "json"], "out.json", file),
            (&["export", "trace", "--format", "chrome"], "out.trace", file),
            (&["export", "trace", "--format", "csv"], "out.csv", folder),
            (&["case", "trace"], "out.case", folder),
            (&["case", "trace"], "out.zip", file),
            (&["digest", "trace"], "out.digests", 0o755),
        ];
        for (words, name, expected) in outputs {
            let force: &[&str] = if words[0] == "digest" { &[] } else { &["--force"] };
            succeeds(directory.path(), "022", &[words, &["-o", name], force].concat());
            assert_eq!(mode(&at(name)), expected, "{words:?} of a trace of mode {readers:o}");
        }
        let digests = files(&at("out.digests"));
        assert!(!digests.is_empty());
        for digest in digests {
            assert_eq!(mode(&digest), file, "{} of a trace of mode {readers:o}", digest.display());
        }
        fs::remove_dir_all(at("out.digests")).expect("own folder");
    }
}

#[test]
fn nothing_is_written_through_a_link_of_another_user() {
    if !is_root() {
        return;
    }
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("folder")).expect("can create");
    fs::write(at("victim"), "untouched").expect("can write");
    foreign_link(Path::new("folder"), &at("way"));
    foreign_link(Path::new("victim"), &at("file"));
    let (waits, ran) = (waits(), at("ran").display().to_string());
    let program = ["sh", "-c", "touch \"$1\"; exec \"$0\" uncontended", &waits, &ran];
    let refused: [(&[&str], &str); 4] = [
        (&["-o", "way/new.holdup"], "way/new.holdup"),
        (&["-o", "file", "--force"], "file"),
        (&["-o", "file"], "file"),
        (&["--spool-dir", "way"], "way"),
    ];
    for (options, named) in refused {
        let output = holdup(directory.path(), "022", &[&["record"], options, &program].concat());
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{options:?}: {said}");
        assert!(said.starts_with(&format!("holdup: {named}: leads through /")), "{said}");
        assert!(said.contains("another user") && said.contains("name what it leads to"), "{said}");
    }
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/pytorch-d2h-stall.json.gz");
    for words in [
        &["import", example, "-o", "way/new"][..],
        &["export", example, "--format", "csv", "-o", "way/new"],
        &["digest", example, "-o", "way/new"],
    ] {
        assert_eq!(holdup(directory.path(), "022", words).status.code(), Some(2), "{words:?}");
    }
    assert!(!at("ran").exists(), "the program is not started");
    assert_eq!(fs::read_dir(at("folder")).expect("is there").count(), 0);
    assert_eq!(fs::read_to_string(at("victim")).expect("is there"), "untouched");
}

#[test]
fn processes_of_another_user_are_counted_and_said() {
    if !is_root() {
        return;
    }
    let directory = directory();
    let files = built().looking_up("files").display().to_string();
    let output = holdup(directory.path(), "022", &["record", "-o", "none.holdup", &files, "is-nobody"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "done\n"));
    let lines: Vec<&str> = text(&output.stderr).lines().collect();
    let [refused, nothing] = lines[..] else { panic!("{lines:?}") };
    let why =
        "was not recorded: user 65534 may not write to this recording: start holdup record as that user";
    assert!(refused.starts_with("holdup: process ") && refused.ends_with(why), "{refused}");
    assert_eq!(nothing, "holdup: nothing was recorded: every process that used CUDA was refused");
    // Beside one that is recorded.
    let script = "\"$0\" uncontended; \"$1\" is-nobody; \"$1\" is-nobody";
    succeeds(
        directory.path(),
        "022",
        &["record", "-q", "-o", "one.holdup", "sh", "-c", script, &waits(), &files],
    );
    let trace = import::open(&directory.path().join("one.holdup"), &mut |_| {}).expect("it was recorded");
    assert_eq!(
        trace.meta.lost.reasons.get("process that could not make its file"),
        Some(&2),
        "{:?}",
        trace.meta.lost
    );
    let notes = trace.meta.notes.join("\n");
    assert!(notes.contains("2 processes (") && notes.contains("were not recorded: user 65534"), "{notes}");
}

#[test]
fn a_spool_file_that_may_not_be_read_is_counted() {
    if !is_root() {
        return;
    }
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    for (pid, mode) in [(7, 0o600), (8, 0o644)] {
        let path = at(&format!("{pid}-0.spool"));
        fs::write(&path, spool::Build::new(pid, spool::Level::Light).finish()).expect("can write");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("own file");
    }
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).expect("own folder");
    let read = || {
        // SAFETY: the system call changes the user of this thread alone.
        let code = unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) };
        assert_eq!(code, 0, "root may");
        import::open(directory.path(), &mut |_| {}).expect("one can be read")
    };
    let trace = std::thread::scope(|scope| scope.spawn(read).join().expect("it ends"));
    assert_eq!(
        trace.meta.lost.reasons.get("spool file that cannot be read"),
        Some(&1),
        "{:?}",
        trace.meta.lost
    );
    assert!(
        trace.meta.notes.concat().contains("process 7: its records cannot be read"),
        "{:?}",
        trace.meta.notes
    );
}

#[test]
fn links_of_ones_own_lead_somewhere() {
    let directory = directory();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("folder")).expect("can create");
    fs::write(at("other"), "untouched").expect("can write");
    symlink("folder", at("way")).expect("can link");
    symlink("../other", at("folder/new.holdup")).expect("can link");
    // The link at the end is replaced, and not followed.
    let arguments = ["record", "-q", "--force", "-o", "way/new.holdup", &waits(), "uncontended"];
    succeeds(directory.path(), "022", &arguments);
    assert!(at("folder/new.holdup").symlink_metadata().expect("is there").is_file());
    assert_eq!(fs::read_to_string(at("other")).expect("is there"), "untouched");
}
