//! The end of a command when nothing has failed.

use std::process::ExitCode;

/// The meaning of the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The command has done all its work.
    Done,
    /// The command has done nothing, because `--yes` was not on the command line, nor `--dry-run` where there is one.
    Refused,
    /// The command was interrupted by Ctrl-C before everything was done.
    Interrupted,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        ExitCode::from(match outcome {
            Outcome::Done => 0,
            // As for wrong arguments.
            Outcome::Refused => 2,
            Outcome::Interrupted => INTERRUPTED,
        })
    }
}

/// The exit code that shells report of a program that SIGINT has ended.
pub(crate) const INTERRUPTED: u8 = 130;
