//! Writers of all sorts side by side: those whose code misbehaves, and those beside that must not notice.

use std::cell::{Cell, RefCell};
use std::error::Error;
use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{ErrorChain, StorageError, TransactError};
use fastrand::Rng;
use futures_util::future::{LocalBoxFuture, join_all};

use super::act::{OPS_OF_A_WRITER, work};
use super::mischief::{Kind, Place, Plan};
use super::program::Program;
use super::record::{Outcome, Record, What};
use super::shelf::{Change, PLAIN, SHELF, Shelf, TOLD_SHELF};
use crate::{Enter, Ledger, Retaining};

/// How many rows a transaction of the application makes.
pub const PARTS: i64 = 3;
/// The name of the ids that all programs write to.
const SHARED: &str = "shared";

/// How long the writers go on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many changes or transactions each does at most in a wild round.
    pub most_ops: u32,
    /// Within how long every answer comes.
    pub answer: Duration,
}

/// What code of the application does in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// What it wants.
    Wild,
    /// Nothing wrong: every answer is a good one, the first too.
    Calm,
}

/// The writers of some programs on one database.
pub struct Writers {
    writers: Vec<Writer>,
    limits: Limits,
    records: RefCell<Vec<Record>>,
    faults: RefCell<Vec<String>>,
    /// How many of those are at work that others go on beside.
    working: Cell<usize>,
}

/// One that sends one operation after the other.
struct Writer {
    client: Client,
    kind: Kind,
    /// Its own part of the seed.
    rng: RefCell<Rng>,
    next: Cell<i64>,
}

enum Client {
    Shelf {
        addr: Addr<Shelf>,
        id: PersistenceId,
        handled: bool,
        told: bool,
    },
    Transactor {
        persistence: Persistence,
        inside: super::act::Inside,
    },
    Ledger {
        addr: Addr<Ledger>,
        id: PersistenceId,
        client: u32,
    },
}

impl Writers {
    /// # Errors
    /// If an actor cannot be started.
    pub fn new(
        programs: &[Program],
        kind: Kind,
        seed: u64,
        limits: Limits,
    ) -> Result<Self, Box<dyn Error>> {
        let mut clients = Vec::new();
        for program in programs {
            let number = program.number;
            let own = number.to_string();
            let names = [
                (SHELF, format!("{own}-a")),
                (SHELF, format!("{own}-b")),
                (SHELF, SHARED.to_owned()),
                (TOLD_SHELF, own.clone()),
                (TOLD_SHELF, SHARED.to_owned()),
                (PLAIN, own.clone()),
            ];
            for (entity_type, name) in names {
                let shelf = Shelf::of(entity_type, &name);
                clients.push(Client::Shelf {
                    id: DurableState::persistence_id(&shelf),
                    addr: program.persistence.start(move || shelf.clone())?,
                    handled: entity_type != PLAIN,
                    told: entity_type == TOLD_SHELF,
                });
            }
            for _ in 0..2 {
                clients.push(Client::Transactor {
                    persistence: program.persistence.clone(),
                    inside: program.inside.clone(),
                });
            }
            for retaining in [None, Some(Retaining { every: 5, keep: 1 })] {
                let name = format!(
                    "{own}-{}",
                    if retaining.is_some() { "short" } else { "all" }
                );
                let ledger = match retaining {
                    Some(retaining) => Ledger::named(name).retaining(retaining),
                    None => Ledger::named(name),
                };
                clients.push(Client::Ledger {
                    id: PersistentActor::persistence_id(&ledger),
                    addr: program.persistence.start(move || ledger.clone())?,
                    client: number + 1,
                });
            }
        }
        let mut seeds = Rng::with_seed(seed);
        let writers = clients
            .into_iter()
            .enumerate()
            .map(|(number, client)| Writer {
                client,
                kind,
                rng: RefCell::new(seeds.fork()),
                next: Cell::new(number as i64 * OPS_OF_A_WRITER + 1),
            });
        Ok(Self {
            writers: writers.collect(),
            limits,
            records: RefCell::default(),
            faults: RefCell::default(),
            working: Cell::new(0),
        })
    }

    /// Lets all of them work side by side until each has done its part.
    pub async fn work(&self, round: Round) {
        self.working.set(
            self.writers
                .iter()
                .filter(|writer| writer.misbehaves())
                .count(),
        );
        join_all(self.writers.iter().map(|writer| self.part(writer, round))).await;
    }

    /// What has happened so far.
    pub fn take_records(&self) -> Vec<Record> {
        std::mem::take(&mut self.records.borrow_mut())
    }

    /// What should not have happened.
    pub fn take_faults(&self) -> Vec<String> {
        std::mem::take(&mut self.faults.borrow_mut())
    }

    async fn part(&self, writer: &Writer, round: Round) {
        if round == Round::Calm {
            for _ in 0..2 {
                self.calm_op(writer).await;
            }
            return;
        }
        if writer.misbehaves() {
            let ops = writer.rng.borrow_mut().u32(1..=self.limits.most_ops);
            for _ in 0..ops {
                self.op(writer, Round::Wild).await;
            }
            self.working.set(self.working.get() - 1);
        } else {
            while self.working.get() > 0 {
                self.op(writer, Round::Wild).await;
            }
        }
    }

    /// Who shares its id may lose against another.
    async fn calm_op(&self, writer: &Writer) {
        let begun = Instant::now();
        loop {
            let record = self.op(writer, Round::Calm).await;
            match record.outcome {
                Outcome::Stored(_) => return,
                Outcome::NotStored(text) if writer.shares() && text.contains(CONFLICT) => {
                    if begun.elapsed() > self.limits.answer {
                        let fault = format!("{:?} gets nowhere against others", record.what);
                        return self.faults.borrow_mut().push(fault);
                    }
                }
                outcome => {
                    let fault = format!(
                        "{:?} ({}) while all code behaves: {outcome:?}",
                        record.what, record.op
                    );
                    return self.faults.borrow_mut().push(fault);
                }
            }
        }
    }

    /// One operation, which is recorded.
    async fn op(&self, writer: &Writer, round: Round) -> Record {
        let op = writer.next.replace(writer.next.get() + 1);
        let (what, asked, patience) = writer.ask(op, round);
        let begun = Instant::now();
        let outcome = match patience {
            Some(patience) => tokio::time::timeout(patience, asked)
                .await
                .unwrap_or_else(|_| Outcome::Unknown("nobody has waited for it".to_owned())),
            None => tokio::time::timeout(LONGEST_ANSWER, asked)
                .await
                .unwrap_or_else(|_| Outcome::Unknown("it hangs".to_owned())),
        };
        let record = Record {
            op,
            what,
            outcome,
            took: begun.elapsed(),
            is_calm: round == Round::Calm,
        };
        self.check(writer, &record);
        self.records.borrow_mut().push(record.clone());
        record
    }

    /// What can be seen at once.
    fn check(&self, writer: &Writer, record: &Record) {
        let mut faults = self.faults.borrow_mut();
        let mut fault = |what: &str| {
            faults.push(format!(
                "{what}: {:?} ({}) after {:?}: {:?}",
                record.what, record.op, record.took, record.outcome
            ));
        };
        if let Outcome::NotStored(text) | Outcome::Unknown(text) = &record.outcome {
            if text.contains("circuit breaker") {
                fault("a circuit breaker has opened");
            }
            if text == "it hangs" {
                fault("there is no answer");
            }
            if !writer.misbehaves() {
                fault("somebody who does nothing wrong is refused");
            }
        }
        if record.took > self.limits.answer && (!writer.misbehaves() || record.is_calm) {
            fault("somebody who does nothing wrong has waited for too long");
        }
    }
}

/// How long the writers wait before they say that nobody answers.
const LONGEST_ANSWER: Duration = Duration::from_secs(40);
/// How a conflict is told.
const CONFLICT: &str = "another writer took over";

impl Writer {
    /// Whether its code runs in the stores.
    fn misbehaves(&self) -> bool {
        match &self.client {
            Client::Shelf { handled, .. } => *handled,
            Client::Transactor { .. } => true,
            Client::Ledger { .. } => false,
        }
    }

    fn shares(&self) -> bool {
        matches!(&self.client, Client::Shelf { id, .. } if id.entity_id() == SHARED)
    }

    fn plan(&self, round: Round, place: Place) -> Plan {
        match round {
            Round::Wild => Plan::random(&mut self.rng.borrow_mut(), self.kind, place),
            Round::Calm => Plan::plain(),
        }
    }

    /// The next operation, and for how long its asker waits, if that is not as long as it takes.
    fn ask(
        &self,
        op: i64,
        round: Round,
    ) -> (What, LocalBoxFuture<'static, Outcome>, Option<Duration>) {
        let patience = {
            let mut rng = self.rng.borrow_mut();
            let leaves = round == Round::Wild && self.misbehaves() && rng.u8(..16) == 0;
            leaves.then(|| Duration::from_millis(rng.u64(..20)))
        };
        let (what, asked): (_, LocalBoxFuture<'static, _>) = match &self.client {
            Client::Shelf {
                addr,
                id,
                handled,
                told,
            } => {
                let deletes = round == Round::Wild && self.rng.borrow_mut().u8(..12) == 0;
                let id = id.to_string();
                let plan = match handled {
                    true => self.plan(round, Place::Change { with_event: *told }),
                    false => Plan::plain(),
                };
                let (what, plan) = match deletes {
                    true => (What::Delete { id }, None),
                    false => (
                        What::Put {
                            id,
                            plan: plan.clone(),
                        },
                        Some(plan),
                    ),
                };
                let asked = addr.send(Change { op, plan });
                (what, Box::pin(async move { outcome_of(asked.await) }))
            }
            Client::Transactor {
                persistence,
                inside,
            } => {
                let plan = self.plan(round, Place::Transaction);
                let work = work(op, plan.clone(), inside.clone());
                let persistence = persistence.clone();
                let asked = async move {
                    match persistence.transact(None, work).await {
                        Ok(()) => Outcome::Stored(None),
                        Err(TransactError::Storage(error)) => of_storage(&error),
                        Err(error) => Outcome::Unknown(error.to_string()),
                    }
                };
                (What::Transaction { plan }, Box::pin(asked))
            }
            Client::Ledger { addr, id, client } => {
                let (client, number) = (*client, (op % OPS_OF_A_WRITER).unsigned_abs());
                let asked = addr.send(Enter { client, number });
                let id = id.to_string();
                let asked = async move { outcome_of(asked.await) };
                (What::Entry { id, client, number }, Box::pin(asked))
            }
        };
        (what, asked, patience)
    }
}

fn outcome_of(answer: Result<Result<u64, PersistError>, MailboxError>) -> Outcome {
    match answer {
        Ok(Ok(number)) => Outcome::Stored(Some(number)),
        Ok(Err(PersistError::StoredUnanswered)) => Outcome::Stored(None),
        Ok(Err(error)) => {
            let text = ErrorChain(&error).to_string();
            match error.is_certainly_not_stored() {
                true => Outcome::NotStored(text),
                false => Outcome::Unknown(text),
            }
        }
        Err(error) => Outcome::Unknown(error.to_string()),
    }
}

fn of_storage(error: &StorageError) -> Outcome {
    let text = ErrorChain(error).to_string();
    match error.is_certainly_not_stored() {
        true => Outcome::NotStored(text),
        false => Outcome::Unknown(text),
    }
}
