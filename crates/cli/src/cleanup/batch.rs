//! The run over all ids.

use std::num::NonZeroUsize;

use actix_persistence::{
    PersistenceId,
    cleanup::{Cleanup, Task},
};
use anyhow::Context;

use super::interrupts::Interrupts;
use crate::outcome::Outcome;
use crate::output::say;

/// The number of ids between two lines about the progress.
const REPORT_EVERY: u64 = 100;

pub(super) async fn run(
    cleanup: &Cleanup,
    task: Task,
    ids: Vec<PersistenceId>,
    skip: usize,
    parallelism: NonZeroUsize,
) -> anyhow::Result<Outcome> {
    let (total, skipped) = (ids.len(), skip as u64);
    let interrupts = Interrupts::listen()?;
    let is_interrupted = interrupts.flag();
    let rest = ids
        .into_iter()
        .skip(skip)
        .take_while(move |_| !is_interrupted.is_set());
    let batch = cleanup
        .batch(task)
        .parallelism(parallelism.get())
        .on_progress(REPORT_EVERY, move |progress| {
            eprintln!("{} of {total} ids are done", skipped + progress.done);
        });
    let report = match batch.run(rest).await {
        Ok(report) => report,
        Err(error) => {
            let index = skipped + error.index;
            let context = format!(
                "{} could not be cleaned up; all ids before it are done, go on with --skip {index}",
                error.persistence_id
            );
            return Err(error.source).context(context);
        }
    };
    let done = skipped + report.done;
    if interrupts.flag().is_set() && done < total as u64 {
        eprintln!("interrupted: {done} of {total} ids are done, go on with --skip {done}");
        return Ok(Outcome::Interrupted);
    }
    let seconds = report.elapsed.as_secs_f64();
    say(format_args!(
        "cleaned up {} ids in {seconds:.1} s",
        report.done
    ))?;
    Ok(Outcome::Done)
}
