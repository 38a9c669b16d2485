//! The part of this process in a projection: takes shares, goes on with them, and gives up what others are to have.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use actix_persistence_storage_api::{
    OffsetStore, ProjectionKey, ProjectionRecord, ShareClaim, ShareRecord, StorageError,
    StorageErrorKind, TakenShare,
};
use tokio::sync::{Notify, watch};
use tokio::task::{Id, JoinSet};
use tokio::time::sleep;

use crate::ProjectionSettings;
use crate::chain_of::chain_of;
use crate::delivery::Delivery;
use crate::membership::Membership;
use crate::quota::quota;
use crate::share::{End, ShareRunner};
use crate::source::Source;
use crate::status::Board;
use crate::tenure::{Look, Tenure, is_held, told};

/// Takes part in a projection.
pub(crate) struct Node<S: Source> {
    pub(crate) key: ProjectionKey,
    pub(crate) owner: Arc<str>,
    pub(crate) source: Arc<S>,
    pub(crate) store: Arc<dyn OffsetStore>,
    pub(crate) delivery: Arc<Delivery<S>>,
    pub(crate) settings: ProjectionSettings,
    /// The text of the offset after which a new projection begins.
    pub(crate) first_offset: String,
    pub(crate) board: Arc<Board>,
    /// Told when another look is due before its time.
    pub(crate) look: Arc<Notify>,
    /// True once everything is to stop.
    pub(crate) stop: watch::Receiver<bool>,
    /// Told while somebody waits for the progress.
    pub(crate) awaited: watch::Receiver<()>,
    /// Told when something was asked for about parked ids.
    pub(crate) requests: watch::Receiver<()>,
}

/// The shares that this process has.
struct Held {
    shares: HashMap<u16, HeldShare>,
    runners: JoinSet<End>,
    /// The shares of the runners, by the ids of their tasks.
    tasks: HashMap<Id, u16>,
    /// The last look at them.
    looks: watch::Receiver<Look>,
}

struct HeldShare {
    taken: TakenShare,
    /// True once it was told to stop.
    stop: watch::Sender<bool>,
    /// Closed once its runner has ended.
    end: watch::Receiver<()>,
}

impl<S: Source> Node<S> {
    /// Takes part until it is told to stop; then it lets the shares end what they have begun, and leaves.
    pub(crate) async fn run(self) {
        let (last, mut looks) = watch::channel(Look::none());
        let (leaving, ends) = watch::channel(false);
        let membership = Membership {
            key: self.key.clone(),
            owner: Arc::clone(&self.owner),
            store: Arc::clone(&self.store),
            settings: self.settings.clone(),
            first_offset: self.first_offset.clone(),
            board: Arc::clone(&self.board),
            look: Arc::clone(&self.look),
            last,
            ends,
        };
        let membership = tokio::spawn(membership.run());
        let mut held = Held::new(looks.clone());
        self.go_on_with_shares(&mut held, &mut looks).await;
        held.stop_all();
        // The leases are renewed until the last one has ended what it has begun: nobody handles the same beside it.
        while !held.tasks.is_empty() {
            held.ended().await;
        }
        leaving.send_replace(true);
        let _ = membership.await;
        if let Err(error) = self.store.leave(&self.key, &self.owner).await {
            // The leases end by themselves.
            tracing::warn!(projection = %self.key, error = chain_of(&error), "could not release the shares");
        }
    }

    /// Follows the record of the projection until it is told to stop. A call of the store that is broken off by that may have
    /// taken or released a share, which is all the same to what leaves.
    async fn go_on_with_shares(&self, held: &mut Held, looks: &mut watch::Receiver<Look>) {
        let mut stop = self.stop.clone();
        while !*stop.borrow() {
            let turn = async {
                tokio::select! {
                    Ok(()) = looks.changed() => {
                        let record = looks.borrow_and_update().record.clone();
                        let Some(record) = record else { return };
                        if let Err(error) = self.follow(held, &record).await {
                            let error = chain_of(&error);
                            tracing::warn!(projection = %self.key, error, "cannot take shares");
                            self.board.cannot_look(error);
                        }
                    }
                    ended = held.ended() => {
                        self.after(held, ended).await;
                        self.look.notify_one();
                    }
                }
            };
            tokio::select! {
                () = told(&mut stop) => return,
                () = turn => {}
            }
        }
    }

    /// Takes and gives up what is due.
    async fn follow(&self, held: &mut Held, record: &ProjectionRecord) -> Result<(), StorageError> {
        held.stop_lost(record);
        if record.paused {
            held.stop_all();
        } else {
            let quota = quota(record.shares.len(), &record.members, &self.owner);
            if held.going_on() > quota {
                // One at a time: who takes it has a turn to say so.
                held.stop_one();
            }
            self.take_some(held, record, quota).await?;
        }
        self.release_others(held, record).await
    }

    /// Takes free shares up to the quota.
    async fn take_some(
        &self,
        held: &mut Held,
        record: &ProjectionRecord,
        quota: usize,
    ) -> Result<(), StorageError> {
        for (nr, share) in (0..).zip(&record.shares) {
            if held.going_on() >= quota {
                return Ok(());
            }
            if held.shares.contains_key(&nr) || !is_free(share, &self.owner) {
                continue;
            }
            let lease = self.settings.lease;
            match self
                .store
                .take_share(&self.key, nr, &self.owner, lease)
                .await
            {
                Ok(taken) => self.go_on(held, taken),
                // Another one was faster, or it was paused since the look.
                Err(error) if error.kind() == StorageErrorKind::ShareConflict => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Releases shares that are ours as the store says, and that nobody here goes on with: of a release that failed, or a take
    /// whose reply was lost. Their leases would be renewed for ever.
    async fn release_others(
        &self,
        held: &Held,
        record: &ProjectionRecord,
    ) -> Result<(), StorageError> {
        for (nr, share) in (0..).zip(&record.shares) {
            if !is_of(share, &self.owner) || held.shares.contains_key(&nr) {
                continue;
            }
            let owner = Arc::clone(&self.owner);
            let claim = ShareClaim::new(self.key.clone(), nr, owner, share.epoch);
            self.store.release_share(&claim).await?;
        }
        Ok(())
    }

    fn go_on(&self, held: &mut Held, taken: TakenShare) {
        let nr = taken.claim.share;
        tracing::debug!(projection = %self.key, share = nr, epoch = taken.claim.epoch, "has taken a share");
        self.board.takes(&taken.claim);
        // A division has ended their claims; what they have begun with the same ids ends first.
        let ends_before = held.end_overlapping(&taken);
        let (stop, stops) = watch::channel(false);
        let runner = ShareRunner {
            source: Arc::clone(&self.source),
            store: Arc::clone(&self.store),
            delivery: Arc::clone(&self.delivery),
            settings: self.settings.clone(),
            board: Arc::clone(&self.board),
            tenure: Tenure {
                claim: taken.claim.clone(),
                looks: held.looks.clone(),
                stop: stops,
                stop_of_all: self.stop.clone(),
            },
            awaited: self.awaited.clone(),
            requests: self.requests.clone(),
            ends_before,
        };
        let (goes_on, end) = watch::channel(());
        let claimed = taken.clone();
        let task = held.runners.spawn(async move {
            let _goes_on = goes_on;
            runner.run(claimed).await
        });
        held.tasks.insert(task.id(), nr);
        held.shares.insert(nr, HeldShare { taken, stop, end });
    }

    /// Releases a share whose runner has ended, unless it was lost.
    async fn after(&self, held: &mut Held, (nr, end): (u16, Option<End>)) {
        let Some(share) = held.shares.remove(&nr) else {
            return;
        };
        if end != Some(End::Halted) {
            self.board.leaves(nr);
        }
        match end {
            Some(End::Stopped) => {
                // If it fails, the next look finds the share.
                if let Err(error) = self.store.release_share(&share.taken.claim).await {
                    tracing::warn!(projection = %self.key, share = nr, error = chain_of(&error), "could not release a share");
                }
            }
            Some(End::Lost | End::Halted) => {}
            // A panic: the lease stays, so whoever takes the share sees that it was not released.
            None => sleep(self.settings.min_back_off).await,
        }
    }
}

/// Returns whether this owner may take a share.
fn is_free(share: &ShareRecord, owner: &str) -> bool {
    let lease = share.lease.as_ref();
    let is_held = lease.is_some_and(|lease| !lease.is_over() && *lease.owner != *owner);
    !is_held && share.halted.is_none()
}

/// Returns whether the lease of a share is this owner's.
fn is_of(share: &ShareRecord, owner: &str) -> bool {
    let lease = share.lease.as_ref();
    lease.is_some_and(|lease| *lease.owner == *owner)
}

impl Held {
    fn new(looks: watch::Receiver<Look>) -> Self {
        Self {
            shares: HashMap::new(),
            runners: JoinSet::new(),
            tasks: HashMap::new(),
            looks,
        }
    }

    /// Returns the number of shares that were not told to stop.
    fn going_on(&self) -> usize {
        self.shares.values().filter(|share| !share.stops()).count()
    }

    /// Stops the shares that this process no longer has.
    fn stop_lost(&mut self, record: &ProjectionRecord) {
        for share in self.shares.values_mut() {
            if !is_held(&share.taken.claim, record) {
                share.stop();
            }
        }
    }

    /// Stops the shares that have slices of one that was taken after them, and returns their ends.
    fn end_overlapping(&mut self, taken: &TakenShare) -> Vec<watch::Receiver<()>> {
        let slices = taken.progress.slices();
        let overlap = |held: &RangeInclusive<u16>| {
            held.start() <= slices.end() && slices.start() <= held.end()
        };
        let shares = self.shares.values_mut();
        let overlapping = shares.filter(|share| overlap(&share.taken.progress.slices()));
        overlapping
            .map(|share| {
                share.stop();
                share.end.clone()
            })
            .collect()
    }

    fn stop_all(&mut self) {
        self.shares.values_mut().for_each(HeldShare::stop);
    }

    fn stop_one(&mut self) {
        // The last one, so that the first ones stay where they are.
        let going_on = self.shares.iter_mut().filter(|(_, share)| !share.stops());
        if let Some((_, share)) = going_on.max_by_key(|(nr, _)| **nr) {
            share.stop();
        }
    }

    /// Returns the next share whose runner ends, and how; `None` if it panicked. Waits for ever if there is none.
    ///
    /// # Cancel safety
    /// No end is lost.
    async fn ended(&mut self) -> (u16, Option<End>) {
        loop {
            let (id, end) = match self.runners.join_next_with_id().await {
                Some(Ok((id, end))) => (id, Some(end)),
                Some(Err(error)) => (error.id(), None),
                None => std::future::pending().await,
            };
            if let Some(nr) = self.tasks.remove(&id) {
                return (nr, end);
            }
        }
    }
}

impl HeldShare {
    fn stops(&self) -> bool {
        *self.stop.borrow()
    }

    fn stop(&mut self) {
        self.stop.send_replace(true);
    }
}
