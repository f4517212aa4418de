//! Runs both commands by turns until that is enough.

use crate::arms::Arm;
use crate::error::{Error, Problem};
use crate::judge::{Block, Judgement, judge};
use crate::metric::Metric;
use crate::outputs::{Agreement, Outputs};
use crate::plan::Plan;
use crate::side::Side;
use std::time::Duration;

/// Result of a run of a command.
pub struct Run {
    /// From its start to its end.
    pub wall: Duration,
    /// Text that it printed on standard output.
    pub output: String,
    /// Text that it printed on standard error.
    pub error: String,
}

/// Commands that are compared, the metric, and the number of runs.
pub struct Tested {
    /// The command before the change, and the command after it.
    pub arms: [Arm; 2],
    /// Figure that is measured.
    pub metric: Metric,
    /// How often.
    pub plan: Plan,
}

impl Tested {
    /// The command of that side.
    pub fn arm(&self, side: Side) -> &Arm {
        match side {
            Side::Before => &self.arms[0],
            Side::After => &self.arms[1],
        }
    }

    fn error(&self, side: Side, problem: Problem) -> Error {
        Error::Arm { side, line: self.arm(side).line(), problem }
    }
}

/// The next run.
pub struct Progress {
    /// Of which command.
    pub side: Side,
    /// Runs that are done.
    pub done: usize,
    /// The most runs; fewer may be enough.
    pub most: usize,
}

/// Result of the runs.
#[derive(Clone, Debug)]
pub struct Proof {
    /// The values of the complete blocks.
    pub blocks: Vec<Block>,
    /// Judgement of these blocks.
    pub judgement: Judgement,
    /// Whether both print the same.
    pub agreement: Agreement,
    /// Whether the interval is as narrow as wanted.
    pub is_precise: bool,
    /// Whether a signal ended it early.
    pub is_partial: bool,
}

impl Proof {
    /// Number of rounds that count.
    pub fn rounds(&self) -> usize {
        self.blocks.len() * 2
    }

    /// The values of a command, in the order of its runs; nanoseconds for wall time.
    pub fn values(&self, side: Side) -> Vec<f64> {
        let of = |block: &Block| match side {
            Side::Before => block.before,
            Side::After => block.after,
        };
        self.blocks.iter().flat_map(of).collect()
    }
}

/// Runs a command once; `None` if a signal came.
pub type Runner<'a> = dyn FnMut(Side, &Arm) -> Result<Option<Run>, Problem> + 'a;

/// Runs both commands by `run` until the plan is done, or until `run` returns `None` because a signal came.
///
/// # Errors
/// The first run that failed or printed no metric; a signal before two blocks were complete.
pub fn prove(
    tested: &Tested,
    run: &mut Runner<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Proof, Error> {
    let Tested { metric, plan, .. } = tested;
    let (sense, mut outputs, mut done) = (metric.sense(), Outputs::default(), 0);
    let mut next = |side: Side, outputs: Option<&mut Outputs>| -> Result<Option<f64>, Error> {
        progress(Progress { side, done, most: plan.most_runs() });
        let failed = |problem| tested.error(side, problem);
        let Some(run) = run(side, tested.arm(side)).map_err(failed)? else { return Ok(None) };
        done += 1;
        let ns = u64::try_from(run.wall.as_nanos()).unwrap_or(u64::MAX).max(1);
        let value = metric.value(ns, &run.output, &run.error).map_err(failed)?;
        if let Some(outputs) = outputs {
            outputs.add(side, &run.output, metric);
        }
        Ok(Some(value))
    };
    let mut blocks = Vec::new();
    let mut is_partial = false;
    for side in [Side::Before, Side::After].repeat(plan.warm_ups) {
        if next(side, None)?.is_none() {
            is_partial = true;
            break;
        }
    }
    while !is_partial && !plan.is_done(&blocks, sense) {
        let (mut before, mut after) = (Vec::<f64>::new(), Vec::<f64>::new());
        for side in Plan::block(blocks.len()) {
            let Some(value) = next(side, Some(&mut outputs))? else { break };
            match side {
                Side::Before => before.push(value),
                Side::After => after.push(value),
            }
        }
        match (before.try_into(), after.try_into()) {
            (Ok(before), Ok(after)) => blocks.push(Block { before, after }),
            _ => is_partial = true,
        }
    }
    let judgement = judge(&blocks, sense);
    let judgement = judgement.ok_or(Error::Interrupted(done))?;
    let is_precise = judgement.gain.half_width() <= plan.precision;
    Ok(Proof { blocks, judgement, agreement: outputs.agreement(), is_precise, is_partial })
}
