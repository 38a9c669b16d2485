//! The part of this process in a projection: takes shares, keeps their leases, and gives up what others are to have.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    BackOff, OffsetStore, ProjectionKey, ProjectionRecord, ShareRecord, StorageError,
    StorageErrorKind, TakenShare,
};
use tokio::sync::{Notify, watch};
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use crate::ProjectionSettings;
use crate::delivery::Delivery;
use crate::quota::quota;
use crate::share::{End, Lease, ShareRunner, chain_of};
use crate::source::Source;
use crate::status::{Board, ShareState};

/// The part of a lease after which this process stops, so that it has stopped when the lease is over.
const SAFE_PART: f64 = 0.8;

/// The longest wait for the shares to end what they have begun, once they are told to stop.
const STOP_LIMIT: Duration = Duration::from_secs(10);

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
}

/// The shares that this process has.
#[derive(Default)]
struct Held {
    shares: HashMap<u16, HeldShare>,
    runners: JoinSet<End>,
    /// The shares of the runners, by the ids of their tasks.
    tasks: HashMap<Id, u16>,
}

struct HeldShare {
    taken: TakenShare,
    lease: watch::Sender<Lease>,
    /// True once it was told to stop.
    stops: bool,
}

impl<S: Source> Node<S> {
    /// Takes part until it is told to stop; then it lets the shares end what they have begun, and leaves.
    pub(crate) async fn run(self) {
        let mut held = Held::default();
        let mut stop = self.stop.clone();
        let settings = &self.settings;
        let mut back_off = BackOff::new(settings.min_back_off, settings.lease, 0.2);
        while !*stop.borrow() {
            let wait = match self.look(&mut held).await {
                Ok(wait) => {
                    back_off.reset();
                    wait
                }
                Err(error) => {
                    let error = chain_of(&error);
                    tracing::warn!(projection = %self.key, error, "cannot reach the offset store");
                    self.board.cannot_look(error);
                    back_off.next_delay().min(self.settings.lease / 4)
                }
            };
            tokio::select! {
                () = told(&mut stop) => break,
                () = self.look.notified() => {}
                ended = held.ended() => self.after(&mut held, ended).await,
                () = sleep(wait) => {}
            }
        }
        held.stop_all();
        let ends = async {
            while !held.tasks.is_empty() {
                held.ended().await;
            }
        };
        if timeout(STOP_LIMIT, ends).await.is_err() {
            tracing::warn!(projection = %self.key, "a share did not stop in time; its last commit may still be made");
        }
        if let Err(error) = self.store.leave(&self.key, &self.owner).await {
            // The leases end by themselves.
            tracing::warn!(projection = %self.key, error = chain_of(&error), "could not release the shares");
        }
    }

    /// Renews the leases, and takes and gives up what is due; returns the time until the next look.
    async fn look(&self, held: &mut Held) -> Result<Duration, StorageError> {
        let asked = Instant::now();
        let lease = self.settings.lease;
        let record = match self.store.attend(&self.key, &self.owner, lease).await {
            Err(error) if error.kind() == StorageErrorKind::Unsupported => {
                // There is no such projection, yet or any more.
                held.stop_all();
                let (shares, offset) = (self.settings.shares, &self.first_offset);
                self.store.register(&self.key, shares, offset).await?;
                self.store.attend(&self.key, &self.owner, lease).await?
            }
            attended => attended?,
        };
        self.board.has_looked(record.paused, record.members.clone());
        self.board.has_shares(record.shares.len());
        let until = asked + lease.mul_f64(SAFE_PART);
        held.renew(&record, &self.owner, until);
        if record.paused {
            held.stop_all();
            return Ok(lease / 4);
        }
        let quota = quota(record.shares.len(), &record.members, &self.owner);
        if held.going_on() > quota {
            // One at a time: who takes it has a turn to say so.
            held.stop_one();
        }
        self.take_some(held, &record, quota, until).await?;
        Ok(lease / 4)
    }

    /// Takes free shares up to the quota.
    async fn take_some(
        &self,
        held: &mut Held,
        record: &ProjectionRecord,
        quota: usize,
        until: Instant,
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
                Ok(taken) => self.go_on(held, taken, until),
                // Another one was faster.
                Err(error) if error.kind() == StorageErrorKind::ShareConflict => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn go_on(&self, held: &mut Held, taken: TakenShare, until: Instant) {
        let nr = taken.claim.share;
        tracing::debug!(projection = %self.key, share = nr, epoch = taken.claim.epoch, "has taken a share");
        self.board.takes(nr);
        let (lease, watched) = watch::channel(Lease { until, stop: false });
        let runner = ShareRunner {
            source: Arc::clone(&self.source),
            store: Arc::clone(&self.store),
            delivery: Arc::clone(&self.delivery),
            settings: self.settings.clone(),
            board: Arc::clone(&self.board),
            lease: watched,
            awaited: self.awaited.clone(),
        };
        let task = held.runners.spawn(runner.run(taken.clone()));
        held.tasks.insert(task.id(), nr);
        let share = HeldShare {
            taken,
            lease,
            stops: false,
        };
        held.shares.insert(nr, share);
    }

    /// Releases a share whose runner has ended, unless it was lost.
    async fn after(&self, held: &mut Held, (nr, end): (u16, Option<End>)) {
        let Some(share) = held.shares.remove(&nr) else {
            return;
        };
        if end != Some(End::Halted) {
            self.board
                .change(nr, |share| share.state = ShareState::Left);
        }
        // After a panic the lease is left to end: the next one to take it sees that it was not released.
        if end == Some(End::Stopped)
            && let Err(error) = self.store.release_share(&share.taken.claim).await
        {
            tracing::warn!(projection = %self.key, share = nr, error = chain_of(&error), "could not release a share");
        }
        if end.is_none() {
            sleep(self.settings.min_back_off).await;
        }
    }
}

/// Waits until it is told to stop, or the handle is gone.
async fn told(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// Returns whether this owner may take a share.
fn is_free(share: &ShareRecord, owner: &str) -> bool {
    let lease = share.lease.as_ref();
    let is_held = lease.is_some_and(|lease| !lease.is_over() && *lease.owner != *owner);
    !is_held && share.halted.is_none()
}

impl Held {
    /// Returns the number of shares that were not told to stop.
    fn going_on(&self) -> usize {
        self.shares.values().filter(|share| !share.stops).count()
    }

    /// Lets the shares go on that this process still has, and stops the others.
    fn renew(&mut self, record: &ProjectionRecord, owner: &str, until: Instant) {
        for (nr, share) in &mut self.shares {
            let stored = record.shares.get(usize::from(*nr));
            let is_mine = stored.is_some_and(|stored| {
                let holder = stored.lease.as_ref();
                stored.epoch == share.taken.claim.epoch
                    && holder.is_some_and(|lease| *lease.owner == *owner)
            });
            share.stops |= !is_mine;
            let stop = share.stops;
            share.lease.send_replace(Lease { until, stop });
        }
    }

    fn stop_all(&mut self) {
        self.shares.values_mut().for_each(HeldShare::stop);
    }

    fn stop_one(&mut self) {
        // The last one, so that the first ones stay where they are.
        let going_on = self.shares.iter_mut().filter(|(_, share)| !share.stops);
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
    fn stop(&mut self) {
        self.stops = true;
        self.lease.send_modify(|lease| lease.stop = true);
    }
}
