//! Commands that show what a table cannot, for each tool.

use summary::{Step, Tool};

/// Sentences of a step, each with its commands.
pub(super) fn sentences(step: Step, tool: Tool) -> Vec<String> {
    let sentences: &[&str] = match (step, tool) {
        (Step::Again, Tool::Julia) => &[
            "run the same expression under `CUDA.@profile` a second time: what happens once in a process is gone then",
            "measure it with a timer and no profiler, and the same library call in a C program: that tells what Julia and the profiler add",
        ],
        (Step::Again, Tool::Torch | Tool::Nvprof | Tool::Nsys) => {
            &["profile the same code a second time in the same process: what happens once is gone then"]
        }
        (Step::Trace, Tool::Torch) => &[
            "`holdup record -- python3 PROGRAM`, then `holdup explain` on the file that it names",
            "or `prof.export_chrome_trace(\"trace.json.gz\")` in place of the table, then `holdup explain trace.json.gz`",
        ],
        (Step::Trace, Tool::Nvprof) => &[
            "`holdup record -- PROGRAM`, then `holdup explain` on the file that it names",
            "or `nvprof -o trace.nvvp PROGRAM`, then `holdup explain trace.nvvp`",
        ],
        (Step::Trace, Tool::Nsys) => &[
            "`nsys export --type sqlite report.nsys-rep`, then `holdup explain report.sqlite`: the report has every call",
            "or `holdup record -- PROGRAM`, then `holdup explain` on the file that it names",
        ],
        (Step::Trace, Tool::Julia) => &[
            "`holdup record -- julia PROGRAM.jl`, then `holdup explain` on the file that it names",
            "or `nsys profile --capture-range=cudaProfilerApi -o report julia PROGRAM.jl` with `CUDA.@profile external=true` \
             in the program, then `nsys export --type sqlite report.nsys-rep` and `holdup explain report.sqlite`",
        ],
    };
    sentences.iter().map(|sentence| (*sentence).to_owned()).collect()
}
