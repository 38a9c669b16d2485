//! A line of a file for every answer that a booking got.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use actix_persistence::error::ErrorChain;
use bank::{BookError, Booked};

/// A CSV file of the answers: account, id, result of the booking, and the reason of a failure.
///
/// A line is written before the next answer is looked at; a booking that is tried again has several.
pub(crate) struct Receipts(Option<File>);

impl Receipts {
    /// Returns receipts that note nothing.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Adds to a file, which is made if it does not exist.
    pub(crate) fn append_to(path: &Path) -> io::Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        Ok(Self(Some(file)))
    }

    pub(crate) fn write(
        &mut self,
        account: &str,
        id: &str,
        told: &Result<Booked, BookError>,
    ) -> io::Result<()> {
        let Some(file) = &mut self.0 else {
            return Ok(());
        };
        let (outcome, reason) = match told {
            Ok(booked) => (booked.name(), String::new()),
            Err(error) => (error.name(), ErrorChain(error).to_string()),
        };
        // One call for the whole line: a process that is killed leaves no half of it.
        let mut line = csv::Writer::from_writer(Vec::new());
        line.write_record([account, id, outcome, &reason])?;
        let line = line.into_inner().map_err(|error| error.into_error())?;
        file.write_all(&line)
    }
}
