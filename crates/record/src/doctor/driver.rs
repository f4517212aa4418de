//! Checks the driver and its devices with the probe's facts.

use super::bounded;
use super::check::{Check, State};
use super::options::Options;
use super::probe::Fact;
use std::process::{Command, ExitStatus};

const DRIVER: &str = "driver";
const DEVICES: &str = "devices";

/// The first CUDA version whose CUPTI holdup supports.
const OLDEST: i32 = 12000;

/// The probe's facts.
pub struct Answer {
    facts: Vec<Fact>,
    /// How it failed, if it did.
    trouble: Option<String>,
}

impl Answer {
    /// The driver's CUDA version: 12040 is 12.4.
    pub fn cuda(&self) -> Option<i32> {
        self.facts.iter().find_map(|fact| if let Fact::Version { cuda } = fact { Some(*cuda) } else { None })
    }

    /// The CUPTI that the loader finds: the file, and its own version number.
    pub fn cupti(&self) -> Option<(&str, Option<u32>)> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::Cupti { path, version } => Some((path.as_str(), *version)),
            _ => None,
        })
    }

    fn library(&self) -> Option<&str> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::Library { path } => Some(path.as_str()),
            _ => None,
        })
    }

    /// Whether the driver can list its devices.
    fn is_working(&self) -> bool {
        self.facts.contains(&Fact::Initialized)
            || self.failure().is_some_and(|(_, code, _)| code == NO_DEVICE)
    }

    fn failure(&self) -> Option<(&str, i32, &str)> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::Failed { function, code, name } => Some((function.as_str(), *code, name.as_str())),
            _ => None,
        })
    }
}

/// Starts the probe and reads its facts.
pub fn ask(options: &Options) -> Answer {
    let Some((program, arguments)) = options.probe.split_first() else {
        return Answer { facts: Vec::new(), trouble: Some("there is no probe".to_owned()) };
    };
    let mut command = Command::new(program);
    command.args(arguments);
    // Neither holdup nor another tool must record the probe.
    for name in [spool::VAR_CUDA_INJECTION, spool::VAR_NVTX_INJECTION, spool::VAR_DIRECTORY] {
        command.env_remove(name);
    }
    match bounded::run(&mut command, options.patience) {
        Err(error) => {
            Answer { facts: Vec::new(), trouble: Some(format!("the probe does not start: {error}")) }
        }
        Ok(answer) => {
            let facts = answer.output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
            Answer { facts, trouble: trouble(answer.status, options) }
        }
    }
}

fn trouble(status: Option<ExitStatus>, options: &Options) -> Option<String> {
    match status {
        Some(status) if status.success() => None,
        Some(status) => Some(format!("the probe ended with {status}")),
        None => Some(format!("no answer within {} s", options.patience.as_secs_f32())),
    }
}

/// Checks whether the driver exists, works and is new enough.
pub fn check(answer: &Answer) -> Check {
    let missing = |found: String, remedy: &str| Check::bad(DRIVER, State::Missing, found, remedy);
    let no_library = answer.facts.iter().find_map(|fact| match fact {
        Fact::NoLibrary { reason } => Some(reason.clone()),
        _ => None,
    });
    if let Some(reason) = no_library {
        return missing(
            reason,
            "install NVIDIA's driver; in a container, start it with its GPUs (docker run --gpus all)",
        );
    }
    if let Some(trouble) = &answer.trouble {
        let what = answer.library().map_or(String::new(), |path| format!("{path}: "));
        return missing(
            format!("{what}{trouble}"),
            "look for errors of the driver in `dmesg`; reset the GPU or restart",
        );
    }
    match (answer.library(), answer.failure()) {
        (None, _) => {
            missing("the probe reported nothing".to_owned(), "this is an error in holdup; please report it")
        }
        (Some(path), Some((function, code, name))) if code != NO_DEVICE => {
            missing(format!("{path}: {function} fails with {code} {name}"), remedy(code))
        }
        (Some(path), _) => working(answer, path),
    }
}

fn working(answer: &Answer, path: &str) -> Check {
    let cuda = answer.cuda().unwrap_or_default();
    let module = std::fs::read_to_string("/proc/driver/nvidia/version").ok();
    let module = module.as_deref().and_then(module_version).map_or(String::new(), |at| format!("{at}, "));
    let found = format!("{module}for CUDA {}.{}, {path}", cuda / 1000, cuda % 1000 / 10);
    if cuda < OLDEST {
        let remedy = "update the driver to 525 or later: GPU records need CUDA 12";
        return Check::bad(DRIVER, State::Warn, found, remedy);
    }
    Check::ok(DRIVER, found)
}

/// The first word of `/proc/driver/nvidia/version` that is a version: "535.104.05".
fn module_version(text: &str) -> Option<&str> {
    let is_version =
        |word: &&str| word.contains('.') && word.split('.').all(|part| part.parse::<u32>().is_ok());
    text.split_ascii_whitespace().find(is_version)
}

/// `CUDA_ERROR_NO_DEVICE`
const NO_DEVICE: i32 = 100;

/// Remedy for a `CUresult` of `cuInit`.
fn remedy(code: i32) -> &'static str {
    match code {
        34 => "this is the toolkit's stub: remove its directory from LD_LIBRARY_PATH, or install the driver",
        802 => "start NVIDIA's fabric manager: systemctl start nvidia-fabricmanager",
        803 => "the library and the kernel module have different versions: restart after a driver update",
        804 => {
            "this GPU does not support a driver library newer than the kernel module: remove \"compat\" from LD_LIBRARY_PATH"
        }
        _ => "run `nvidia-smi`, and look for errors of the driver in `dmesg`",
    }
}

/// Checks the devices that are visible to programs.
pub fn devices(answer: &Answer) -> Check {
    let found: Vec<String> = answer.facts.iter().filter_map(device).enumerate().map(numbered).collect();
    if !found.is_empty() {
        return Check { name: DEVICES, state: State::Ok, found, remedy: None };
    }
    if !answer.is_working() {
        let remedy = "fix the driver first";
        return Check::bad(DEVICES, State::Missing, "unknown without a working driver", remedy);
    }
    match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(visible) => {
            let found = format!("no GPU is visible with CUDA_VISIBLE_DEVICES=\"{visible}\"");
            Check::bad(DEVICES, State::Missing, found, "unset CUDA_VISIBLE_DEVICES, or name existing GPUs")
        }
        Err(_) => {
            let remedy = "record on a machine with an NVIDIA GPU; in a container, start it with its GPUs";
            Check::bad(DEVICES, State::Missing, "no GPU is visible", remedy)
        }
    }
}

fn device(fact: &Fact) -> Option<String> {
    let Fact::Device { name, major, minor, memory } = fact else { return None };
    let gibibytes = *memory as f64 / f64::from(1 << 30);
    Some(format!("{name}, compute capability {major}.{minor}, {gibibytes:.1} GiB"))
}

fn numbered((number, device): (usize, String)) -> String {
    format!("{number}: {device}")
}

#[cfg(test)]
mod tests {
    use super::module_version;

    #[test]
    fn the_kernel_modules_version() {
        let closed =
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n";
        assert_eq!(module_version(closed), Some("535.104.05"));
        let open = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\n";
        assert_eq!(module_version(open), Some("580.159.04"));
        assert_eq!(module_version("something else"), None);
    }
}
