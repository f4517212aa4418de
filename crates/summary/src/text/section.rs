//! Lines between tables: the beginning of a profile or of a part of it, and sums that the tool states.

use super::amount::duration;
use crate::model::Tool;
use trace::Ns;

/// Kind of the rows of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Calls,
    Os,
    Kernels,
    /// Copies and fills by time.
    Copies,
    /// All work of the GPU.
    Work,
    /// Unified memory.
    Pages,
    /// PyTorch's table: operators, calls and work.
    Operators,
    /// Ranges, sizes, and all else that is no sum of calls or work.
    Other,
}

/// Meaning of a line outside of tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Notice {
    /// A profile begins; Julia states its span.
    Begin(Tool, Option<Ns>),
    /// A part begins.
    Part(Tool, Part),
    /// A part is empty.
    Empty(Tool, Part),
    /// Sum of the host's or the GPU's time in PyTorch's footer.
    Host(Ns),
    Device(Ns),
}

/// Meaning of a line; `None` for talk, output of the program, and lines of tables.
pub(super) fn notice(line: &str) -> Option<Notice> {
    let line = line.trim().trim_start_matches(['#', '*', ' ']);
    julia(line).or_else(|| nvprof(line)).or_else(|| torch(line)).or_else(|| nsys(line))
}

fn julia(line: &str) -> Option<Notice> {
    if let Some(rest) = line.strip_prefix("Profiler ran for ") {
        let end = rest.find([',', '(']).unwrap_or(rest.len());
        return Some(Notice::Begin(Tool::Julia, duration(rest[..end].trim_end_matches('.'), None)));
    }
    let part = match line {
        _ if line.starts_with("Host-side activity") => Part::Calls,
        _ if line.starts_with("Device-side activity") => Part::Work,
        _ if line.starts_with("NVTX ranges") => Part::Other,
        _ if line.starts_with("No host-side activity") => {
            return Some(Notice::Empty(Tool::Julia, Part::Calls));
        }
        _ if line.starts_with("No device-side activity") => {
            return Some(Notice::Empty(Tool::Julia, Part::Work));
        }
        _ => return None,
    };
    Some(Notice::Part(Tool::Julia, part))
}

fn nvprof(line: &str) -> Option<Notice> {
    match line {
        "No kernels were profiled." => return Some(Notice::Empty(Tool::Nvprof, Part::Work)),
        "No API activities were profiled." => return Some(Notice::Empty(Tool::Nvprof, Part::Calls)),
        _ => {}
    }
    let (process, text) = line.strip_prefix("==")?.split_once("==")?;
    process.bytes().all(|byte| byte.is_ascii_digit() || byte == b'=').then_some(())?;
    match text.trim_start_matches('=').trim() {
        "Profiling result:" => Some(Notice::Begin(Tool::Nvprof, None)),
        "API calls:" => Some(Notice::Part(Tool::Nvprof, Part::Calls)),
        "Unified Memory profiling result:" => Some(Notice::Part(Tool::Nvprof, Part::Pages)),
        _ => None,
    }
}

fn torch(line: &str) -> Option<Notice> {
    let (words, amount) = line.split_once(" time total:")?;
    let ns = duration(amount, None)?;
    let words = words.to_lowercase();
    Some(if words.ends_with("cpu") { Notice::Host(ns) } else { Notice::Device(ns) })
}

/// The part that a heading of `nsys stats` names, in any version: `** CUDA API Summary (cuda_api_sum):`, `CUDA API Statistics:`,
/// `[4/7] Executing 'cudaapisum' stats report`.
fn nsys(line: &str) -> Option<Notice> {
    let lower = line.to_lowercase();
    let is_heading = ["statistics", "summary (", "stats report", "sum.py", "_sum)"]
        .iter()
        .any(|word| lower.contains(word))
        && !lower.starts_with("generating");
    if !is_heading || line.len() > 200 {
        return None;
    }
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let part = match () {
        () if has(&[
            "kib)", "(mb)", "by size", "memsize", "mem_size", "nvtx", "opengl", "vulkan", "dx1", "um_",
        ]) =>
        {
            Part::Other
        }
        () if has(&["operating system", "osrt", "os runtime"]) => Part::Os,
        () if has(&["cuda api", "cudaapi", "cuda_api"]) => Part::Calls,
        () if has(&["memory operation", "memops", "memtime", "mem_time"]) => Part::Copies,
        () if has(&["gpu summary", "gpusum", "gpu_sum"]) => Part::Work,
        () if has(&["kernel", "kern"]) => Part::Kernels,
        () => Part::Other,
    };
    Some(Notice::Part(Tool::Nsys, part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_of_every_tool_are_recognized() {
        let nsys = |part| Some(Notice::Part(Tool::Nsys, part));
        let cases = [
            (
                "Profiler ran for 5.03 ms, capturing 29 events.",
                Some(Notice::Begin(Tool::Julia, Some(5_030_000))),
            ),
            ("==12== Profiling result:", Some(Notice::Begin(Tool::Nvprof, None))),
            ("======== Profiling result:", Some(Notice::Begin(Tool::Nvprof, None))),
            ("==12== API calls:", Some(Notice::Part(Tool::Nvprof, Part::Calls))),
            ("Self CPU time total: 2.3ms", Some(Notice::Host(2_300_000))),
            ("Self CUDA time total: 23.104us", Some(Notice::Device(23_104))),
            (" ** CUDA API Summary (cuda_api_sum):", nsys(Part::Calls)),
            ("[4/7] Executing 'cudaapisum' stats report", nsys(Part::Calls)),
            ("CUDA Kernel Statistics (nanoseconds)", nsys(Part::Kernels)),
            ("CUDA Memory Operation Statistics (KiB)", nsys(Part::Other)),
            ("CUDA Memory Operation Statistics (by time):", nsys(Part::Copies)),
            ("Running [/opt/reports/gpumemtimesum.py a.sqlite]...", nsys(Part::Copies)),
            ("** OS Runtime Summary (osrt_sum):", nsys(Part::Os)),
            ("Generating CUDA Kernel Statistics...", None),
            ("the kernels take most of the time", None),
        ];
        for (line, meaning) in cases {
            assert_eq!(notice(line), meaning, "{line}");
        }
    }
}
