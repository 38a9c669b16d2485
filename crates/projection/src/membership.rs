//! The membership of this process in a projection: keeps its leases, and sees what the others have.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    BackOff, OffsetStore, ProjectionKey, ProjectionRecord, StorageError, StorageErrorKind,
};
use futures_util::FutureExt;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep};

use crate::ProjectionSettings;
use crate::chain_of::chain_of;
use crate::status::Board;
use crate::tenure::{Look, told};

/// The part of a lease after which this process stops, so that it has stopped when the lease is over.
const SAFE_PART: f64 = 0.8;

/// The time between two looks at the store while it answers nothing.
const BETWEEN_LOOKS_AT_TROUBLE: Duration = Duration::from_millis(250);

/// Takes part in a projection, on a task of its own: however long shares take, the leases are renewed.
pub(crate) struct Membership {
    pub(crate) key: ProjectionKey,
    pub(crate) owner: Arc<str>,
    pub(crate) store: Arc<dyn OffsetStore>,
    pub(crate) settings: ProjectionSettings,
    /// The text of the offset after which a new projection begins.
    pub(crate) first_offset: String,
    pub(crate) board: Arc<Board>,
    /// Told when another look is due before its time.
    pub(crate) look: Arc<Notify>,
    /// The last look.
    pub(crate) last: watch::Sender<Look>,
    /// True once it is to end.
    pub(crate) ends: watch::Receiver<bool>,
}

impl Membership {
    /// Renews the leases until it is told to end.
    pub(crate) async fn run(self) {
        let mut ends = self.ends.clone();
        let settings = &self.settings;
        let mut back_off = BackOff::new(settings.min_back_off, settings.lease, 0.2);
        let mut was_there = false;
        while !*ends.borrow() {
            let attended = self.show_trouble_during(self.attend(&mut was_there));
            let wait = match AssertUnwindSafe(attended).catch_unwind().await {
                Ok(Ok(())) => {
                    back_off.reset();
                    settings.lease / 4
                }
                trouble => {
                    let error = match trouble {
                        Ok(Err(error)) => chain_of(&error),
                        _ => "the offset store has panicked".to_owned(),
                    };
                    tracing::warn!(projection = %self.key, error, "cannot take part in the projection");
                    self.board.cannot_look(error);
                    back_off.next_delay().min(settings.lease / 4)
                }
            };
            tokio::select! {
                () = told(&mut ends) => return,
                () = self.look.notified() => {}
                () = sleep(wait) => {}
            }
        }
    }

    /// Shows the trouble of a store that is not ready meanwhile, which holds the call back for long.
    async fn show_trouble_during<T>(&self, call: impl Future<Output = T>) -> T {
        let mut call = pin!(call);
        loop {
            tokio::select! {
                biased;
                result = &mut call => return result,
                () = sleep(BETWEEN_LOOKS_AT_TROUBLE) => {}
            }
            if let Some(error) = self.store.trouble() {
                self.board.cannot_look(chain_of(&error));
            }
        }
    }

    /// Renews the leases once. Makes the projection if it has never been there: one that was removed is not begun again, because
    /// what it made may still be there.
    async fn attend(&self, was_there: &mut bool) -> Result<(), StorageError> {
        let mut asked = Instant::now();
        let lease = self.settings.lease;
        let mut attended = self.store.attend(&self.key, &self.owner, lease).await;
        if is_missing(&attended) && !*was_there {
            let (shares, offset) = (self.settings.shares, &self.first_offset);
            self.store.register(&self.key, shares, offset).await?;
            asked = Instant::now();
            attended = self.store.attend(&self.key, &self.owner, lease).await;
        }
        if is_missing(&attended) {
            // Nothing of it is ours any more.
            self.board.is_removed();
            let nothing = ProjectionRecord::new(false, Vec::new(), Vec::new());
            let nothing = Some(Arc::new(nothing));
            self.last.send_modify(|last| last.record = nothing);
        }
        let record = attended?;
        *was_there = true;
        self.board.has_looked(record.paused, record.members.clone());
        self.board.has_shares(&record.shares);
        let until = asked + lease.mul_f64(SAFE_PART);
        let record = Some(Arc::new(record));
        self.last.send_replace(Look { until, record });
        Ok(())
    }
}

fn is_missing(attended: &Result<ProjectionRecord, StorageError>) -> bool {
    let error = attended.as_ref().err();
    error.is_some_and(|error| error.kind() == StorageErrorKind::Unsupported)
}
