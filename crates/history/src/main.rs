//! Checks a history in a file.

use std::fs::File;
use std::io::{BufReader, Write};
use std::process::ExitCode;

use actix_persistence_history::{History, check};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), None) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: actix-persistence-history FILE");
        return ExitCode::from(2);
    };
    match run(&file) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{file}: {error}");
            ExitCode::from(2)
        }
    }
}

/// Prints every violation; returns whether there is none.
fn run(file: &str) -> Result<bool, Box<dyn std::error::Error>> {
    let history = History::read(BufReader::new(File::open(file)?))?;
    let violations = check(&history);
    let mut out = std::io::stdout().lock();
    for violation in &violations {
        writeln!(out, "{violation}")?;
    }
    let (records, broken) = (history.records.len(), violations.len());
    writeln!(out, "{records} records, {broken} violations")?;
    Ok(violations.is_empty())
}
