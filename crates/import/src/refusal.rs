//! Problems of inputs that are not traces: each says what the input is, as far as its content or its name tells, and the
//! next step that gives a trace.

use crate::error::Problem;
use crate::source;
use std::path::Path;

/// A kind of input that is not a trace.
struct Kind {
    what: &'static str,
    what_to_do: &'static str,
}

/// Length of the beginning of a text that shows its kind, bytes.
pub(crate) const RECOGNIZED: usize = 64 << 10;

const RECORD: &str = "record the program with `holdup record`, or with `nsys profile`";
const EXPORT_CHROME: &str = "export the profile with `export_chrome_trace`, or record with `holdup record`";

/// Inputs by the bytes that they begin with.
const BEGINNINGS: &[(&[u8], Kind)] = &[
    (
        b"version https://git-lfs",
        Kind { what: "a git-lfs pointer, not the file itself", what_to_do: "fetch it with `git lfs pull`" },
    ),
    (
        b"\x7fELF",
        Kind { what: "a program, not a trace", what_to_do: "record it with `holdup record -- PROGRAM`" },
    ),
    (b"PERFILE2", Kind { what: "a profile of perf, which has no CUDA calls", what_to_do: RECORD }),
    (
        b"\x80\x04",
        Kind {
            what: "a pickle of Python, such as a snapshot of PyTorch's memory",
            what_to_do: EXPORT_CHROME,
        },
    ),
    (
        b"PAR1",
        Kind {
            what: "a Parquet table, not a whole trace",
            what_to_do: "name the .holdup file that it comes from",
        },
    ),
    (
        b"\x28\xb5\x2f\xfd",
        Kind { what: "compressed with zstd", what_to_do: "unpack it and name the unpacked file" },
    ),
    (b"BZh", Kind { what: "compressed with bzip2", what_to_do: "unpack it and name the unpacked file" }),
    (b"\xfd7zXZ", Kind { what: "compressed with xz", what_to_do: "unpack it and name the unpacked file" }),
    (
        b"<",
        Kind {
            what: "XML, such as a Visual Profiler session, without trace records",
            what_to_do: "name the SQLite file that `nvprof -o` wrote",
        },
    ),
];

/// Inputs by how their names end. Only a file that no content tells apart is judged by its name.
const ENDINGS: &[(&str, Kind)] = &[
    (
        ".nsys-rep",
        Kind {
            what: "a report of Nsight Systems",
            what_to_do: "export it with `nsys export --type sqlite` and name that file",
        },
    ),
    (
        ".qdrep",
        Kind {
            what: "a report of an older Nsight Systems",
            what_to_do: "export it with `nsys export --type sqlite` and name that file",
        },
    ),
    (
        ".qdstrm",
        Kind {
            what: "an unfinished report of Nsight Systems",
            what_to_do: "open it in Nsight Systems, or record again, and export that with `nsys export --type sqlite`",
        },
    ),
    (
        ".ncu-rep",
        Kind { what: "a report of Nsight Compute: single kernels, and no host threads", what_to_do: RECORD },
    ),
    (
        ".xplane.pb",
        Kind { what: "a profile of XLA (JAX, TensorFlow), without CUDA calls by thread", what_to_do: RECORD },
    ),
    (".pftrace", PERFETTO),
    (".perfetto-trace", PERFETTO),
    (
        ".py",
        Kind { what: "a program, not a trace", what_to_do: "record it with `holdup record -- python3 FILE`" },
    ),
];

const PERFETTO: Kind =
    Kind { what: "a trace for Perfetto's viewer", what_to_do: "name the trace that it was made from" };

/// JSON and JavaScript's relatives by a text near their beginning.
const JSON: &[(&[u8], Kind)] = &[
    (
        b"chakra",
        Kind {
            what: "an execution trace of PyTorch, which has operators and no CUDA calls",
            what_to_do: EXPORT_CHROME,
        },
    ),
    (
        b"speedscope.app",
        Kind { what: "a profile for speedscope: samples, and no CUDA calls", what_to_do: RECORD },
    ),
    (
        b"\"viztracer_metadata\"",
        Kind { what: "a trace of VizTracer: Python's functions, and no CUDA calls", what_to_do: RECORD },
    ),
    (
        b"\"resourceSpans\"",
        Kind { what: "spans of OpenTelemetry, which have no CUDA calls", what_to_do: RECORD },
    ),
    (
        b"\"nbformat\"",
        Kind {
            what: "a notebook",
            what_to_do: "run it as a program under `holdup record`, or profile a cell and export that",
        },
    ),
    (b"\"/device:GPU:", XLA),
    (b"\"/host:CPU\"", XLA),
    (b"\"device_traces\"", Kind { what: "a snapshot of PyTorch's memory", what_to_do: EXPORT_CHROME }),
    (b"devtools.timeline", Kind { what: "a trace of a browser", what_to_do: RECORD }),
];

const XLA: Kind = Kind {
    what: "a trace of XLA's profiler (JAX, TensorFlow), without CUDA calls by thread",
    what_to_do: RECORD,
};

/// Printed text by words that it contains, all of them.
const TEXTS: &[(&[&[u8]], Kind)] = &[
    (
        &[b"Self CPU", b"CPU total"],
        Kind {
            what: "a summary table of PyTorch's profiler, without events",
            what_to_do: "`holdup explain` reads its sums; `export_chrome_trace` exports events",
        },
    ),
    (
        &[b"Host-side activity"],
        Kind {
            what: "a summary table of Julia's `CUDA.@profile`, without events",
            what_to_do: "`holdup explain` reads its sums; `CUDA.@profile external=true` under `nsys profile` records events",
        },
    ),
    (&[b"NVIDIA-SMI"], Kind { what: "output of nvidia-smi", what_to_do: RECORD }),
];

impl From<&Kind> for Problem {
    fn from(kind: &Kind) -> Problem {
        Problem::NotATrace { what: kind.what.to_owned(), what_to_do: kind.what_to_do }
    }
}

/// Whether the bytes hold only printable characters.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    !bytes.iter().any(|byte| *byte < b' ' && !byte.is_ascii_whitespace() && *byte != 0x1b)
}

/// Problem of an input that is certainly not a trace. A text may be a listing after much other output of the program.
pub(crate) fn known(head: &[u8]) -> Option<Problem> {
    if head.iter().all(|byte| *byte == 0) {
        let what = "only zero bytes at its start: a sparse or unfinished file".to_owned();
        return Some(Problem::NotATrace { what, what_to_do: "copy or export it again" });
    }
    if head.iter().all(|byte| byte.is_ascii_whitespace()) {
        return Some(Problem::NotATrace {
            what: "white space only".to_owned(),
            what_to_do: "record or export the trace again",
        });
    }
    let start = head.trim_ascii_start();
    let kind = BEGINNINGS.iter().find(|(beginning, _)| start.starts_with(beginning));
    kind.map(|(_, kind)| kind.into()).or_else(|| (!is_text(head)).then_some(Problem::Unknown))
}

/// The problem of a SQLite database from a stream: SQLite seeks in its file, and holdup makes no temporary copies.
pub(crate) fn needs_a_file() -> Problem {
    Problem::NotATrace {
        what: "a SQLite database without a file name".to_owned(),
        what_to_do: "name the file instead of piping it",
    }
}

/// The problem of JSON that begins with `head` and is no trace; `has_events` if it has events, of another tool.
pub(crate) fn json(head: &[u8], has_events: bool) -> Problem {
    if let Some((_, kind)) = JSON.iter().find(|(words, _)| contains(head, words)) {
        return kind.into();
    }
    let what = match has_events {
        true => "JSON with trace events, but none of PyTorch's profiler",
        false => "JSON without trace events",
    };
    Problem::NotATrace {
        what: what.to_owned(),
        what_to_do: "name a trace exported by torch.profiler (export_chrome_trace)",
    }
}

/// The problem of a text that begins with `head` and has no listing in it.
pub(crate) fn text(head: &[u8]) -> Problem {
    let kind = TEXTS.iter().find(|(words, _)| words.iter().all(|word| contains(head, word)));
    kind.map_or(Problem::Unknown, |(_, kind)| kind.into())
}

/// `problem`, said of the file at `path`: its name tells where its content did not.
pub(crate) fn named(problem: Problem, path: &Path) -> Problem {
    if let Problem::NoEvents { problem, text } = problem {
        return Problem::NoEvents { problem: Box::new(named(*problem, path)), text };
    }
    let Problem::Unknown = problem else { return problem };
    let name = path.to_string_lossy().to_lowercase();
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map_or(problem, |(_, kind)| kind.into())
}

/// The forms that [`Problem::Unknown`] names.
pub(crate) fn titles() -> String {
    source::ALL.map(|source| source.title).join(", ")
}

fn contains(text: &[u8], words: &[u8]) -> bool {
    text.windows(words.len()).any(|window| window == words)
}

#[cfg(test)]
mod tests {
    use crate::read_bytes;
    use std::io::Write;

    /// Problem of a file with this name and content.
    fn said(name: &str, content: &[u8]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::File::create(&path).unwrap().write_all(content).unwrap();
        crate::open(&path, &mut |_| ()).err().unwrap().problem.to_string()
    }

    #[test]
    fn files_of_other_tools_are_named_with_the_step_that_gives_a_trace() {
        let cases: &[(&str, &[u8], &str, &str)] = &[
            ("run.nsys-rep", b"\x01\x02\x03", "report of Nsight Systems", "nsys export --type sqlite"),
            ("run.QDREP", b"\x01\x02\x03", "older Nsight Systems", "nsys export --type sqlite"),
            ("run.ncu-rep", b"\x01\x02\x03", "Nsight Compute", "holdup record"),
            ("host.xplane.pb", b"\x0a\x20\x12\x01", "profile of XLA", "holdup record"),
            ("run", b"\x7fELF\x02\x01", "a program", "holdup record -- PROGRAM"),
            ("run.py", b"x = 1\n", "a program", "python3 FILE"),
            (
                "table.txt",
                b"Name  Self CPU %  CPU total %\naten::mm 1\n",
                "summary table of PyTorch",
                "export_chrome_trace",
            ),
            ("perf.data", b"PERFILE2\0\0", "profile of perf", "holdup record"),
            (
                "a.json",
                br#"{"schema": "1.0.2-chakra.0.0.4", "nodes": []}"#,
                "execution trace",
                "export_chrome_trace",
            ),
            (
                "b.json",
                br#"{"$schema": "https://www.speedscope.app/file-format-schema.json"}"#,
                "speedscope",
                "holdup record",
            ),
            (
                "c.json",
                br#"{"traceEvents": [{"ph": "M", "args": {"name": "/device:GPU:0"}}]}"#,
                "XLA's profiler",
                "holdup record",
            ),
            (
                "d.json",
                br#"{"traceEvents": [{"ph": "X", "cat": "rpc", "ts": 1, "dur": 2}]}"#,
                "with trace events, but none",
                "torch.profiler",
            ),
            ("e.json", br#"{"a": 1}"#, "without trace events", "torch.profiler"),
        ];
        for (name, content, what, what_to_do) in cases {
            let said = said(name, content);
            assert!(said.contains(what) && said.contains(what_to_do), "{name}: {said}");
        }
    }

    /// A name says nothing about content that tells more.
    #[test]
    fn content_counts_for_more_than_a_name() {
        assert!(said("run.nsys-rep", b"PERFILE2\0\0").contains("profile of perf"));
        let problem = read_bytes(b"Dear diary,\n", "diary.txt").err().unwrap().problem.to_string();
        assert!(problem.contains("not a trace that holdup reads"), "{problem}");
    }
}
