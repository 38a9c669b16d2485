//! Stores what a share has done, for as long as it is this process that has it.

use std::ops::ControlFlow;

use actix_persistence_storage_api::{
    ProgressCommit, ShareRecord, StorageError, StorageErrorKind, Timestamp, Unparked,
};
use tokio::time::{Instant, sleep};

use super::runner::{End, Running, Turn};
use crate::chain_of::chain_of;
use crate::source::Source;
use crate::status::ShareState;

impl<S: Source> Running<S> {
    /// Stores a step without the handler, however long that takes; halts the share if the store can never store it, such as an
    /// item that is too large for its tables.
    pub(super) async fn commit(&mut self, commit: ProgressCommit) -> Turn<()> {
        loop {
            self.lease_lasts().await?;
            let stored = self.runner.store.commit(commit.clone(), None).await;
            let Some(error) = self.trouble_of(stored, &commit).await? else {
                self.has_stored(&commit);
                return ControlFlow::Continue(());
            };
            let is_final = matches!(
                error.kind(),
                StorageErrorKind::TooLarge | StorageErrorKind::Unsupported
            );
            if is_final {
                return self.halt(chain_of(&error)).await;
            }
            self.pause(&chain_of(&error)).await?;
        }
    }

    pub(super) fn has_stored(&mut self, commit: &ProgressCommit) {
        // What is retried is another item than the next one of the share.
        if commit.to != self.progress {
            self.was_broken_off = false;
            self.attempts = 0;
        }
        self.progress.clone_from(&commit.to);
        self.back_off.reset();
        let parked = self.parked.number();
        self.runner.board.change(self.claim.share, |share| {
            share.state = ShareState::Running;
            share.handled += commit.handled;
            share.parked = parked;
            share.reached_time = commit.reached_time.or(share.reached_time);
            share.busy_with = None;
            share.last_turn = Instant::now();
            share.error = None;
        });
    }

    /// Shows since when the next item has waited.
    pub(super) fn is_busy_with(&self, timestamp: Timestamp) {
        self.runner.board.change(self.claim.share, |share| {
            share.busy_with = Some(timestamp);
            if share.state == ShareState::Running {
                share.last_turn = Instant::now();
            }
        });
    }

    /// Returns the error of a commit that has stored nothing, as the store says if the error does not; ends the share if it is no
    /// longer ours.
    pub(super) async fn trouble_of(
        &mut self,
        stored: Result<(), StorageError>,
        commit: &ProgressCommit,
    ) -> Turn<Option<StorageError>> {
        let Err(error) = stored else {
            return ControlFlow::Continue(None);
        };
        if error.is_not_stored() && error.kind() != StorageErrorKind::ShareConflict {
            return ControlFlow::Continue(Some(error));
        }
        loop {
            match self.is_stored(commit).await {
                Ok(Some(true)) => return ControlFlow::Continue(None),
                Ok(Some(false)) => return ControlFlow::Continue(Some(error)),
                Ok(None) => return ControlFlow::Break(End::Lost),
                Err(unread) => self.pause(&chain_of(&unread)).await?,
            }
        }
    }

    /// Returns whether a commit of this owner is stored; `None` if the share is no longer its own.
    async fn is_stored(&self, commit: &ProgressCommit) -> Result<Option<bool>, StorageError> {
        let Some(share) = self.stored_share().await? else {
            return Ok(None);
        };
        // The progress says nothing if it was to stay as it is; then the items do.
        if let Some(unparked) = &commit.unparked {
            return self.is_unparked(unparked).await.map(Some);
        }
        Ok(match &share.progress {
            progress if *progress == commit.to => Some(true),
            progress if *progress == self.progress => Some(false),
            _ => None,
        })
    }

    /// Returns the share as it is stored; `None` if it is no longer that of this owner.
    async fn stored_share(&self) -> Result<Option<ShareRecord>, StorageError> {
        let store = &self.runner.store;
        let record = store.read(&self.claim.projection).await?;
        let shares = record.map(|record| record.shares).unwrap_or_default();
        let share = shares.into_iter().nth(usize::from(self.claim.share));
        Ok(share.filter(|share| share.epoch == self.claim.epoch))
    }

    async fn is_unparked(&self, unparked: &Unparked) -> Result<bool, StorageError> {
        let (key, id) = (&self.claim.projection, &unparked.persistence_id);
        let items = self.runner.store.parked_items(key, id, 1).await?;
        let first = items.first();
        Ok(first.is_none_or(|first| first.place > *unparked.places.end()))
    }

    /// Counts an attempt, and returns how many this owner and those before it have counted since the progress has changed.
    ///
    /// The store may have counted more: a call whose reply was lost may count later. So it never says whether an attempt was made
    /// that this owner has not made.
    pub(super) async fn count_attempt(&mut self) -> Turn<u32> {
        loop {
            self.lease_lasts().await?;
            let counted = self.runner.store.count_attempt(&self.claim).await;
            let may_be_counted = counted.as_ref().is_err_and(|error| !error.is_not_stored());
            let is_counted = self.unless_lost(counted).await?.is_some();
            if is_counted || (may_be_counted && self.has_counted_attempt().await?) {
                self.attempts = self.attempts.saturating_add(1);
                return ControlFlow::Continue(self.attempts);
            }
        }
    }

    /// Returns whether the next attempt is counted, after the reply of a call that counts it was lost.
    async fn has_counted_attempt(&mut self) -> Turn<bool> {
        loop {
            let share = self.stored_share().await;
            let Some(share) = self.unless_lost(share).await? else {
                continue;
            };
            let Some(share) = share else {
                return ControlFlow::Break(End::Lost);
            };
            return ControlFlow::Continue(share.attempts > self.attempts);
        }
    }

    /// Returns the answer of the store, and nothing after trouble that was waited for; ends the share if it is no longer ours.
    pub(super) async fn unless_lost<T>(
        &mut self,
        answer: Result<T, StorageError>,
    ) -> Turn<Option<T>> {
        match answer {
            Ok(answer) => ControlFlow::Continue(Some(answer)),
            Err(error) if error.kind() == StorageErrorKind::ShareConflict => {
                ControlFlow::Break(End::Lost)
            }
            Err(error) => {
                self.pause(&chain_of(&error)).await?;
                ControlFlow::Continue(None)
            }
        }
    }

    pub(super) async fn halt(&mut self, reason: String) -> Turn<()> {
        let claim = self.claim.clone();
        tracing::error!(
            projection = %claim.projection, share = claim.share, reason,
            "halts until the projection is resumed"
        );
        loop {
            let halted = self.runner.store.halt(&claim, &reason).await;
            if self.unless_lost(halted).await?.is_some() {
                break;
            }
        }
        let board = &self.runner.board;
        board.change(claim.share, |share| share.halt(reason.into()));
        ControlFlow::Break(End::Halted)
    }

    pub(super) fn note_trouble(&self, error: &str) {
        let claim = &self.claim;
        tracing::warn!(projection = %claim.projection, share = claim.share, error, "tries again");
        self.runner.board.change(claim.share, |share| {
            if share.state != ShareState::Retrying {
                share.last_turn = Instant::now();
            }
            share.state = ShareState::Retrying;
            share.error = Some(error.into());
        });
    }

    /// Waits after trouble, unless it is told to stop.
    pub(super) async fn pause(&mut self, error: &str) -> Turn<()> {
        self.note_trouble(error);
        let delay = self.back_off.next_delay();
        tokio::select! {
            biased;
            () = self.runner.tenure.ends() => ControlFlow::Break(End::Stopped),
            () = sleep(delay) => ControlFlow::Continue(()),
        }
    }

    /// Waits while the lease is over as far as this process knows: another one may have the share.
    pub(super) async fn lease_lasts(&mut self) -> Turn<()> {
        match self.runner.tenure.lasts().await {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(End::Stopped),
        }
    }
}
