//! The file with all measurements, as one list.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::table::{Outcome, Row};

/// A file that the list will be in; made before anything is measured, so that a wrong path is known at once.
pub(super) struct JsonFile {
    file: File,
    path: PathBuf,
}

/// A work in the list; times are in seconds.
#[derive(Serialize)]
struct Entry<'r> {
    work: &'r str,
    /// The number of events of a round.
    events: u64,
    #[serde(flatten)]
    outcome: Shown<'r>,
}

#[derive(Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
enum Shown<'r> {
    Measured {
        rounds: usize,
        outliers: usize,
        mean: f64,
        standard_deviation: f64,
        quartiles: [f64; 3],
        events_per_second: f64,
    },
    Skipped {
        missing: &'static str,
    },
    Failed {
        failure: &'r str,
    },
}

impl JsonFile {
    /// Makes the file, or empties it.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let path = path.to_owned();
        match File::create(&path) {
            Ok(file) => Ok(Self { file, path }),
            Err(error) => Err(not_written(&path, &error)),
        }
    }

    /// Writes the list.
    pub(super) fn write(mut self, rows: &[Row]) -> io::Result<()> {
        let entries: Vec<_> = rows.iter().map(entry).collect();
        let written = serde_json::to_writer_pretty(&mut self.file, &entries)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(self.file));
        written.map_err(|error| not_written(&self.path, &error))
    }
}

fn entry(row: &Row) -> Entry<'_> {
    Entry {
        work: &row.name,
        events: row.events,
        outcome: match &row.outcome {
            Outcome::Measured(statistics) => Shown::Measured {
                rounds: statistics.rounds,
                outliers: statistics.outliers,
                mean: statistics.mean,
                standard_deviation: statistics.standard_deviation,
                quartiles: statistics.quartiles,
                events_per_second: row.events_a_second(statistics),
            },
            Outcome::Skipped(missing) => Shown::Skipped {
                missing: missing.name(),
            },
            Outcome::Failed(failure) => Shown::Failed { failure },
        },
    }
}

fn not_written(path: &Path, error: &io::Error) -> io::Error {
    let text = format!("the list cannot be written to {}: {error}", path.display());
    io::Error::new(error.kind(), text)
}
