//! The parked ids of a share: their items wait, and are handed over again when somebody asks for it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    ParkedId, ParkedItem, ParkedRequest, PersistenceId, Progress, ProgressCommit, ProjectionChange,
    Skipped, StorageError, Timestamp,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::handing_over::Step;
use super::runner::{End, Running, Turn};
use crate::chain_of::chain_of;
use crate::source::{Revived, Source};

/// The most parked ids, or items of one, that are read at once.
const PAGE: usize = 50;

/// The parked ids of a share, of which its holder is the only writer.
pub(super) struct Parked {
    ids: BTreeSet<PersistenceId>,
    /// The time at which it looks for requests again.
    next_look: Instant,
    interval: Duration,
}

impl Parked {
    pub(super) fn new(interval: Duration) -> Self {
        Self {
            ids: BTreeSet::new(),
            // A request may be older than the claim.
            next_look: Instant::now(),
            interval,
        }
    }

    pub(super) fn contains(&self, id: &PersistenceId) -> bool {
        !self.ids.is_empty() && self.ids.contains(id)
    }

    pub(super) fn number(&self) -> usize {
        self.ids.len()
    }

    /// Waits until it is time to look for requests; for ever while nothing is parked.
    ///
    /// # Cancel safety
    /// May be called again.
    pub(super) async fn look_is_due(&self, requests: &mut watch::Receiver<()>) {
        if self.ids.is_empty() {
            return std::future::pending().await;
        }
        tokio::select! {
            () = sleep_until(self.next_look) => {}
            Ok(()) = requests.changed() => {}
        }
    }
}

impl<S: Source> Running<S> {
    /// Learns which ids of the share are parked.
    pub(super) async fn find_parked(&mut self) -> Turn<()> {
        let mut after = None;
        loop {
            let page = self.read_parked(after.as_ref()).await;
            let Some(page) = self.unless_lost(page).await? else {
                continue;
            };
            let is_last = page.len() < PAGE;
            self.parked
                .ids
                .extend(page.into_iter().map(|parked| parked.persistence_id));
            if is_last {
                self.show_parked();
                return ControlFlow::Continue(());
            }
            after = self.parked.ids.last().cloned();
        }
    }

    async fn read_parked(
        &self,
        after: Option<&PersistenceId>,
    ) -> Result<Vec<ParkedId>, StorageError> {
        let (key, slices) = (&self.claim.projection, self.progress.slices());
        self.runner.store.parked(key, slices, after, PAGE).await
    }

    fn show_parked(&self) {
        let parked = self.parked.number();
        let board = &self.runner.board;
        board.change(self.claim.share, |share| share.parked = parked);
    }

    /// Parks the id of an item, unless too many are parked.
    pub(super) async fn park(
        &mut self,
        item: ParkedItem,
        to: &Progress,
        reason: String,
    ) -> Turn<()> {
        let most = self.runner.settings.max_parked_ids;
        if self.parked.number() >= most {
            let item = &item.item;
            let reason = format!("{most} ids are parked, and no more may be: {item}: {reason}");
            return self.halt(reason).await;
        }
        let (claim, id) = (&self.claim, item.persistence_id.clone());
        tracing::error!(
            projection = %claim.projection, share = claim.share, item = item.item, reason, "parks what its handler fails for"
        );
        let commit = self.step_to(to.clone());
        self.commit(commit.with_parked(item.with_reason(reason)))
            .await?;
        if self.parked.ids.is_empty() {
            self.parked.next_look = Instant::now() + self.parked.interval;
        }
        self.parked.ids.insert(id);
        self.show_parked();
        ControlFlow::Continue(())
    }

    /// Lets an item wait after those of its id that wait already.
    pub(super) async fn let_wait(&mut self, item: ParkedItem, to: Progress) -> Turn<()> {
        let commit = self.step_to(to).with_parked(item);
        self.commit(commit).await
    }

    /// Does what was asked for about the parked ids of the share.
    pub(super) async fn carry_out_requests(&mut self) -> Turn<()> {
        self.parked.next_look = Instant::now() + self.parked.interval;
        let mut after = None;
        loop {
            let page = self.read_parked(after.as_ref()).await;
            let Some(page) = self.unless_lost(page).await? else {
                continue;
            };
            let is_last = page.len() < PAGE;
            after = page.last().map(|parked| parked.persistence_id.clone());
            for parked in page {
                match parked.request {
                    Some(ParkedRequest::Retry) => self.retry(&parked.persistence_id).await?,
                    Some(ParkedRequest::DropFirst) => {
                        self.drop_first(&parked).await?;
                        self.retry(&parked.persistence_id).await?;
                    }
                    Some(ParkedRequest::DropAll) => self.drop_all(&parked).await?,
                    _ => {}
                }
            }
            if is_last {
                return ControlFlow::Continue(());
            }
        }
    }

    /// Hands the items of a parked id to the handler, in their order, until none is left or one is refused. Those that come
    /// meanwhile wait in the stream of the share.
    async fn retry(&mut self, id: &PersistenceId) -> Turn<()> {
        let turn = self.retry_all(id).await;
        if let ControlFlow::Break(End::Stopped) = turn {
            // A stop breaks it off between two items; the next owner goes on with it.
            if let Err(error) = self.ask_again(id).await {
                let key = &self.claim.projection;
                tracing::warn!(projection = %key, ?id, error = chain_of(&error), "a retry was broken off");
            }
        }
        turn
    }

    /// Asks for a retry of an id that is still parked, unless something is asked for already: it may be a later wish than this.
    async fn ask_again(&self, id: &PersistenceId) -> Result<(), StorageError> {
        let (key, slice) = (&self.claim.projection, id.slice());
        let mut after = None;
        let parked = loop {
            let slices = slice..=slice;
            let page = self.runner.store.parked(key, slices, after.as_ref(), PAGE);
            let page = page.await?;
            let last = page.last().map(|last| last.persistence_id.clone());
            if let Some(parked) = page.into_iter().find(|parked| parked.persistence_id == *id) {
                break parked;
            }
            if last.is_none() {
                return Ok(());
            }
            after = last;
        };
        if parked.request.is_some() {
            return Ok(());
        }
        let change = ProjectionChange::RequestParked {
            persistence_id: Some(id.clone()),
            request: ParkedRequest::Retry,
        };
        self.runner.store.change(key, change).await
    }

    async fn retry_all(&mut self, id: &PersistenceId) -> Turn<()> {
        loop {
            let Some(item) = self.first_of(id).await? else {
                return ControlFlow::Continue(());
            };
            // Before it is made: an attempt that ends the process is not repeated by the next one.
            let counted = self.begin_retry(id).await?;
            tracing::info!(projection = %self.claim.projection, item = item.item, counted, "tries what is parked again");
            if let Step::Refused(reason) = self.retry_one(&item).await? {
                return self.note_refusal(id, &reason).await;
            }
        }
    }

    /// Hands one item over that was parked.
    async fn retry_one(&mut self, item: &ParkedItem) -> Turn<Step> {
        let commit = self.unparking(std::slice::from_ref(item));
        loop {
            let source = Arc::clone(&self.runner.source);
            match source.revive(item).await {
                Revived::Item(revived) => {
                    let items: Arc<[S::Item]> = [revived].into();
                    let all = std::iter::once(0..items.len()).collect();
                    return self.step(&items, all, commit).await;
                }
                Revived::Nothing => {
                    self.commit(commit).await?;
                    return ControlFlow::Continue(Step::Done);
                }
                Revived::Refused(reason) => return ControlFlow::Continue(Step::Refused(reason)),
                Revived::NotNow(reason) => self.pause(&reason).await?,
            }
        }
    }

    /// Skips the first item of a parked id.
    async fn drop_first(&mut self, parked: &ParkedId) -> Turn<()> {
        let Some(item) = self.first_of(&parked.persistence_id).await? else {
            return ControlFlow::Continue(());
        };
        self.skip(&[item], parked).await
    }

    /// Skips all items of a parked id.
    async fn drop_all(&mut self, parked: &ParkedId) -> Turn<()> {
        loop {
            let items = self.items_of(&parked.persistence_id, PAGE).await?;
            if items.is_empty() {
                return ControlFlow::Continue(());
            }
            self.skip(&items, parked).await?;
        }
    }

    async fn skip(&mut self, items: &[ParkedItem], parked: &ParkedId) -> Turn<()> {
        let mut commit = self.unparking(items);
        for item in items {
            let reason = item.reason.as_deref().unwrap_or(&parked.reason);
            let (text, offset) = (item.item.clone(), item.offset.clone());
            commit = commit.with_skipped(Skipped::new(text, offset, reason, Timestamp::now()));
        }
        self.commit(commit).await?;
        let number = items.len() as u64;
        let board = &self.runner.board;
        board.change(self.claim.share, |share| share.skipped += number);
        ControlFlow::Continue(())
    }

    /// Returns a step that leaves the progress where it is, after which these items no longer wait.
    fn unparking(&self, items: &[ParkedItem]) -> ProgressCommit {
        self.step_to(self.progress.clone()).with_unparked(items)
    }

    /// Returns the first item of a parked id; an id without any is parked no longer.
    async fn first_of(&mut self, id: &PersistenceId) -> Turn<Option<ParkedItem>> {
        let items = self.items_of(id, 1).await?;
        ControlFlow::Continue(items.into_iter().next())
    }

    async fn items_of(&mut self, id: &PersistenceId, limit: usize) -> Turn<Vec<ParkedItem>> {
        loop {
            self.lease_lasts().await?;
            let key = &self.claim.projection;
            let items = self.runner.store.parked_items(key, id, limit).await;
            if let Some(items) = self.unless_lost(items).await? {
                if items.is_empty() {
                    self.parked.ids.remove(id);
                    self.show_parked();
                }
                return ControlFlow::Continue(items);
            }
        }
    }

    async fn begin_retry(&mut self, id: &PersistenceId) -> Turn<u32> {
        loop {
            self.lease_lasts().await?;
            let begun = self.runner.store.begin_retry(&self.claim, id).await;
            if let Some(attempt) = self.unless_lost(begun).await? {
                return ControlFlow::Continue(attempt);
            }
        }
    }

    async fn note_refusal(&mut self, id: &PersistenceId, reason: &str) -> Turn<()> {
        tracing::warn!(projection = %self.claim.projection, ?id, reason, "what was parked stays parked");
        loop {
            self.lease_lasts().await?;
            let noted = self.runner.store.note_parked(&self.claim, id, reason).await;
            if self.unless_lost(noted).await?.is_some() {
                return ControlFlow::Continue(());
            }
        }
    }
}
