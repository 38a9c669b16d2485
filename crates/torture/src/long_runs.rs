//! The ledger of long runs: what was run of which commit, one line each.

use std::fs::File;
use std::io::Write;
use std::path::{MAIN_SEPARATOR, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::Summary;

/// A shorter run is no long run.
const SHORTEST: Duration = Duration::from_secs(180);

/// The ledger of long runs.
#[derive(Clone, Debug)]
pub struct LongRuns {
    /// The file, with one JSON object per line; made if it is not there.
    pub file: PathBuf,
    /// The commit that was run.
    pub commit: String,
    /// The folder of the files of runs: a line names what is in it without it, because it is that of one machine.
    pub kept: PathBuf,
}

/// A line of it.
#[derive(Serialize)]
struct Entry<'a> {
    /// The time at which the run ended, UTC.
    date: String,
    commit: &'a str,
    #[serde(flatten)]
    summary: &'a Summary,
}

impl LongRuns {
    /// Appends a run of three minutes or more that went on to its end, with or without violations.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(&self, summary: &Summary) -> anyhow::Result<()> {
        if summary.seconds < SHORTEST.as_secs() || summary.interrupted {
            return Ok(());
        }
        let entry = Entry {
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            commit: &self.commit,
            summary: &self.without_folder(summary),
        };
        let mut line = serde_json::to_string(&entry)?;
        line.push('\n');
        let mut file = File::options().create(true).append(true).open(&self.file)?;
        file.write_all(line.as_bytes())?;
        Ok(())
    }

    fn without_folder(&self, summary: &Summary) -> Summary {
        let folder = format!("{}{MAIN_SEPARATOR}", self.kept.display());
        let mut summary = summary.clone();
        for sentence in &mut summary.found {
            *sentence = sentence.replace(&folder, "");
        }
        summary
    }
}
