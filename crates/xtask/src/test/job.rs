//! A piece of the tests: one test program, or the doctests of all crates.

use std::process::{Command, ExitStatus};

use cargo_metadata::Package;

use super::Options;
use super::doctests::Doctests;
use super::failures::Failures;
use super::program::{self, TestProgram};
use super::report::Run;
use super::tally::Tally;
use crate::servers::Servers;
use crate::workspace;

/// A command whose lines are counted.
pub(crate) struct Job {
    /// The name in the report.
    pub(crate) name: String,
    /// The number of servers that its package needs.
    pub(crate) servers: usize,
    /// The size of a program that needs no server, in bytes: a large one takes long, as a rule.
    pub(crate) size: u64,
    command: Option<Command>,
    count: Count,
}

enum Count {
    Program {
        kit_of: Option<String>,
        /// A kit that tests kits writes closing lines of its own; the last one is the runner's.
        tally: Option<Tally>,
        failures: Failures,
    },
    Doctests(Doctests),
}

impl Job {
    /// Makes the run of a test program.
    pub(crate) fn program(program: &TestProgram, servers: &Servers) -> Self {
        let kit_of = program.kit_of().map(str::to_owned);
        let mut command = program.command();
        servers.tell(&mut command);
        Self {
            name: program.to_string(),
            servers: program.servers(),
            size: match program.servers() {
                0 => program.size(),
                _ => 0,
            },
            command: Some(command),
            count: Count::Program {
                kit_of,
                tally: None,
                failures: Failures::default(),
            },
        }
    }

    /// Returns the run with its command changed.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Command)) -> Self {
        self.command.as_mut().map(change);
        self
    }

    /// Returns the run of a part of the program, under a name of its own, and with a variable.
    pub(crate) fn of_part(
        mut self,
        name: &str,
        arguments: &[&str],
        variable: Option<(&str, &str)>,
    ) -> Self {
        name.clone_into(&mut self.name);
        self.with(|command| {
            command.args(arguments).envs(variable);
        })
    }

    /// Makes the run of the doctests of these packages; `None` if none has a library.
    pub(crate) fn doctests(
        members: &[&Package],
        options: &Options,
        servers: &Servers,
    ) -> Option<Self> {
        let mut libraries = members.to_vec();
        libraries.retain(|member| workspace::has_library(member));
        if libraries.is_empty() {
            return None;
        }
        let mut command = workspace::cargo("test");
        // Colours would hide the headings from us.
        command.args(["--doc", "--no-fail-fast", "--color=never"]);
        program::select_packages(&mut command, &libraries, options, |_| true);
        servers.tell(&mut command);
        Some(Self {
            name: "doctests".to_owned(),
            servers: 0,
            size: 0,
            command: Some(command),
            count: Count::Doctests(Doctests::default()),
        })
    }

    /// Returns whether these are the doctests, which take long and one processor.
    pub(crate) fn is_doctests(&self) -> bool {
        matches!(self.count, Count::Doctests(_))
    }

    /// Returns the command; it is there once.
    pub(crate) fn command(&mut self) -> Command {
        self.command.take().expect("a job runs once")
    }

    /// Takes in one line of the output.
    pub(crate) fn hear(&mut self, line: &str) {
        match &mut self.count {
            Count::Program {
                tally, failures, ..
            } => {
                *tally = Tally::of_line(line).or(*tally);
                failures.hear(line);
            }
            Count::Doctests(count) => count.hear(line),
        }
    }

    /// Returns what is reported of it, and the outcome in a few words.
    pub(crate) fn end(self, status: ExitStatus) -> (Vec<Run>, String) {
        match self.count {
            Count::Program {
                kit_of,
                tally,
                failures,
            } => {
                let run = Run::new(self.name, kit_of.as_deref(), tally, failures, status);
                let verdict = run.verdict();
                (vec![run], verdict)
            }
            Count::Doctests(count) => {
                let runs = count.end(status);
                let failed = runs.iter().filter(|run| !run.passed()).count();
                let verdict = format!("{} crates, {failed} of them failed", runs.len());
                (runs, verdict)
            }
        }
    }
}
