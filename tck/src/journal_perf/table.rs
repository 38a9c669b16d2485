//! The table on the terminal: a row for each work, as soon as it has ended.

use std::io::{self, Write};

use super::Scale;
use super::events::EVENT_BYTES;
use super::statistics::Statistics;
use crate::capability::Capability;

/// A work that has ended.
pub(super) struct Row {
    pub(super) name: String,
    /// The number of events of a round.
    pub(super) events: u64,
    pub(super) outcome: Outcome,
}

/// The end of a work.
pub(super) enum Outcome {
    Measured(Statistics),
    /// The journal does not declare this capability.
    Skipped(Capability),
    /// The step that failed, what was expected and what was found.
    Failed(String),
}

impl Row {
    /// Returns whether the journal did not do what it should.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self.outcome, Outcome::Failed(_))
    }

    /// Returns the number of events that the journal dealt with in a second, of the mean round.
    pub(super) fn events_a_second(&self, statistics: &Statistics) -> f64 {
        self.events as f64 / statistics.mean
    }
}

/// A table that is being written.
pub(super) struct Table<'o> {
    out: &'o mut dyn Write,
    width: usize,
    rows: Vec<Row>,
}

impl<'o> Table<'o> {
    /// Writes the heading of a table of these works.
    pub(super) fn begin<'n>(
        out: &'o mut dyn Write,
        names: impl Iterator<Item = &'n str>,
        scale: Scale,
    ) -> io::Result<Self> {
        let width = names.map(str::len).max().unwrap_or_default();
        let rounds = scale.rounds;
        writeln!(
            out,
            "rounds: {rounds}, after one to warm up; events of {EVENT_BYTES} bytes; times of a round in milliseconds\n\n\
             {:width$} {:>8} {:>10} {:>9} {:>10} {:>10} {:>10} {:>8} {:>9}",
            "work", "events", "mean", "sd", "25 %", "50 %", "75 %", "outliers", "events/s",
        )?;
        out.flush()?;
        let rows = Vec::new();
        Ok(Self { out, width, rows })
    }

    /// Writes a row.
    pub(super) fn add(&mut self, row: Row) -> io::Result<()> {
        let (width, name, events) = (self.width, &row.name, row.events);
        write!(self.out, "{name:width$} ")?;
        match &row.outcome {
            Outcome::Measured(statistics) => {
                let [low, median, high] = statistics.quartiles.map(|time| time * 1_000.0);
                writeln!(
                    self.out,
                    "{events:>8} {:>10.2} {:>9.2} {low:>10.2} {median:>10.2} {high:>10.2} {:>8} {:>9.0}",
                    statistics.mean * 1_000.0,
                    statistics.standard_deviation * 1_000.0,
                    statistics.outliers,
                    row.events_a_second(statistics),
                )?;
            }
            Outcome::Skipped(missing) => {
                writeln!(self.out, " skipped: the journal does not declare {missing}")?;
            }
            Outcome::Failed(text) => {
                let text = text.replace('\n', "\n    ");
                writeln!(self.out, " FAILED: {text}")?;
            }
        }
        self.rows.push(row);
        self.out.flush()
    }

    /// Writes which work was under way when everything was ended.
    pub(super) fn interrupted_in(&mut self, name: &str) -> io::Result<()> {
        writeln!(self.out, "\ninterrupted in {name}")
    }

    /// Writes the number of works, and the names of those that failed; returns the rows.
    pub(super) fn end(self) -> io::Result<Vec<Row>> {
        let count = |wanted: fn(&Outcome) -> bool| {
            let outcomes = self.rows.iter().map(|row| &row.outcome);
            outcomes.filter(|outcome| wanted(outcome)).count()
        };
        let measured = count(|outcome| matches!(outcome, Outcome::Measured(_)));
        let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
        let failed = self.rows.iter().filter(|row| row.has_failed());
        let failed: Vec<_> = failed.map(|row| row.name.as_str()).collect();
        writeln!(
            self.out,
            "\n{measured} measured, {skipped} skipped, {} failed",
            failed.len()
        )?;
        if !failed.is_empty() {
            writeln!(self.out, "failed: {}", failed.join(", "))?;
        }
        self.out.flush()?;
        Ok(self.rows)
    }
}
