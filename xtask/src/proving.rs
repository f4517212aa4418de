//! Tries a tool on the cases of `proving/`, whose truth is known: `proving/README.md` has the rules.

mod case;
mod judge;
mod tool;

use case::{Case, Half};
use judge::{Judged, Judgement, judge};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use tool::Tool;

/// Choices of a run.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Tool to try: a file in proving/tools.
    #[arg(long, default_value = "holdup")]
    tool: String,
    /// Program to run in place of the first word of the tool's command.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Folder of texts that a tool printed before, NAME.txt for each case, in place of running it.
    #[arg(long, conflicts_with = "program")]
    answers: Option<PathBuf>,
    /// List the cases of the sealed half, too. Rules are never changed for one of them.
    #[arg(long)]
    unseal: bool,
    /// Print the screens of these cases, and nothing else.
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
}

/// Prints the score of a tool; fails if a case is not well formed or the tool cannot be run.
pub(crate) fn run(root: &Path, options: &Options) -> ExitCode {
    match try_tool(root, options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("xtask: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn try_tool(root: &Path, options: &Options) -> Result<(), String> {
    let ground = root.join("proving");
    let classes = case::Classes::read(&ground.join("classes.toml"))?;
    let tool = Tool::read(&ground.join(format!("tools/{}.toml", options.tool)), &classes)?;
    let cases = case::all(&ground, &classes)?;
    if let Some(stray) = options.cases.iter().find(|name| cases.iter().all(|case| case.name != **name)) {
        return Err(format!("proving: no case `{stray}`: the folders of proving/ are their names"));
    }
    let program = match (&options.program, &options.answers, options.tool.as_str()) {
        (Some(program), ..) => program.clone(),
        (None, None, "holdup") => built(root)?,
        _ => PathBuf::from(&tool.command[0]),
    };
    let mut scores: BTreeMap<Half, Vec<Judged>> = BTreeMap::new();
    let mut unrecorded = 0;
    for case in cases.iter().filter(|case| options.cases.is_empty() || options.cases.contains(&case.name)) {
        let Some(answer) = answer(case, &tool, &program, options)? else {
            unrecorded += 1;
            continue;
        };
        let screen = tool.screen(&answer);
        let judged = judge(case, &tool, &screen);
        let judgement = judged.judgement;
        scores.entry(case.half).or_default().push(judged);
        if options.cases.contains(&case.name) {
            println!("{} · {judgement}: {}\n\n{}\n", case.name, case.title, screen.text);
        } else if judgement != Judgement::Right && (case.half == Half::Open || options.unseal) {
            println!(
                "{judgement:10}  {}\n            {}\n            {}",
                case.name, case.title, screen.statement
            );
        }
    }
    if options.cases.is_empty() {
        print_scores(&scores, unrecorded);
    }
    Ok(())
}

/// The holdup of this checkout, built.
fn built(root: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "-p", "holdup", "--message-format", "json-render-diagnostics"])
        .current_dir(root);
    let output = build.stderr(std::process::Stdio::inherit()).output().map_err(|error| error.to_string())?;
    let messages = String::from_utf8_lossy(&output.stdout);
    let executable = |line: &str| {
        Some(serde_json::from_str::<serde_json::Value>(line).ok()?["executable"].as_str()?.to_owned())
    };
    messages
        .lines()
        .filter_map(executable)
        .next_back()
        .map(PathBuf::from)
        .ok_or_else(|| "holdup cannot be built".to_owned())
}

/// Text that the tool prints for a case; `None` if the case has no recording.
fn answer(case: &Case, tool: &Tool, program: &Path, options: &Options) -> Result<Option<String>, String> {
    if let Some(folder) = &options.answers {
        return Ok(std::fs::read_to_string(folder.join(format!("{}.txt", case.name))).ok());
    }
    if !case.input.exists() {
        return Ok(None);
    }
    let words = tool.command.iter().map(|word| word.replace("{input}", &case.input.to_string_lossy()));
    let words: Vec<String> = words.collect();
    let output = Command::new(program).args(&words[1..]).output();
    let output =
        output.map_err(|error| format!("{}: {error}: name the program with --program", program.display()))?;
    // A refusal is on standard error, and an answer as well.
    let texts = [output.stdout, output.stderr].concat();
    Ok(Some(String::from_utf8_lossy(&texts).into_owned()))
}

/// `open    49 of 51 right (96 %), 1 in part, 1 wrong; 0 of 11 controls accused`, and how many have which part of the truth, so that a tool
/// learns what it lacks and not where.
fn print_scores(scores: &BTreeMap<Half, Vec<Judged>>, unrecorded: u64) {
    for (half, judged) in scores {
        let count = |judgement| judged.iter().filter(|one| one.judgement == judgement).count();
        let [right, part, wrong] = [Judgement::Right, Judgement::InPart, Judgement::Wrong].map(count);
        let [clear, accused] = [Judgement::Clear, Judgement::Accusation].map(count);
        let (faults, controls) = (right + part + wrong, clear + accused);
        let share = right as f64 / faults.max(1) as f64 * 100.0;
        println!(
            "{half:7} {right} of {faults} right ({share:.0} %), {part} in part, {wrong} wrong; {accused} of {controls} controls accused"
        );
        let is_fault = |one: &&Judged| !matches!(one.judgement, Judgement::Clear | Judgement::Accusation);
        let [cause, place, fix] =
            [0, 1, 2].map(|part| judged.iter().filter(is_fault).filter(|one| one.parts[part]).count());
        println!("        cause stated in {cause}, place in {place}, a fix in {fix}");
    }
    if unrecorded > 0 {
        println!("{unrecorded} cases have no recording or answer");
    }
}
