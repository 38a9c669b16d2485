//! The clients of durable states: they change those that are kept, and store new ones.

use std::rc::Rc;
use std::sync::Arc;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence_history::{Answer, Done, Operation};
use actix_persistence_persistent_actor::replay_actor;
use actix_persistence_storage_api::StateStore;
use fastrand::Rng;
use futures_util::future::join_all;

use super::{LARGEST_GROUP, LONGEST_BURST, PATIENCE, Process, pause, trouble};
use crate::kinds::sim::stores::SIMULATED;
use crate::workers::kept::{Change, Kept, kept_id};
use crate::workers::readers::RANGES;
use crate::workers::readers::writing::{new_id, update};

/// The largest number of new states that a process stores.
const MOST_INSERTED: u32 = 8;

impl Process {
    pub(super) async fn start_kept(&self, number: u32) -> Option<Addr<Kept>> {
        let scribe = Arc::clone(&self.scribe);
        let factory = move || Kept::alive(number, Arc::clone(&scribe), trouble);
        self.started(&self.states, factory).await
    }

    pub(super) async fn change_states(self: Rc<Self>, number: u32, mut rng: Rng) {
        while !self.ended.get() {
            let Some(kept) = self.start_kept(number).await else {
                return;
            };
            for _ in 0..rng.u32(1..=LONGEST_BURST) {
                let size = rng.usize(1..=LARGEST_GROUP);
                let changes: Vec<_> = (0..size)
                    .map(|_| self.change(&kept, rng.u8(..6) == 0))
                    .collect();
                join_all(changes).await;
                pause(&mut rng).await;
            }
            if rng.u8(..3) == 0 {
                self.load(number).await;
            }
        }
    }

    pub(super) fn change(
        &self,
        kept: &Addr<Kept>,
        deletes: bool,
    ) -> impl Future<Output = bool> + use<> {
        let scene = Rc::clone(&self.scene);
        let uid = self.scribe.uid();
        let sent = tokio::time::timeout(PATIENCE, kept.send(Change { uid, deletes }));
        async move {
            let acknowledged = matches!(sent.await, Ok(Ok(Ok(_))));
            scene.count(acknowledged);
            acknowledged
        }
    }

    pub(super) async fn load(&self, number: u32) -> bool {
        let call = self.scribe.invoke(Operation::Load {
            id: kept_id(number).to_string(),
            incarnation: None,
        });
        match replay_actor(Kept::shown(number), Arc::clone(&self.states)).await {
            Ok((kept, revision)) => {
                self.scribe.answer(call, Answer::Ok(kept.loaded(revision)));
                true
            }
            Err(error) => {
                self.scribe.answer(call, Answer::Failed);
                trouble(&error);
                false
            }
        }
    }

    /// Stores one new state after the other.
    pub(super) async fn insert_states(self: Rc<Self>, mut rng: Rng) {
        for count in 0..MOST_INSERTED {
            if self.ended.get() {
                return;
            }
            let name = format!("{}.{count}", self.scribe.process());
            let id = new_id(rng.u16(..RANGES), &name);
            self.insert(id).await;
            pause(&mut rng).await;
        }
    }

    async fn insert(&self, id: PersistenceId) {
        let (scribe, uid) = (&self.scribe, self.scribe.uid());
        self.scene.inserted.borrow_mut().push(id.clone());
        let call = scribe.invoke(Operation::Upsert {
            id: id.to_string(),
            incarnation: scribe.incarnation(),
            revision: Some(1),
            uid,
        });
        let update = update(id, 1, uid.0).expect("a state can be encoded");
        let stores = Arc::clone(&self.stores);
        // A panic of the store is an answer like any other.
        let task = tokio::spawn(async move { stores.upsert(update).await });
        let answer = match tokio::time::timeout(PATIENCE, task).await {
            Ok(Ok(Ok(()))) => Answer::Ok(Done::Changed { revision: 1 }),
            Ok(Ok(Err(error))) => {
                if !format!("{error:?}").contains(SIMULATED) {
                    self.fault(format!("a new state is not stored: {error:?}"));
                }
                match error.is_not_stored() {
                    true => Answer::Failed,
                    false => Answer::Unknown,
                }
            }
            Ok(Err(_)) | Err(_) => Answer::Unknown,
        };
        self.scene.count(matches!(answer, Answer::Ok(_)));
        scribe.answer(call, answer);
    }
}
