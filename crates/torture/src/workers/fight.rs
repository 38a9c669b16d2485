//! Enters numbers into the books of a few ids until it is told to end.
//!
//! `torture worker fight CONFIG PROCESS SEED EVERY KEEP`

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{CleanupError, Config, ReplayError};
use actix_persistence_history::{Answer, Done, Operation, Recovered, Uid};
use anyhow::{Context, bail};
use fastrand::Rng;

use super::{Scribe, count, fault, told_to_end};
use crate::kinds::fight::IDS;
use crate::{Enter, Ledger, Retaining};

/// How long the program waits in the end for what is under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);
/// An actor gets so many commands at most before something else is done with its id.
const LONGEST_BURST: u32 = 60;
/// The longest pause of a client, which lets others in between.
const LONGEST_PAUSE: Duration = Duration::from_millis(4);

/// What became of an entry.
type Outcome = Result<Result<SequenceNr, PersistError>, MailboxError>;

/// What all clients of this process share.
struct Process {
    number: u32,
    persistence: Persistence,
    scribe: Scribe,
    retaining: Retaining,
    /// The last number that was entered.
    entered: Cell<u32>,
    ended: Cell<bool>,
}

/// One id, and what this process has done to it.
struct Client {
    process: Rc<Process>,
    id: u32,
    rng: RefCell<Rng>,
    /// The highest number, and the highest event, that were acknowledged.
    acknowledged: Option<(u64, SequenceNr)>,
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [config, number, seed, every, keep] = arguments else {
        bail!("usage: torture worker fight CONFIG PROCESS SEED EVERY KEEP");
    };
    let number = number.parse()?;
    let mut rng = Rng::with_seed(seed.parse()?);
    let retaining = Retaining {
        every: every.parse()?,
        keep: keep.parse()?,
    };
    System::new().block_on(async {
        let process = Rc::new(Process {
            number,
            persistence: Persistence::open(Config::from_file(config)?).await?,
            scribe: Scribe::of(number),
            retaining,
            entered: Cell::new(0),
            ended: Cell::new(false),
        });
        let clients: Vec<_> = (0..IDS)
            .map(|id| {
                let client = Client {
                    process: Rc::clone(&process),
                    id,
                    rng: RefCell::new(rng.fork()),
                    acknowledged: None,
                };
                actix::spawn(client.work())
            })
            .collect();
        // It also ends with whoever started us.
        told_to_end().await?;
        process.ended.set(true);
        for client in clients {
            client.await.context("a client panicked")??;
        }
        let report = process.persistence.stop(STOP_DEADLINE).await;
        if !report.is_complete() {
            bail!("{report}");
        }
        Ok(())
    })
}

impl Client {
    async fn work(mut self) -> anyhow::Result<()> {
        while !self.process.ended.get() {
            let ledger = self.start().await?;
            for _ in 0..self.rng.get_mut().u32(1..=LONGEST_BURST) {
                if self.process.ended.get() {
                    return Ok(());
                }
                self.enter(&ledger).await;
                if self.rng.get_mut().bool() {
                    let part = self.rng.get_mut().f64();
                    tokio::time::sleep(LONGEST_PAUSE.mul_f64(part)).await;
                }
            }
            match self.rng.get_mut().u8(..4) {
                0 => self.look().await,
                1 => self.clean_up().await,
                // A look beside the retention of this process.
                2 => {
                    let (enter, call) = self.ask();
                    let ((), outcome) = tokio::join!(self.look(), ledger.send(enter));
                    self.is_decided(enter, call, outcome);
                }
                // The actor ends when its address is dropped, and recovers again.
                _ => {}
            }
        }
        Ok(())
    }

    fn ledger(&self) -> Ledger {
        Ledger::named(self.id.to_string())
            .retaining(self.process.retaining)
            .telling(tell_of_recovery)
    }

    fn persistence_id(&self) -> PersistenceId {
        self.ledger().persistence_id()
    }

    /// Waits until the actor of before is gone.
    async fn start(&self) -> anyhow::Result<Addr<Ledger>> {
        let ledger = self.ledger();
        loop {
            let ledger = ledger.clone();
            match self.process.persistence.start(move || ledger.clone()) {
                Ok(ledger) => return Ok(ledger),
                Err(StartError::AlreadyRunning(_)) => tokio::task::yield_now().await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// A new entry, and the number of the call that asks for it.
    fn ask(&self) -> (Enter, u64) {
        let number = self.process.entered.get() + 1;
        self.process.entered.set(number);
        let client = self.process.number;
        let call = self.process.scribe.invoke(Operation::Ask {
            id: self.persistence_id().to_string(),
            sender: u64::from(client) << 32 | u64::from(self.id),
            uid: Uid::of(client, number),
        });
        let number = number.into();
        (Enter { client, number }, call)
    }

    /// Sends another entry whenever one is certainly not stored.
    async fn enter(&mut self, ledger: &Addr<Ledger>) {
        while !self.process.ended.get() {
            let (enter, call) = self.ask();
            let outcome = ledger.send(enter).await;
            if self.is_decided(enter, call, outcome) {
                return;
            }
        }
    }

    /// Says what became of an entry; false if it is certainly not stored.
    fn is_decided(&mut self, enter: Enter, call: u64, outcome: Outcome) -> bool {
        let scribe = &self.process.scribe;
        match outcome {
            Ok(Ok(first)) => {
                scribe.answer(call, Answer::Ok(Done::Persisted { first }));
                self.acknowledged = Some((enter.number, first));
            }
            Ok(Err(error)) if error.is_certainly_not_stored() => {
                scribe.answer(call, Answer::Failed);
                match error {
                    PersistError::Conflict(_) => count("conflicts"),
                    _ => count("not stored"),
                }
                return false;
            }
            // It may be stored, or not.
            Ok(Err(_)) | Err(_) => {
                scribe.answer(call, Answer::Unknown);
                count("unknown");
            }
        }
        true
    }

    /// What a look shows is a state that there was, and none from before an acknowledged entry.
    async fn look(&self) {
        let acknowledged = self.acknowledged;
        let Process { scribe, number, .. } = &*self.process;
        let call = scribe.invoke(Operation::Replay {
            id: self.persistence_id().to_string(),
        });
        let replayed = match self.process.persistence.replay(self.ledger()).await {
            Ok(replayed) => replayed,
            Err(error) => {
                scribe.answer(call, Answer::Failed);
                match error {
                    ReplayError::Recovery(error) => tell_of_recovery(&error),
                    error => fault(error.to_string()),
                }
                return;
            }
        };
        let (book, at) = (replayed.actor.book, replayed.sequence_nr);
        scribe.answer(
            call,
            Answer::Ok(Done::Recovered(Recovered {
                highest: at,
                digest: Some(book.digest),
                ..Recovered::default()
            })),
        );
        if let Err(what) = book.check(at) {
            fault(format!("a look shows {what}"));
        }
        if let Some((entry, event)) = acknowledged
            && (!book.has(*number, entry) || at < event)
        {
            fault(format!(
                "a look at event {at} lacks entry {entry}, which was event {event}"
            ));
        }
        count("looks");
    }

    async fn clean_up(&self) {
        let id = self.persistence_id();
        let cleanup = self.process.persistence.cleanup();
        match cleanup.cleanup_before_snapshot(&id).await {
            Ok(()) => count("clean-ups"),
            // The database is busy with others.
            Err(CleanupError::Storage(error)) => eprintln!("cleanup of {id}: {error}"),
            Err(error) => fault(format!("cleanup of {id}: {error}")),
        }
    }
}

/// A database that is busy, and events that were deleted meanwhile, are no faults: the actor recovers once more.
fn tell_of_recovery(error: &RecoveryError) {
    if error.is_curable_by_waiting() || matches!(error, RecoveryError::Overtaken { .. }) {
        count("recoveries begun again");
    } else {
        fault(error.to_string());
    }
}
