//! The measurement of journals: the works of JournalPerfSpec, on the fixtures of the kit.

use std::ffi::OsString;
use std::io::{self, Write};
use std::num::NonZero;
use std::pin::{Pin, pin};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use actix_persistence_storage_api::Journal;
use clap::Parser;
use tokio::runtime::{Builder, Runtime};

use crate::Fixture;
use crate::case::prefixed;
use crate::runtime::{end, new_runtime};
use crate::site::{Create, places};

mod arguments;
mod calls;
mod events;
mod json;
mod pages;
mod rounds;
mod statistics;
mod table;
mod watch;
mod works;

use arguments::Arguments;
use json::JsonFile;
use rounds::{Measured, measure};
use statistics::Statistics;
use table::{Outcome, Row, Table};
use watch::{Interrupt, watch};
use works::{WORKS, Work};

/// Measures the journals of fixtures, with the works of Akka.NET's JournalPerfSpec: events of one id one by one, in
/// atomic writes and in large calls, many ids at the same time, and recoveries.
///
/// Each work has a fresh place, a round to warm up, and ten rounds of 10,000 events of 200 bytes that count. Each round
/// writes ids of its own, and reads afterwards, outside of the measured time, what it has stored: the numbers without a
/// gap, and the bytes of each event. So a journal that is fast but wrong fails.
///
/// For a `[[bench]]` target with `harness = false`.
#[derive(Default)]
pub struct JournalPerf {
    journals: Vec<(String, Create<dyn Journal>)>,
    scale: Scale,
}

/// The amount of work, and the patience with it.
#[derive(Clone, Copy)]
struct Scale {
    /// The events of a round, where the work does not set another number.
    events: u64,
    /// The number of rounds that count.
    rounds: usize,
    /// The longest time of a round, and of the preparation.
    round_limit: Duration,
}

impl Default for Scale {
    fn default() -> Self {
        Self {
            events: 10_000,
            rounds: 10,
            round_limit: Duration::from_secs(60),
        }
    }
}

impl JournalPerf {
    /// Makes a measurement without journals.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the journals of a fixture.
    ///
    /// With a prefix such as `proxied`, the works are called `proxied::persist` and so on.
    #[must_use]
    pub fn journal(mut self, prefix: &str, fixture: impl Fixture) -> Self {
        let places = places(&Arc::new(fixture));
        self.journals.push((prefix.to_owned(), places));
        self
    }

    /// Sets the number of events of a round, at least 1; 10,000 if not set. Groups of ids have as many for each id as in
    /// JournalPerfSpec, which is 10 to 100 even if this number is small.
    #[must_use]
    pub fn with_events(mut self, events: u64) -> Self {
        self.scale.events = events.max(1);
        self
    }

    /// Sets the number of rounds that count, at least 1; 10 if not set.
    #[must_use]
    pub fn with_rounds(mut self, rounds: usize) -> Self {
        self.scale.rounds = rounds.max(1);
        self
    }

    /// Sets the time after which a round has failed, with its check; 60 seconds if not set. The next work follows then.
    /// The preparation of a work has the same limit.
    #[must_use]
    pub fn with_round_limit(mut self, limit: Duration) -> Self {
        self.scale.round_limit = limit;
        self
    }

    /// Runs with the arguments of the program, and prints a table; `--help` lists the arguments. They stand above what the
    /// other methods set.
    ///
    /// Fails with status 1 if a work fails, and names it. Ctrl-C ends it with status 130, after the works that are measured
    /// so far.
    ///
    /// Without `--bench`, which `cargo bench` passes, it is a short test: each work has one round of 100 events. So
    /// `cargo test --benches` does not take long.
    ///
    /// # Panics
    /// On a tokio runtime.
    pub fn run(self) -> ExitCode {
        self.run_with(std::env::args_os(), &mut io::stdout())
    }

    /// Does the same as [`run`](Self::run) with these arguments, of which the first is the name of the program, and writes the
    /// table to `out`; for tests of the kit itself.
    ///
    /// # Panics
    /// On a tokio runtime.
    pub fn run_with(
        self,
        arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
        out: &mut dyn Write,
    ) -> ExitCode {
        let done = match Arguments::try_parse_from(arguments) {
            Ok(arguments) => self.done(&arguments, out),
            Err(error) => {
                let code = u8::try_from(error.exit_code()).unwrap_or(1);
                error.print().map(|()| ExitCode::from(code))
            }
        };
        done.unwrap_or_else(|error| {
            // Where even that cannot be said, the status says it.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        })
    }

    fn done(self, arguments: &Arguments, out: &mut dyn Write) -> io::Result<ExitCode> {
        let selected = self.selected(arguments);
        if arguments.list {
            for selected in &selected {
                writeln!(out, "{}: benchmark", selected.name)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        let scale = arguments.scale(self.scale);
        let json = arguments.json.as_deref().map(JsonFile::create);
        let json = json.transpose()?;
        let control = control();
        let mut interrupt = pin!(interrupted());
        let names = selected.iter().map(|selected| selected.name.as_str());
        let mut table = Table::begin(out, names, scale)?;
        let mut is_interrupted = false;
        for selected in &selected {
            match selected.row(scale, &control, interrupt.as_mut()) {
                Some(row) => table.add(row)?,
                None => {
                    table.interrupted_in(&selected.name)?;
                    is_interrupted = true;
                    break;
                }
            }
        }
        let rows = table.end()?;
        if let Some(json) = json {
            json.write(&rows)?;
        }
        let failed = rows.iter().any(Row::has_failed);
        Ok(match (is_interrupted, failed) {
            (true, _) => ExitCode::from(130),
            (false, true) => ExitCode::FAILURE,
            (false, false) => ExitCode::SUCCESS,
        })
    }

    fn selected(&self, arguments: &Arguments) -> Vec<Selected<'_>> {
        let mut selected = Vec::new();
        for (prefix, create) in &self.journals {
            for work in WORKS {
                let name = prefixed(prefix, work.name);
                if arguments.select(&name) {
                    selected.push(Selected { name, work, create });
                }
            }
        }
        selected
    }
}

/// A work on the journals of one fixture.
struct Selected<'p> {
    name: String,
    work: &'static Work,
    create: &'p Create<dyn Journal>,
}

impl Selected<'_> {
    /// Measures on a runtime that no other work has touched; `None` if it was interrupted.
    fn row(&self, scale: Scale, control: &Runtime, interrupt: Pin<&mut Interrupt>) -> Option<Row> {
        let threads = available_parallelism().map_or(2, NonZero::get);
        let stores = new_runtime(threads.max(2));
        let create = Arc::clone(self.create);
        let work = self.work;
        let measured = control.block_on(watch(stores.handle(), scale, interrupt, |steps| {
            measure(work, scale, create, steps)
        }));
        end(stores);
        let outcome = match measured? {
            Ok((Measured::All, times)) => Outcome::Measured(Statistics::of(&times)),
            Ok((Measured::Nothing(missing), _)) => Outcome::Skipped(missing),
            Err(failure) => Outcome::Failed(failure.to_string()),
        };
        Some(Row {
            name: self.name.clone(),
            events: work.events(scale.events),
            outcome,
        })
    }
}

/// Returns a runtime of the measuring thread alone: its timer and its signals go on when a store blocks every other thread.
fn control() -> Runtime {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a tokio runtime starts wherever benches do")
}

/// Ends with the first Ctrl-C; never where there are no signals.
async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
