//! The records of simulated processes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use actix_persistence_history::{History, ProcessEvent, Record, What};

use crate::run::hold;
use crate::workers::Scribe;

/// The history of all processes; what is said next is later.
#[derive(Clone, Default)]
pub(super) struct Ledger {
    said: Arc<Mutex<Said>>,
}

#[derive(Default)]
struct Said {
    processes: u32,
    records: Vec<Record>,
    /// Sentences of actors about what is wrong.
    faults: Vec<String>,
}

/// Ends what a process says.
#[derive(Clone, Default)]
pub(super) struct Silence(Arc<AtomicBool>);

impl Silence {
    fn is_kept(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Ledger {
    /// A new process, which says something until it is killed.
    pub(super) fn process(&self) -> (Arc<Scribe>, Silence) {
        let number = {
            let mut said = hold(&self.said);
            said.processes += 1;
            said.processes
        };
        let silence = Silence::default();
        let tell = {
            let (ledger, silence) = (self.clone(), silence.clone());
            move |what| {
                if !silence.is_kept() {
                    ledger.say(number, what);
                }
            }
        };
        let tell_of_fault = {
            let (ledger, silence) = (self.clone(), silence.clone());
            move |sentence: &str| {
                if !silence.is_kept() {
                    hold(&ledger.said).faults.push(sentence.to_owned());
                }
            }
        };
        let scribe = Scribe::telling(number, tell, tell_of_fault);
        (Arc::new(scribe), silence)
    }

    /// The time of whatever is said next.
    pub(super) fn now(&self) -> u64 {
        hold(&self.said).records.len() as u64
    }

    pub(super) fn say(&self, process: u32, what: What) {
        let mut said = hold(&self.said);
        let at = said.records.len() as u64;
        said.records.push(Record { at, process, what });
    }

    pub(super) fn killed(&self, number: u32, silence: &Silence) {
        silence.0.store(true, Ordering::Relaxed);
        let event = ProcessEvent::Killed;
        self.say(0, What::Process { number, event });
    }

    /// Returns what actors have found wrong.
    pub(super) fn faults(&self) -> Vec<String> {
        std::mem::take(&mut hold(&self.said).faults)
    }

    /// Returns the history of all that was said.
    pub(super) fn end(&self) -> History {
        History {
            records: std::mem::take(&mut hold(&self.said).records),
        }
    }
}
