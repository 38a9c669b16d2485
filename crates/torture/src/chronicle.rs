//! The history of a run, as it comes in.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use actix_persistence_history::{History, ProcessEvent, Record, Row, Table, What};

use crate::clock;
use crate::run::hold;

/// The history of a run, as it comes in: in memory for the checker, and in a file for a person who wants to see it.
pub struct Chronicle {
    written: Mutex<Written>,
    processes: AtomicU32,
}

struct Written {
    file: BufWriter<File>,
    history: History,
}

impl Chronicle {
    pub(crate) fn begin(path: &Path) -> anyhow::Result<Self> {
        let file = BufWriter::new(File::create(path)?);
        Ok(Self {
            written: Mutex::new(Written {
                file,
                history: History::default(),
            }),
            processes: AtomicU32::new(0),
        })
    }

    /// A number for a process that is about to be started.
    pub fn process(&self) -> u32 {
        let number = self.processes.fetch_add(1, Ordering::Relaxed) + 1;
        self.process_event(number, ProcessEvent::Started);
        number
    }

    /// Adds a record of a worker.
    pub fn hear(&self, record: Record) {
        let mut written = hold(&self.written);
        // The file is for people who look for a violation; without it the checker still has its say.
        let _ = writeln!(written.file, "{}", record.to_line());
        written.history.records.push(record);
    }

    /// Adds a record of something that the driver has done, now.
    pub fn say(&self, what: What) {
        self.hear(Record {
            at: clock::now(),
            process: 0,
            what,
        });
    }

    /// Records that something is done to a process.
    pub fn process_event(&self, number: u32, event: ProcessEvent) {
        self.say(What::Process { number, event });
    }

    /// Records that something is done to a server.
    pub fn server_event(&self, name: &str, event: ProcessEvent) {
        let name = name.to_owned();
        self.say(What::Server { name, event });
    }

    /// Records all rows of a table.
    pub fn rows(&self, table: Table, rows: impl IntoIterator<Item = Row>) {
        rows.into_iter().for_each(|row| self.say(What::Row(row)));
        self.say(What::Dumped(table));
    }

    /// Returns the history of all that was recorded.
    pub fn end(self) -> History {
        let written = self.written.into_inner();
        let mut written = written.unwrap_or_else(std::sync::PoisonError::into_inner);
        let _ = written.file.flush();
        written.history
    }
}
