//! Following the progress of a projection.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::time::Duration;

use actix_persistence::projection::{
    Behind, ProjectionProgress, ProjectionRecord, StoredProjection,
};
use actix_persistence::query::{EventOffset, QueryError};
use actix_persistence::storage_api::StorageError;
use actix_persistence::{Builder, Timestamp};
use anyhow::{Context, bail};

use super::Only;
use super::named::full;
use super::place::{Journal, Opened};
use super::standing::{behind, in_words};
use crate::outcome::Outcome;
use crate::signals::Signals;

/// The number of samples from which a rate is computed.
const SAMPLES: usize = 10;

/// The arguments of `watch`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    only: Only,
    /// The plugin id of the journal of its events, to tell by what time it is behind, and when it will have caught up.
    #[arg(long, value_name = "PLUGIN-ID")]
    journal: Option<String>,
    /// The number of seconds between two looks.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    every: Duration,
    /// End once everything was handled that the journal had when the command began; fail if the projection is paused or
    /// halted, or has parked ids then. Without `--journal` it is the default one.
    #[arg(long)]
    until_caught_up: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse()
        .ok()
        .and_then(|it| Duration::try_from_secs_f64(it).ok());
    let seconds = seconds.filter(|seconds| *seconds >= Duration::from_millis(10));
    seconds.ok_or_else(|| "write a number of seconds, at least 0.01".to_owned())
}

pub(super) fn run(builder: Builder, arguments: Arguments) -> anyhow::Result<Outcome> {
    let Only { name, place } = arguments.only;
    let journal = match arguments.until_caught_up {
        true => Journal::Needed(arguments.journal),
        false => Journal::if_named(arguments.journal),
    };
    place.run(builder, &journal, async |opened| {
        let mut interrupts = Signals::new().context("could not listen for Ctrl-C")?;
        let projection = name.find(&opened.projections).await?;
        let mut watch = Watch {
            line: Line::new(full(projection.key())),
            target: match arguments.until_caught_up {
                true => opened.newest().await?,
                false => None,
            },
            opened,
            projection: &projection,
            samples: VecDeque::new(),
        };
        tokio::select! {
            ended = watch.follow(arguments.every) => {
                watch.line.end();
                ended
            }
            () = interrupts.next() => {
                watch.line.end();
                Ok(match arguments.until_caught_up {
                    true => Outcome::Interrupted,
                    // There is no other end.
                    false => Outcome::Done,
                })
            }
        }
    })
}

/// A projection that is looked at again and again.
struct Watch<'o> {
    opened: &'o Opened,
    projection: &'o StoredProjection,
    /// The offset at which the watch ends, if it does.
    target: Option<EventOffset>,
    samples: VecDeque<ProjectionProgress>,
    line: Line,
}

impl Watch<'_> {
    async fn follow(&mut self, every: Duration) -> anyhow::Result<Outcome> {
        let mut ticks = tokio::time::interval(every);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            let (record, newest) = match self.look().await {
                Ok(looked) => looked,
                // The database may be back at the next look.
                Err(error) if may_pass(&error) => {
                    self.line.end();
                    eprintln!("{error:#}; looking again");
                    continue;
                }
                Err(error) => return Err(error),
            };
            let Some(record) = record else {
                bail!("{} was removed", full(self.projection.key()));
            };
            let progress = ProjectionProgress::new(&record, std::time::Instant::now());
            let shown = self.shown(&record, &progress, newest.as_ref());
            match self.line.show(&shown) {
                Ok(()) => {}
                // The reader has what it wants.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(Outcome::Done),
                Err(error) => return Err(error).context("could not write to the standard output"),
            }
            if self.has_ended(&record, &progress, newest)? {
                return Ok(Outcome::Done);
            }
            self.samples.push_back(progress);
            if self.samples.len() > SAMPLES {
                self.samples.pop_front();
            }
        }
    }

    async fn look(&self) -> anyhow::Result<(Option<ProjectionRecord>, Option<EventOffset>)> {
        let newest = self.opened.newest().await?;
        let record = self.projection.record().await;
        let key = self.projection.key();
        Ok((
            record.with_context(|| format!("could not read {key}"))?,
            newest,
        ))
    }

    /// Returns whether everything is done that the watch waits for.
    fn has_ended(
        &mut self,
        record: &ProjectionRecord,
        progress: &ProjectionProgress,
        newest: Option<EventOffset>,
    ) -> anyhow::Result<bool> {
        let Some(target) = &mut self.target else {
            return Ok(false);
        };
        // What was deleted since is not waited for.
        if let Some(newest) = newest {
            target.lower_to(&newest);
        }
        let key = full(self.projection.key());
        let fits = progress.check(target);
        fits.with_context(|| format!("could not compare {key} with the journal"))?;
        if progress.has_reached(target) {
            let parked = record.parked;
            if parked > 0 {
                bail!("{key} has {parked} parked ids, so not everything is handled");
            }
            return Ok(true);
        }
        if record.paused {
            bail!("{key} is paused, so it does not catch up");
        }
        for (nr, share) in record.shares.iter().enumerate() {
            if let Some(reason) = &share.halted {
                bail!("share {nr} of {key} is halted, so it does not catch up: {reason}");
            }
        }
        Ok(false)
    }

    fn shown(
        &self,
        record: &ProjectionRecord,
        progress: &ProjectionProgress,
        newest: Option<&EventOffset>,
    ) -> String {
        let mut shown = format!("{} handled", progress.handled);
        let before = self.samples.front();
        if let Some(rate) = before.and_then(|before| progress.rate_since(before)) {
            shown += &format!(", {rate:.0}/s");
        }
        shown += &match behind(progress, newest) {
            Behind::Nothing => ", caught up".to_owned(),
            Behind::By(time) => format!(", behind by {}", in_words(time)),
            _ => match (progress.reached_time(), newest) {
                (Some(time), None) => format!(", the last one of {}", crate::moment::written(time)),
                _ => ", unknown by what time it is behind".to_owned(),
            },
        };
        if let (Some(before), Some(newest)) = (before, newest)
            && !progress.has_reached(newest)
        {
            shown += &match progress.time_left_since(before, newest, Timestamp::now()) {
                Some(left) => format!(", {} left", in_words(left)),
                None => ", time left unknown".to_owned(),
            };
        }
        let halted = record
            .shares
            .iter()
            .filter(|share| share.halted.is_some())
            .count();
        if record.paused {
            shown += ", paused";
        } else if record.members.is_empty() {
            shown += ", no process runs it";
        }
        if halted > 0 {
            shown += &format!(", {halted} shares are halted");
        }
        if record.parked > 0 {
            shown += &format!(", {} parked ids", record.parked);
        }
        shown
    }
}

/// Returns whether an error of a store may be over at the next look.
fn may_pass(error: &anyhow::Error) -> bool {
    let of_offsets = error.downcast_ref::<StorageError>();
    let of_journal = error.downcast_ref::<QueryError>();
    of_offsets.is_some_and(|error| error.kind().is_transient())
        || of_journal.is_some_and(QueryError::is_transient)
}

/// The line of a terminal that is written anew each time, or lines below each other where there is no terminal.
struct Line {
    name: String,
    is_terminal: bool,
    is_open: bool,
}

impl Line {
    fn new(name: String) -> Self {
        Self {
            name,
            is_terminal: io::stdout().is_terminal(),
            is_open: false,
        }
    }

    fn show(&mut self, text: &str) -> io::Result<()> {
        let mut output = io::stdout().lock();
        match self.is_terminal {
            // To the beginning of the line, and empty the rest.
            true => {
                write!(output, "\r{}: {text}\x1b[K", self.name)?;
                self.is_open = true;
            }
            false => writeln!(output, "{}: {text}", self.name)?,
        }
        output.flush()
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.is_open) {
            // There may be no terminal any more.
            let _ = writeln!(io::stdout());
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_persistence::storage_api::{Operation, StorageErrorKind};

    use super::*;

    #[test]
    fn only_what_may_pass_is_looked_at_again() {
        let failed = |kind| StorageError::new(kind, Operation::ReadProjection);
        for (kind, passes) in [
            (StorageErrorKind::Unavailable, true),
            (StorageErrorKind::Corrupt, false),
        ] {
            let of_offsets = Err::<(), _>(failed(kind)).context("could not read");
            assert_eq!(may_pass(&of_offsets.unwrap_err()), passes);
            let of_journal = Err::<(), _>(QueryError::Store(failed(kind))).context("could not ask");
            assert_eq!(may_pass(&of_journal.unwrap_err()), passes);
        }
        assert!(!may_pass(&anyhow::anyhow!("something else")));
    }
}
