//! Writes events and states about people, with metadata and tags, while the keys of these people come and go.
//!
//! `torture worker sealed ASSIGNMENT`: writes until it is asked to end, or looks at everything and writes once more.

pub(crate) mod facts;
pub(crate) mod held;
pub(crate) mod keys;
pub(crate) mod last;
mod listening;
mod trouble;
pub(crate) mod vault;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::Config;
use actix_persistence::error::ReplayError;
use actix_persistence::prelude::*;
use actix_persistence_history::{Answer, Done, Operation, Uid};
use anyhow::{Context, bail};
use fastrand::Rng;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::stream::Retaining;
use super::{Scribe, Told, count, fault, run_until_told};
use facts::{DIGESTS, FIRST, Form, NOTE, Older, Todays, WRITES_OLDER, note_of};
use held::{Change, Held, held_id};
use keys::FolderKeys;
use vault::{Call, Enter, Relay, Vault, person, vault_id};

/// The time for which the program waits in the end for requests that are under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);
/// The time within which a command is answered.
const PATIENCE: Duration = Duration::from_secs(100);
/// The largest number of groups of commands before the actor ends.
const LONGEST_BURST: u32 = 8;
/// The largest number of commands that are sent at once.
const LARGEST_GROUP: usize = 4;
/// The largest number of calls that a command makes.
const MOST_CALLS: usize = 4;
/// The longest pause of a client, which lets others in between.
const LONGEST_PAUSE: Duration = Duration::from_millis(4);

/// The version of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Program {
    /// Reads and writes the older form.
    Older,
    /// Reads both, and writes the older one.
    Ready,
    /// Reads both, and writes the newer one.
    Newer,
}

/// The assignment of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Assignment {
    /// The path of the config file.
    pub(crate) config: PathBuf,
    /// The folder of the keys and of the digests.
    pub(crate) folder: PathBuf,
    /// The number of the process in the history.
    pub(crate) process: u32,
    pub(crate) seed: u64,
    pub(crate) program: Program,
    pub(crate) vaults: u32,
    pub(crate) held: u32,
    pub(crate) retaining: Retaining,
    /// True if it looks at everything, and writes once to each id.
    pub(crate) is_last: bool,
}

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [assignment] = arguments else {
        bail!("usage: torture worker sealed ASSIGNMENT");
    };
    let assignment: Assignment = serde_json::from_str(assignment)?;
    let is_first = DIGESTS.set(assignment.folder.clone()).is_ok();
    assert!(is_first, "a process has one assignment");
    WRITES_OLDER.store(assignment.program == Program::Ready, Ordering::Relaxed);
    run_until_told(async |told| match assignment.program {
        Program::Older => live::<Older>(told, assignment).await,
        Program::Ready | Program::Newer => live::<Todays>(told, assignment).await,
    })
}

/// The parts that all clients of this process share.
struct Process<E: Form> {
    assignment: Assignment,
    persistence: Persistence,
    scribe: Arc<Scribe>,
    ended: Cell<bool>,
    /// The vaults that are running, for commands that one sends to another.
    vaults: RefCell<HashMap<u32, Addr<Vault<E>>>>,
}

async fn live<E: Form>(told: Told, assignment: Assignment) -> anyhow::Result<()> {
    let mut rng = Rng::with_seed(assignment.seed);
    let trouble = (!assignment.is_last).then(|| rng.fork());
    let keys = FolderKeys::new(&assignment.folder, trouble);
    let config = Config::from_file(&assignment.config)?;
    let builder = Persistence::builder().config(config);
    let persistence = builder.key_store(Arc::new(keys)).open().await?;
    let process = Rc::new(Process::<E> {
        scribe: Arc::new(Scribe::of(assignment.process)),
        persistence: persistence.clone(),
        ended: Cell::new(false),
        vaults: RefCell::default(),
        assignment,
    });
    if process.assignment.is_last {
        persistence.ready().await?;
        last::look_and_write(&process).await?;
        // It may be asked to end before.
    } else {
        let listening = [
            actix::spawn(listening::to_events::<E>(persistence.clone())),
            actix::spawn(listening::to_changes(persistence.clone())),
        ];
        let mut clients = Vec::new();
        for number in 0..process.assignment.vaults {
            let (process, rng) = (Rc::clone(&process), rng.fork());
            clients.push(actix::spawn(write_events(process, number, rng)));
        }
        for number in 0..process.assignment.held {
            let (process, rng) = (Rc::clone(&process), rng.fork());
            clients.push(actix::spawn(change_states(process, number, rng)));
        }
        while !told.is_told() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        process.ended.set(true);
        for client in clients {
            client.await.context("a client panicked")??;
        }
        listening.iter().for_each(tokio::task::JoinHandle::abort);
    }
    let report = persistence.stop(STOP_DEADLINE).await;
    anyhow::ensure!(report.is_complete(), "{report}");
    Ok(())
}

/// Returns the metadata under which a command is sent.
fn metadata_of(command: Uid, first: Uid) -> anyhow::Result<Metadata> {
    let metadata = Metadata::new().with_correlation_id(command.0.to_string())?;
    let metadata = metadata.with_entry(NOTE, note_of(command.0))?;
    Ok(metadata.with_entry(FIRST, first.0.to_string())?)
}

/// Sends commands to one vault until the program ends.
async fn write_events<E: Form>(
    process: Rc<Process<E>>,
    number: u32,
    mut rng: Rng,
) -> anyhow::Result<()> {
    while !process.ended.get() {
        let take_over = match rng.bool() {
            true => TakeOver::BeforeRecovery,
            false => TakeOver::WithFirstWrite,
        };
        let (scribe, retaining) = (Arc::clone(&process.scribe), process.assignment.retaining);
        let factory = move || Vault::<E>::alive(number, retaining, take_over, &scribe);
        let vault = process.persistence.start_when_stopped(factory).await?;
        process.vaults.borrow_mut().insert(number, vault.clone());
        for _ in 0..rng.u32(1..=LONGEST_BURST) {
            if process.ended.get() {
                break;
            }
            let mut asks = Vec::new();
            for _ in 0..rng.usize(1..=LARGEST_GROUP) {
                let (enter, metadata) = process.command(number, &mut rng)?;
                asks.push(answered(metadata.scope(|| vault.send(enter))));
            }
            join_all(asks).await;
            tokio::time::sleep(LONGEST_PAUSE.mul_f64(rng.f64())).await;
        }
        process.vaults.borrow_mut().remove(&number);
        drop(vault);
        if rng.bool() {
            process.look(number).await;
        }
    }
    Ok(())
}

/// Waits for an answer, which always comes.
async fn answered<T>(
    sent: impl Future<Output = Result<Result<T, PersistError>, MailboxError>>,
) -> bool {
    match timeout(PATIENCE, sent).await {
        Ok(Ok(Ok(_))) => true,
        Ok(_) => false,
        Err(_) => {
            fault(format!("a command is not answered within {PATIENCE:?}"));
            false
        }
    }
}

impl<E: Form> Process<E> {
    /// Makes a command of calls of every sort.
    fn command(&self, number: u32, rng: &mut Rng) -> anyhow::Result<(Enter<E>, Metadata)> {
        let calls = self.calls(number, rng);
        let first = calls[0].first;
        let metadata = metadata_of(first, first)?;
        let others = self.vaults.borrow();
        let others: Vec<_> = others.iter().filter(|(of, _)| **of != number).collect();
        let relay = rng.choice(others).filter(|_| rng.u8(..3) == 0);
        let relay = relay.map(|(number, to)| {
            let calls = self.calls(*number, rng);
            Box::new(Relay {
                to: to.clone(),
                enter: Enter {
                    command: first.0,
                    nested: rng.bool(),
                    relay: None,
                    aside: (rng.u8(..4) == 0).then(Arc::default),
                    calls,
                },
            })
        });
        let enter = Enter {
            command: first.0,
            nested: rng.bool(),
            relay,
            aside: (rng.u8(..4) == 0).then(Arc::default),
            calls,
        };
        Ok((enter, metadata))
    }

    fn calls(&self, number: u32, rng: &mut Rng) -> VecDeque<Call> {
        let calls = rng.usize(1..=MOST_CALLS);
        (0..calls).map(|_| self.call(number, rng)).collect()
    }

    fn call(&self, number: u32, rng: &mut Rng) -> Call {
        let about_a_person = rng.u8(..3) > 0;
        let subject = about_a_person.then(|| person(&format!("vault-{number}"), rng.u64(..)));
        let is_several = E::SEVERAL && about_a_person && rng.u8(..3) == 0;
        let count = match is_several || rng.bool() {
            true => 1,
            false => rng.u64(2..=facts::PERSONAL_FACTS.len() as u64),
        };
        // Those of a call follow on one another: nothing else takes one meanwhile.
        let uids: Vec<_> = (0..count).map(|_| self.scribe.uid()).collect();
        Call {
            first: uids[0],
            count,
            subject,
            asynchronously: rng.u8(..3) == 0,
            pieces: if is_several { rng.u64(1..=3) } else { 0 },
        }
    }

    /// Sees what is stored, without an actor.
    async fn look(&self, number: u32) {
        let call = self.scribe.invoke(Operation::Replay {
            id: vault_id(number).to_string(),
        });
        let vault = Vault::<E>::shown(number, self.assignment.retaining);
        match self.persistence.replay(vault).await {
            Ok(mut replayed) => {
                let seen = replayed.actor.recovered(replayed.sequence_nr);
                let done = Done::Recovered(seen);
                self.scribe.answer(call, Answer::Ok(done));
                count("looks");
            }
            Err(error) => {
                self.scribe.answer(call, Answer::Failed);
                match error {
                    ReplayError::Recovery(error) => trouble::of_recovery(&error),
                    error => fault(error.to_string()),
                }
            }
        }
    }
}

/// Changes one state until the program ends.
async fn change_states<E: Form>(
    process: Rc<Process<E>>,
    number: u32,
    mut rng: Rng,
) -> anyhow::Result<()> {
    while !process.ended.get() {
        let scribe = Arc::clone(&process.scribe);
        let factory = move || Held::<E>::alive(number, &scribe);
        let held = process.persistence.start_when_stopped(factory).await?;
        for _ in 0..rng.u32(1..=LONGEST_BURST) {
            if process.ended.get() {
                break;
            }
            let mut asks = Vec::new();
            for _ in 0..rng.usize(1..=LARGEST_GROUP) {
                let uid = process.scribe.uid();
                let subject = rng.bool();
                let subject = subject.then(|| person(&format!("held-{number}"), rng.u64(..)));
                let change = Change {
                    uid,
                    deletes: rng.u8(..8) == 0,
                    subject,
                };
                let metadata = metadata_of(uid, uid)?;
                asks.push(answered(metadata.scope(|| held.send(change))));
            }
            join_all(asks).await;
            tokio::time::sleep(LONGEST_PAUSE.mul_f64(rng.f64())).await;
        }
        drop(held);
        if rng.bool() {
            process.load(number).await;
        }
    }
    Ok(())
}

impl<E: Form> Process<E> {
    /// Sees what is stored of a state, without an actor.
    async fn load(&self, number: u32) {
        let call = self.scribe.invoke(Operation::Load {
            id: held_id(number).to_string(),
            incarnation: None,
        });
        let answer = match self.persistence.replay(Held::<E>::shown(number)).await {
            Ok(replayed) => {
                count("looks");
                let loaded = replayed.actor.loaded(replayed.sequence_nr);
                loaded.map_or(Answer::Unknown, Answer::Ok)
            }
            Err(error) => {
                match error {
                    ReplayError::Recovery(error) => trouble::of_recovery(&error),
                    error => fault(error.to_string()),
                }
                Answer::Failed
            }
        };
        self.scribe.answer(call, answer);
    }
}
