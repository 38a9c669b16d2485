//! The work of processes under test, one module per kind, and what they share.

pub(crate) mod arbiters;
pub(crate) mod cancel;
pub(crate) mod changes;
pub(crate) mod corrupt;
pub(crate) mod disk;
pub(crate) mod errands;
pub(crate) mod handlers;
pub(crate) mod hooks;
pub(crate) mod kept;
pub(crate) mod lives;
pub(crate) mod odd_names;
pub(crate) mod power_loss;
pub(crate) mod projections;
pub(crate) mod readers;
pub(crate) mod releases;
pub(crate) mod sealed;
pub(crate) mod self_driven;
pub(crate) mod stop;
pub(crate) mod storm;
pub(crate) mod stream;
pub(crate) mod versions;
pub(crate) mod writers;

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use actix_persistence_history::{Answer, Incarnation, Operation, Record, Uid, What};
use anyhow::Context;
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::{Line, clock, kinds};

/// The code of the application that panics on purpose, by the text of its place in the sources.
const PANICS: &str = "workers/handlers";

/// Runs a process under test: `torture worker KIND ARGS..`.
///
/// # Errors
/// If there is no such kind, or whatever its worker says.
pub fn work(kind: &str, arguments: &[String]) -> anyhow::Result<()> {
    // Even a process that is stopped by SIGSTOP ends with the one that has started it.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let log = tracing_subscriber::fmt().with_writer(io::stderr);
    log.with_ansi(false).init();
    let kind = kinds::named(kind)?;
    tell_of_panics();
    let work = kind
        .worker
        .with_context(|| format!("{} has no worker", kind.name))?;
    work(arguments)
}

/// Reports every panic to the driver but those on purpose: code that panics is the product's, which goes on, or the
/// torture's.
fn tell_of_panics() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(std::panic::Location::file);
        if !place.is_some_and(is_on_purpose) {
            fault(format!("a panic: {panic}"));
        }
        before(panic);
    }));
}

/// Returns whether the code of this file panics on purpose.
fn is_on_purpose(file: &str) -> bool {
    Path::new(file)
        .parent()
        .is_some_and(|folder| folder.ends_with(PANICS))
}

/// Writes a line to the driver, in one call of the system: a process that is killed in it leaves a line without its
/// end.
pub(crate) fn tell(line: &Line) {
    let mut text = serde_json::to_string(line).expect("a line is JSON");
    text.push('\n');
    // The driver may be gone already; then this process ends as well.
    let _ = io::stdout().write_all(text.as_bytes());
}

/// Reports to the driver that something has happened once more.
pub(crate) fn count(figure: &str) {
    let count = figure.to_owned();
    tell(&Line::Count { count });
}

/// Reports to the driver that something is wrong.
pub(crate) fn fault(sentence: impl Into<String>) {
    let fault = sentence.into();
    tell(&Line::Fault { fault });
}

/// Waits until the driver wants the process to end, or is gone.
pub(crate) async fn told_to_end() -> io::Result<()> {
    tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await?;
    Ok(())
}

/// Returns whether the driver wants the process to end, or is gone.
pub(crate) struct Told(tokio::task::JoinHandle<io::Result<()>>);

impl Told {
    pub(crate) fn is_told(&self) -> bool {
        self.0.is_finished()
    }
}

/// Runs code in an actix system. It has to end when it is asked to.
pub(crate) fn run_until_told(
    work: impl AsyncFnOnce(Told) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    actix::System::new().block_on(async {
        let worked = work(Told(actix::spawn(told_to_end()))).await;
        if let Err(error) = &worked {
            // The system would not end before the standard input does.
            eprintln!("{error:?}");
            std::process::exit(1);
        }
        worked
    })
}

/// Writes what this process does to the history.
pub(crate) struct Scribe {
    process: u32,
    calls: AtomicU64,
    uids: AtomicU32,
    incarnations: AtomicU32,
    tell: Box<dyn Fn(What) + Send + Sync>,
    tell_of_fault: Box<dyn Fn(&str) + Send + Sync>,
}

impl Scribe {
    /// Returns a scribe that writes to the driver.
    pub(crate) fn of(process: u32) -> Self {
        let tell = move |what| {
            tell(&Line::Record(Record {
                at: clock::now(),
                process,
                what,
            }));
        };
        Self::telling(process, tell, |sentence| fault(sentence))
    }

    /// Returns a scribe that calls `tell` for each record, and for what an actor itself finds wrong.
    pub(crate) fn telling(
        process: u32,
        tell: impl Fn(What) + Send + Sync + 'static,
        tell_of_fault: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self {
            tell: Box::new(tell),
            tell_of_fault: Box::new(tell_of_fault),
            process,
            calls: AtomicU64::new(0),
            uids: AtomicU32::new(0),
            incarnations: AtomicU32::new(0),
        }
    }

    /// The number of this process.
    pub(crate) fn process(&self) -> u32 {
        self.process
    }

    /// Returns an identity for something new to be stored.
    pub(crate) fn uid(&self) -> Uid {
        let before = self.uids.fetch_add(1, Ordering::Relaxed);
        Uid::of(self.process, before + 1)
    }

    /// Returns the number of a new life of an actor.
    pub(crate) fn incarnation(&self) -> Incarnation {
        let before = self.incarnations.fetch_add(1, Ordering::Relaxed);
        Incarnation::of(self.process, before + 1)
    }

    /// Says that a call begins, before it does; returns its number.
    pub(crate) fn invoke(&self, operation: Operation) -> u64 {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        self.say(What::Invoke { call, operation });
        call
    }

    /// Says that a state is about to be changed, or deleted; returns the number of the call.
    pub(crate) fn invoke_change(
        &self,
        id: String,
        incarnation: Incarnation,
        revision: Option<u64>,
        uid: Uid,
        deletes: bool,
    ) -> u64 {
        self.invoke(match deletes {
            true => Operation::DeleteState {
                id,
                incarnation,
                revision,
                uid,
            },
            false => Operation::Upsert {
                id,
                incarnation,
                revision,
                uid,
            },
        })
    }

    /// Says what a call was answered, after it was.
    pub(crate) fn answer(&self, call: u64, answer: Answer) {
        self.say(What::Answer { call, answer });
    }

    /// Reports to the driver that something is wrong, if there is one.
    pub(crate) fn fault(&self, sentence: &str) {
        (self.tell_of_fault)(sentence);
    }

    /// Says that something has happened.
    pub(crate) fn say(&self, what: What) {
        (self.tell)(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_panics_of_handlers_of_the_application_are_on_purpose() {
        let root = "/somewhere/crates";
        for (file, is_meant) in [
            ("torture/src/workers/handlers/act.rs", true),
            ("torture/src/workers/handlers.rs", false),
            ("sqlite/src/workers/handlers.rs", false),
            ("state-actor/src/state_handle.rs", false),
        ] {
            assert_eq!(is_on_purpose(file), is_meant, "{file}");
            let absolute = format!("{root}/{file}");
            assert_eq!(is_on_purpose(&absolute), is_meant, "{absolute}");
        }
    }
}
