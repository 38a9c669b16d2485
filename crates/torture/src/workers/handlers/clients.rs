//! The clients that write at the same time: some whose code misbehaves, and some beside that must not notice.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{
    error::{ErrorChain, StorageError},
    sql::TransactError,
};
use fastrand::Rng;
use futures_util::future::{LocalBoxFuture, join_all};

use super::act::{Inside, work};
use super::mischief::{Place, Plan};
use super::record::{Outcome, Record, What};
use super::shelf::{Change, PLAIN, SHELF, Shelf, TOLD_SHELF};
use super::{STREAMS, tell_of_recovery};
use crate::workers::stream::{Retaining, Stream, Write};
use crate::workers::{Scribe, count, fault, tell};
use crate::{Backend, Line};

/// The name of the ids that all processes write to.
pub(super) const SHARED: &str = "shared";
/// The retention of one of the two streams.
const RETAINING: Retaining = Retaining { every: 5, keep: 1 };
/// A number above that of the operations that a client ever makes.
const OPS_OF_A_CLIENT: i64 = 1_000_000_000;
const OPS_OF_A_PROCESS: i64 = 100 * OPS_OF_A_CLIENT;
/// The largest number of changes or transactions that a client makes in a wild round.
const MOST_OPS: u32 = 10;
/// The number of calls that hang at once for each client that begins transactions.
const CROWD: u32 = 12;
/// The number of operations that a client makes in a calm round.
const CALM_OPS: u32 = 2;

/// A client that does nothing wrong gets each answer within this time, whatever code of the application does: a handler
/// takes 300 ms at most, and one at a time comes before them; the rest is for a busy machine.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The time within which every client has its answer.
const LONGEST_ANSWER: Duration = Duration::from_secs(40);
/// Part of the text that reports a conflict.
const CONFLICT: &str = "another writer took over";
/// Part of the text that reports that code of the application took too long.
const TOO_SLOW: &str = "did not end within";
/// The text of answers that were not waited for.
const LEFT: &str = "nobody has waited for it";

/// The behaviour of the code of the application in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// The code does whatever it wants.
    Wild,
    /// The code hangs, in more calls at once than there are places for.
    Crowded,
    /// The code does nothing wrong: every answer is a good one, the first too.
    Calm,
}

/// The clients of a process.
pub(super) struct Clients {
    clients: Vec<Client>,
    /// The number of clients at work, of those that others go on beside.
    working: Cell<usize>,
}

/// A client that sends one operation after the other.
struct Client {
    to: To,
    backend: Backend,
    /// The client's own part of the seed.
    rng: RefCell<Rng>,
    next: Cell<i64>,
}

enum To {
    Shelf {
        addr: Addr<Shelf>,
        id: PersistenceId,
    },
    Database {
        persistence: Persistence,
        inside: Inside,
    },
    Stream {
        addr: Addr<Stream>,
        scribe: Arc<Scribe>,
    },
}

/// The operation, its outcome to come, and the time for which it is waited for; `None` for as long as it takes.
type Asked = (
    Option<What>,
    LocalBoxFuture<'static, Outcome>,
    Option<Duration>,
);

impl Clients {
    /// # Errors
    /// If an actor cannot be started.
    pub(super) fn new(
        persistence: &Persistence,
        inside: &Inside,
        scribe: &Arc<Scribe>,
        backend: Backend,
        mut rng: Rng,
    ) -> anyhow::Result<Self> {
        let process = scribe.process();
        let mut to = Vec::new();
        for (entity_type, name) in [
            (SHELF, format!("{process}-a")),
            (SHELF, format!("{process}-b")),
            (SHELF, SHARED.to_owned()),
            (TOLD_SHELF, process.to_string()),
            (TOLD_SHELF, SHARED.to_owned()),
            (PLAIN, process.to_string()),
        ] {
            let shelf = Shelf::of(entity_type, &name);
            to.push(To::Shelf {
                id: DurableState::persistence_id(&shelf),
                addr: persistence.start(move || shelf.clone())?,
            });
        }
        for _ in 0..2 {
            to.push(To::Database {
                persistence: persistence.clone(),
                inside: inside.clone(),
            });
        }
        for (number, retaining) in [None, Some(RETAINING)].into_iter().enumerate() {
            let (number, own) = (process * STREAMS + number as u32, Arc::clone(scribe));
            let stream =
                move || Stream::alive(number, retaining, Arc::clone(&own), tell_of_recovery);
            to.push(To::Stream {
                addr: persistence.start(stream)?,
                scribe: Arc::clone(scribe),
            });
        }
        let clients = to.into_iter().enumerate().map(|(number, to)| {
            let before = i64::from(process) * OPS_OF_A_PROCESS + number as i64 * OPS_OF_A_CLIENT;
            Client {
                to,
                backend,
                rng: RefCell::new(rng.fork()),
                next: Cell::new(before + 1),
            }
        });
        Ok(Self {
            clients: clients.collect(),
            working: Cell::new(0),
        })
    }

    /// Lets all of them work at the same time until each has done its part.
    pub(super) async fn work(&self, round: Round) {
        let working = self.clients.iter().filter(|client| client.misbehaves());
        self.working.set(working.count());
        join_all(self.clients.iter().map(|client| self.part(client, round))).await;
    }

    async fn part(&self, client: &Client, round: Round) {
        if round == Round::Calm {
            for _ in 0..CALM_OPS {
                client.calm_op().await;
            }
        } else if client.misbehaves() && round == Round::Crowded {
            let ops = match client.to {
                To::Database { .. } => CROWD,
                To::Shelf { .. } | To::Stream { .. } => 1,
            };
            join_all((0..ops).map(|_| client.op(Round::Crowded))).await;
            self.working.set(self.working.get() - 1);
        } else if client.misbehaves() {
            let ops = client.rng.borrow_mut().u32(1..=MOST_OPS);
            for _ in 0..ops {
                client.op(Round::Wild).await;
            }
            self.working.set(self.working.get() - 1);
        } else {
            while self.working.get() > 0 {
                client.op(Round::Wild).await;
            }
        }
    }
}

impl Client {
    /// Makes an operation that should succeed. A client that shares its id may lose against another, and where the
    /// machine is busy 300 ms may be too short for anything.
    async fn calm_op(&self) {
        let begun = Instant::now();
        loop {
            let (what, outcome) = self.op(Round::Calm).await;
            match outcome {
                Outcome::Stored(_) => return,
                Outcome::NotStored(text)
                    if (self.shares() && text.contains(CONFLICT)) || text.contains(TOO_SLOW) =>
                {
                    if begun.elapsed() > LONGEST_ANSWER {
                        return fault(format!("{what:?} gets nowhere: {text}"));
                    }
                }
                outcome => {
                    return fault(format!("{what:?} while all code behaves: {outcome:?}"));
                }
            }
        }
    }

    /// Makes one operation, which the driver hears of.
    async fn op(&self, round: Round) -> (Option<What>, Outcome) {
        let op = self.next.replace(self.next.get() + 1);
        let (what, asked, patience) = self.ask(op, round);
        let begun = Instant::now();
        let waiting = tokio::time::timeout(patience.unwrap_or(LONGEST_ANSWER), asked);
        let outcome = match (waiting.await, patience) {
            (Ok(outcome), _) => outcome,
            (Err(_), Some(_)) => Outcome::Unknown(LEFT.to_owned()),
            (Err(_), None) => {
                fault(format!("{what:?} ({op}) is not answered"));
                Outcome::Unknown("it hangs".to_owned())
            }
        };
        self.check(what.as_ref(), op, &outcome, begun.elapsed(), round);
        if let Some(what) = what.clone() {
            let record = Record {
                op,
                what,
                outcome: outcome.clone(),
                took: begun.elapsed(),
            };
            let other = serde_json::to_value(record).expect("a record is JSON");
            tell(&Line::Other { other });
        }
        (what, outcome)
    }

    /// Checks what can be seen at once.
    fn check(&self, what: Option<&What>, op: i64, outcome: &Outcome, took: Duration, round: Round) {
        let wrong = |sentence: &str| {
            let what = match what {
                Some(what) => format!("{what:?}"),
                None => "an event".to_owned(),
            };
            fault(format!(
                "{sentence}: {what} ({op}) after {took:?}: {outcome:?}"
            ));
        };
        match outcome {
            Outcome::Stored(_) => {}
            Outcome::NotStored(text) | Outcome::Unknown(text) => {
                count(match outcome {
                    Outcome::Unknown(_) => "unknown",
                    _ => "not stored",
                });
                if text.contains("circuit breaker") {
                    wrong("a circuit breaker has opened");
                }
                if !self.misbehaves() {
                    wrong("somebody who does nothing wrong is refused");
                }
            }
        }
        if took > LONGEST_WAIT && (!self.misbehaves() || round == Round::Calm) {
            wrong("somebody who does nothing wrong has waited for too long");
        }
    }

    /// Returns whether its code runs in the stores.
    fn misbehaves(&self) -> bool {
        match &self.to {
            To::Shelf { id, .. } => id.entity_type() != PLAIN,
            To::Database { .. } => true,
            To::Stream { .. } => false,
        }
    }

    fn shares(&self) -> bool {
        matches!(&self.to, To::Shelf { id, .. } if id.entity_id() == SHARED)
    }

    fn plan(&self, round: Round, place: Place) -> Plan {
        match round {
            Round::Wild => Plan::random(&mut self.rng.borrow_mut(), self.backend, place),
            Round::Crowded => Plan::hanging(),
            Round::Calm => Plan::plain(),
        }
    }

    fn ask(&self, op: i64, round: Round) -> Asked {
        let one_in = |many| self.rng.borrow_mut().u8(..many) == 0;
        let leaves = round == Round::Wild && self.misbehaves() && one_in(16);
        let patience = leaves.then(|| Duration::from_millis(self.rng.borrow_mut().u64(..20)));
        let (what, asked): (_, LocalBoxFuture<'static, _>) = match &self.to {
            To::Shelf { addr, id } => {
                let plan = match round == Round::Wild && one_in(12) {
                    true => None,
                    false if self.misbehaves() => {
                        let with_event = id.entity_type() == TOLD_SHELF;
                        Some(self.plan(round, Place::Change { with_event }))
                    }
                    false => Some(Plan::plain()),
                };
                let (id, asked) = (
                    id.to_string(),
                    addr.send(Change {
                        op,
                        plan: plan.clone(),
                    }),
                );
                let what = match plan {
                    Some(plan) => What::Put { id, plan },
                    None => What::Delete { id },
                };
                (Some(what), Box::pin(async { outcome_of(asked.await) }))
            }
            To::Database {
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
                (Some(What::Transaction { plan }), Box::pin(asked))
            }
            To::Stream { addr, scribe } => {
                let asked = addr.send(Write {
                    uids: vec![scribe.uid()],
                    asynchronously: false,
                });
                (None, Box::pin(async { outcome_of(asked.await) }))
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
            match error.is_not_stored() {
                true => Outcome::NotStored(text),
                false => Outcome::Unknown(text),
            }
        }
        Err(error) => Outcome::Unknown(error.to_string()),
    }
}

fn of_storage(error: &StorageError) -> Outcome {
    let text = ErrorChain(error).to_string();
    match error.is_not_stored() {
        true => Outcome::NotStored(text),
        false => Outcome::Unknown(text),
    }
}
