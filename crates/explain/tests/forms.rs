//! The applied forms of fixes: each is named, short, and of the language that its file's name states. `tests/gpu/forms.py` runs them.

use explain::{About, Cause, Fix, Form, Framework};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/forms")
}

fn fixes() -> impl Iterator<Item = &'static Fix> {
    Cause::ALL.iter().flat_map(|cause| About::of(*cause).fixes)
}

/// Each form by its file.
fn forms() -> BTreeMap<&'static str, &'static Form> {
    fixes().flat_map(|fix| fix.forms).map(|form| (form.file, form)).collect()
}

#[test]
fn each_file_is_a_form_of_a_fix() {
    let files =
        std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let files: BTreeSet<String> = files.collect();
    assert_eq!(files, forms().keys().map(|file| (*file).to_owned()).collect());
}

/// On a page of 80 columns 65 are left: code is never wrapped or cut.
#[test]
fn forms_are_short() {
    for (file, form) in forms() {
        let lines: Vec<&str> = form.code.lines().collect();
        assert!((1..=6).contains(&lines.len()), "{file}");
        assert!(lines.iter().all(|line| line.chars().count() <= 65 && line.trim_end() == *line), "{file}");
        assert!(form.code.ends_with('\n') && !form.code.contains('\t'), "{file}");
    }
}

#[test]
fn a_fix_has_at_most_one_form_for_a_framework() {
    for fix in fixes() {
        for framework in Framework::ALL {
            let fitting = fix.forms.iter().filter(|form| form.fits(Some(*framework)));
            assert!(fitting.count() <= 1, "{} {}", fix.id, framework.id());
        }
    }
    // JAX has no streams, and pins no memory of NumPy's arrays.
    let of_jax = |id: &str| {
        let fix = fixes().find(|fix| fix.id == id).unwrap();
        fix.forms.iter().any(|form| form.fits(Some(Framework::Jax)))
    };
    assert!(!of_jax("own-stream") && !of_jax("pinned-reused") && of_jax("device-scalar"));
}

#[test]
fn forms_compile() {
    let checked = |program: &str, arguments: &[&str], language: &str| {
        if Command::new(program).arg("--version").output().is_err() {
            eprintln!("no {program}: {language} is not checked");
            return;
        }
        let forms = forms();
        let of_language: Vec<_> = forms.values().filter(|form| form.language() == language).collect();
        assert!(!of_language.is_empty());
        for form in of_language {
            let output =
                Command::new(program).args(arguments).arg(folder().join(form.file)).output().unwrap();
            assert!(output.status.success(), "{}: {}", form.file, String::from_utf8_lossy(&output.stderr));
        }
    };
    let compile = "import sys; compile(open(sys.argv[1]).read(), sys.argv[1], 'exec')";
    checked("python3", &["-c", compile], "python");
    checked("bash", &["-n"], "sh");
}
