//! Stores states that are new, and changes others.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence::Revision;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{Payload, StateUpdate};
use actix_persistence_history::{Answer, Done, Operation};
use anyhow::Context;
use fastrand::Rng;
use futures_util::future::join_all;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::{NEW, Process, RANGES};
use crate::workers::kept::{Change, Kept, KeptState};
use crate::workers::writers::{count_outcome, tell_of_recovery};
use crate::workers::{count, fault};

/// The largest number of changes that a client sends at once.
const LARGEST_GROUP: usize = 4;
/// The pause after a failed write, so that a server that is away is not asked all the time.
const AFTER_TROUBLE: Duration = Duration::from_millis(20);
/// The share of changes that are deletes: one in this many.
const DELETES: u32 = 8;
/// The largest number of groups that an actor is asked for before it ends.
const LONGEST_BURST: u32 = 30;
/// MessagePack with names, as the product writes it by default.
const SERIALIZER: u32 = 1;

pub(super) fn start(
    process: &Arc<Process>,
    runtime: &Runtime,
    seed: u64,
    inserters: u32,
    kept: &[u32],
) -> Vec<JoinHandle<anyhow::Result<()>>> {
    let mut rng = Rng::with_seed(seed);
    let mut tasks = Vec::new();
    for number in 0..inserters {
        let inserting = insert(Arc::clone(process), number, rng.fork());
        tasks.push(runtime.spawn(inserting));
    }
    for number in kept {
        let changing = change(Arc::clone(process), *number, rng.fork());
        tasks.push(actix::spawn(changing));
    }
    tasks
}

/// Returns the first id of [`NEW`] with this name whose slice belongs to this range.
pub(crate) fn new_id(range: u16, name: &str) -> PersistenceId {
    let mut ids = (0_u64..).map(|nr| PersistenceId::of(NEW, &format!("r{range}.{name}.{nr}")));
    ids.find(|id| is_of_range(id, range))
        .expect("there is always another one")
}

/// Returns whether the slice of an id belongs to one of [`RANGES`].
pub(crate) fn is_of_range(id: &PersistenceId, range: u16) -> bool {
    id.slice() / (1024 / RANGES) == range
}

/// A state that is to be stored as this revision.
pub(crate) fn update(
    id: PersistenceId,
    revision: Revision,
    uid: u64,
) -> anyhow::Result<StateUpdate> {
    let bytes = rmp_serde::to_vec_named(&KeptState { uid })?;
    let (manifest, version) = (
        <KeptState as State>::MANIFEST,
        <KeptState as State>::VERSION,
    );
    let payload = Payload::new(SERIALIZER, format!("{manifest}:v{version}"), bytes);
    Ok(StateUpdate::new(id, revision, payload))
}

/// Stores one new state after the other.
async fn insert(process: Arc<Process>, inserter: u32, mut rng: Rng) -> anyhow::Result<()> {
    let store = process.persistence.states(None)?;
    let scribe = &process.scribe;
    for count_of_it in 0_u64.. {
        if process.is_told_to_end() {
            break;
        }
        let name = format!("{}.{inserter}.{count_of_it}", scribe.process());
        let id = new_id(rng.u16(..RANGES), &name);
        let uid = scribe.uid();
        let call = scribe.invoke(Operation::Upsert {
            id: id.to_string(),
            incarnation: scribe.incarnation(),
            revision: Some(1),
            uid,
        });
        let answer = match store.upsert(update(id, 1, uid.0)?).await {
            Ok(()) => Answer::Ok(Done::Changed { revision: 1 }),
            Err(error) => {
                if !error.kind().is_transient() {
                    fault(format!("a new state: {error}"));
                }
                match error.is_not_stored() {
                    true => {
                        count("not stored");
                        Answer::Failed
                    }
                    false => {
                        count("unknown");
                        Answer::Unknown
                    }
                }
            }
        };
        let failed = !matches!(answer, Answer::Ok(_));
        scribe.answer(call, answer);
        if failed {
            sleep(AFTER_TROUBLE).await;
        }
    }
    Ok(())
}

/// Changes the state of one id all the time, as others do.
async fn change(process: Arc<Process>, number: u32, mut rng: Rng) -> anyhow::Result<()> {
    while !process.is_told_to_end() {
        let scribe = Arc::clone(&process.scribe);
        let factory = move || Kept::alive(number, Arc::clone(&scribe), tell_of_recovery);
        let kept = process.persistence.start_when_stopped(factory).await;
        let kept = kept.context("an actor with a state cannot be started")?;
        for _ in 0..rng.u32(1..=LONGEST_BURST) {
            if process.is_told_to_end() {
                break;
            }
            let changes = (0..rng.usize(1..=LARGEST_GROUP)).map(|_| Change {
                uid: process.scribe.uid(),
                deletes: rng.u32(..DELETES) == 0,
            });
            let sent: Vec<_> = changes.map(|change| kept.send(change)).collect();
            join_all(sent).await.iter().for_each(count_outcome);
        }
    }
    Ok(())
}
