//! Listens to a worker that judges what it does by itself.

use crate::{Line, Run, Worker};

/// Passes to a run what its worker says, and ends the worker when the run is over.
///
/// # Errors
/// If the worker panics, aborts or says something else.
pub(crate) fn listen(run: &Run, mut worker: Worker) -> anyhow::Result<()> {
    let mut is_over = false;
    while let Some(line) = worker.next_line()? {
        match line {
            Line::Count { count } if count == "cycles" => run.cycle(),
            Line::Count { count } if count == "acknowledged" => run.acknowledged(1),
            Line::Count { count } => run.add(&count, 1),
            Line::Fault { fault } => run.violation(fault),
            other => anyhow::bail!("a worker said {other:?}"),
        }
        if run.is_over() && !is_over {
            is_over = true;
            worker.end();
        }
    }
    worker.ended(true)?;
    worker.forget_log();
    Ok(())
}
