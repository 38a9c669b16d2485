//! Looks at everything once no other process writes, and lets each id take one more write.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence::error::ErrorChain;
use actix_persistence::prelude::*;
use actix_persistence::query::StateOffset;
use actix_persistence_history::{Answer, Done, Operation, Uid};
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use super::facts::{Form, Keep, Seen};
use super::held::{Change, ENTITY, Held, held_id};
use super::vault::{Call, Enter, Vault, is_refused, vault_id};
use super::{Process, answered, metadata_of};
use crate::Line;
use crate::last_look::{LONGEST_BUSY, last_look};
use crate::workers::{count, fault, tell};

/// The number of attempts to write: a write of a process that was killed may end only now.
const MOST_ATTEMPTS: u32 = 50;
/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// The events of an id, as the last process has read them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Shown {
    pub(crate) id: String,
    /// The number of each, and whether it is shredded.
    pub(crate) events: Vec<(u64, bool)>,
}

/// Does all of it.
pub(super) async fn look_and_write<E: Form>(process: &Process<E>) -> anyhow::Result<()> {
    for number in 0..process.assignment.vaults {
        process.look_at_vault(number).await?;
    }
    for number in 0..process.assignment.held {
        process.look_at_held(number).await?;
    }
    let queries = process.persistence.state_queries(None)?;
    let changes = queries.current_changes_by_slices::<Keep>(ENTITY, 0..=1023, StateOffset::start());
    if let Err(error) = changes.try_collect::<Vec<_>>().await {
        fault(format!("a last query failed: {}", ErrorChain(&error)));
    }
    for number in 0..process.assignment.vaults {
        process.write_to_vault(number).await?;
    }
    for number in 0..process.assignment.held {
        process.write_to_held(number).await?;
    }
    Ok(())
}

impl<E: Form> Process<E> {
    async fn look_at_vault(&self, number: u32) -> anyhow::Result<()> {
        let (id, retaining) = (vault_id(number), self.assignment.retaining);
        let call = self.scribe.invoke(Operation::Replay { id: id.to_string() });
        let vault = || Vault::<E>::shown(number, retaining);
        let again = |_: &_| count("last looks begun again");
        match last_look(&self.persistence, LONGEST_BUSY, vault, again).await {
            Ok(mut replayed) => {
                let seen = replayed.actor.recovered(replayed.sequence_nr);
                self.scribe.answer(call, Answer::Ok(Done::Recovered(seen)));
            }
            Err(error) => fault(format!("in the end {id}: {}", ErrorChain(&error))),
        }
        self.show_events(id).await?;
        Ok(())
    }

    async fn look_at_held(&self, number: u32) -> anyhow::Result<()> {
        let id = held_id(number);
        let call = self.scribe.invoke(Operation::Load {
            id: id.to_string(),
            incarnation: None,
        });
        let again = |_: &_| count("last looks begun again");
        let shown = || Held::<E>::shown(number);
        let replayed = last_look(&self.persistence, LONGEST_BUSY, shown, again).await;
        let events = self.show_events(id.clone()).await?;
        let replayed = match replayed {
            Ok(replayed) => replayed,
            Err(error) => {
                fault(format!("in the end {id}: {}", ErrorChain(&error)));
                return Ok(());
            }
        };
        let revision = replayed.sequence_nr;
        // The event of the change has its identity, even if the state has none left.
        let of_event = events.last().map(|(number, uid)| (*number, Some(*uid)));
        let done = replayed.actor.loaded(revision);
        let done = done.unwrap_or_else(|| {
            count("last states without keys");
            let (_, uid) = of_event.unwrap_or_default();
            Done::Loaded { revision, uid }
        });
        if of_event.is_some_and(|(number, _)| number != revision) {
            fault(format!("{id} is at {revision}, and its events are not"));
        }
        self.scribe.answer(call, Answer::Ok(done));
        Ok(())
    }

    /// Reads the events of an id one by one, without a snapshot.
    async fn show_events(&self, id: PersistenceId) -> anyhow::Result<Vec<(u64, Uid)>> {
        let mut shown = Shown {
            id: id.to_string(),
            events: Vec::new(),
        };
        let mut uids = Vec::new();
        let each = |meta: &EventMeta, event: E| {
            let (number, seen) = (meta.sequence_nr, event.seen());
            match seen.uid(&meta.metadata) {
                Ok(uid) => uids.push((number, uid)),
                Err(sentence) => fault(format!("event {number} of {id}: {sentence}")),
            }
            if let Seen::Fact(fact) = seen
                && fact.piece > 0
            {
                return;
            }
            let is_shredded = matches!(seen, Seen::Shredded { .. });
            shown.events.push((number, is_shredded));
        };
        let replayed = self.persistence.replay_events(id.clone(), each).await;
        if let Err(error) = replayed {
            fault(format!("in the end {id}: {}", ErrorChain(&error)));
        }
        let other = serde_json::to_value(shown)?;
        tell(&Line::Other { other });
        Ok(uids)
    }

    async fn write_to_vault(&self, number: u32) -> anyhow::Result<()> {
        let (scribe, retaining) = (Arc::clone(&self.scribe), self.assignment.retaining);
        let factory =
            move || Vault::<E>::alive(number, retaining, TakeOver::WithFirstWrite, &scribe);
        let vault = self.persistence.start_when_stopped(factory).await?;
        for _ in 0..MOST_ATTEMPTS {
            // One that no store refuses.
            let uid = loop {
                let uid = self.scribe.uid();
                if !is_refused(uid) {
                    break uid;
                }
            };
            let call = Call {
                first: uid,
                count: 1,
                subject: Some(super::person(&format!("vault-{number}"), 0)),
                asynchronously: false,
                pieces: 0,
            };
            let enter = Enter {
                command: uid.0,
                calls: [call].into(),
                nested: false,
                relay: None,
                aside: None,
            };
            if answered(metadata_of(uid, uid)?.scope(|| vault.send(enter))).await {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        let id = vault_id(number);
        fault(format!("{id} takes no write in the end"));
        Ok(())
    }

    async fn write_to_held(&self, number: u32) -> anyhow::Result<()> {
        let scribe = Arc::clone(&self.scribe);
        let factory = move || Held::<E>::alive(number, &scribe);
        let held = self.persistence.start_when_stopped(factory).await?;
        for _ in 0..MOST_ATTEMPTS {
            let uid = self.scribe.uid();
            let change = Change {
                uid,
                deletes: false,
                subject: None,
            };
            if answered(metadata_of(uid, uid)?.scope(|| held.send(change))).await {
                return Ok(());
            }
            sleep(PAUSE).await;
        }
        let id = held_id(number);
        fault(format!("{id} takes no write in the end"));
        Ok(())
    }
}
