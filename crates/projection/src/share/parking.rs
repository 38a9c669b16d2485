//! The parked ids of a share: their items wait, and are handed over again when somebody asks for it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    BackOff, ParkedId, ParkedItem, ParkedRequest, PersistenceId, Progress, ProgressCommit,
    ProjectionChange, Skipped, StorageError, Timestamp,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::handing_over::Step;
use super::runner::{Running, Turn};
use crate::chain_of::chain_of;
use crate::source::{Revived, Source};

/// The most parked ids, or items of one, that are read at once.
const PAGE: usize = 50;

/// The most waiting items that are handed over before it is the turn of what the share has read.
const RETRIES_IN_A_TURN: usize = 10;

/// The parked ids of a share, of which its holder is the only writer.
pub(super) struct Parked {
    ids: BTreeSet<PersistenceId>,
    /// The ids whose items are handed over again, in the order in which they have turns.
    retried: VecDeque<PersistenceId>,
    /// True if it is the turn of what the share has read.
    is_turn_of_others: bool,
    /// The earliest time of their next turn, after one of them could not be read.
    next_turn: Instant,
    /// The delays until then.
    back_off: BackOff,
    /// The places of items that could not be read: their retries are counted.
    unread: BTreeMap<PersistenceId, u64>,
    /// The time at which it looks for requests again.
    next_look: Instant,
    interval: Duration,
}

/// The end of the retry of one item.
enum Retried {
    /// It is handled, or stands for nothing today: the next one may follow.
    Handled,
    /// It was refused, or there is none.
    Ended,
    /// It cannot be read now, for this reason.
    NotNow(String),
}

impl Parked {
    pub(super) fn new(interval: Duration, back_off: BackOff) -> Self {
        Self {
            back_off,
            ids: BTreeSet::new(),
            retried: VecDeque::new(),
            is_turn_of_others: false,
            next_turn: Instant::now(),
            unread: BTreeMap::new(),
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

    pub(super) fn is_retrying(&self) -> bool {
        !self.retried.is_empty()
    }

    /// Returns whether items that wait are to be handed over before others.
    pub(super) fn has_turn(&self) -> bool {
        self.is_retrying() && !self.is_turn_of_others && self.next_turn <= Instant::now()
    }

    /// Waits until items that wait may be handed over, if nothing else is there.
    ///
    /// # Cancel safety
    /// May be called again.
    pub(super) async fn turn_comes(&self) {
        if self.next_turn > Instant::now() {
            sleep_until(self.next_turn).await;
        }
    }

    /// Notes that what the share has read had its turn.
    pub(super) fn others_had_turn(&mut self) {
        self.is_turn_of_others = false;
    }

    fn begin_retry(&mut self, id: &PersistenceId) {
        if !self.retried.contains(id) {
            self.retried.push_back(id.clone());
        }
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
        written: Option<Timestamp>,
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
        let commit = self.step_past(written, to.clone());
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
    pub(super) async fn let_wait(
        &mut self,
        item: ParkedItem,
        written: Option<Timestamp>,
        to: Progress,
    ) -> Turn<()> {
        let commit = self.step_past(written, to).with_parked(item);
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
                    Some(ParkedRequest::Retry) => self.parked.begin_retry(&parked.persistence_id),
                    Some(ParkedRequest::DropFirst) => {
                        self.drop_first(&parked).await?;
                        if self.first_of(&parked.persistence_id).await?.is_some() {
                            self.parked.begin_retry(&parked.persistence_id);
                        }
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

    /// Hands some items of a parked id to the handler that is retried, in their order, until one is refused or none is left.
    /// Those that come meanwhile wait after them.
    pub(super) async fn retry_some(&mut self) -> Turn<()> {
        self.parked.is_turn_of_others = true;
        for _ in 0..RETRIES_IN_A_TURN {
            let Some(id) = self.parked.retried.front().cloned() else {
                return ControlFlow::Continue(());
            };
            match self.retry_first(&id).await? {
                Retried::Handled => self.parked.back_off.reset(),
                Retried::Ended => {
                    self.parked.retried.pop_front();
                }
                Retried::NotNow(reason) => {
                    self.cannot_retry(&reason);
                    break;
                }
            }
        }
        let Some(id) = self.parked.retried.front().cloned() else {
            return ControlFlow::Continue(());
        };
        // Each id has its turn. One of which nothing waits is parked no longer: what comes of it must not wait.
        let is_left = self.first_of(&id).await?.is_some();
        self.parked.retried.pop_front();
        if is_left {
            self.parked.retried.push_back(id);
        }
        ControlFlow::Continue(())
    }

    /// Hands the first item of a parked id to the handler.
    async fn retry_first(&mut self, id: &PersistenceId) -> Turn<Retried> {
        let Some(item) = self.first_of(id).await? else {
            return ControlFlow::Continue(Retried::Ended);
        };
        let is_counted = self.parked.unread.remove(id) == Some(item.place);
        if !is_counted {
            // Before it is made: an attempt that ends the process is not repeated by the next one.
            let counted = self.begin_retry(id).await?;
            tracing::info!(projection = %self.claim.projection, item = item.item, counted, "tries what is parked again");
        }
        let reason = match self.runner.source.revive(&item).await {
            Revived::Item(revived) => {
                let items: Arc<[S::Item]> = [revived].into();
                let all = std::iter::once(0..items.len()).collect();
                let commit = self.unparking(std::slice::from_ref(&item));
                match self.step(&items, all, commit).await? {
                    Step::Done => return ControlFlow::Continue(Retried::Handled),
                    Step::Refused(reason) => reason,
                    Step::NotNow(reason) => return self.is_not_now(id, item.place, reason),
                }
            }
            Revived::Nothing => {
                let commit = self.unparking(std::slice::from_ref(&item));
                self.commit(commit).await?;
                return ControlFlow::Continue(Retried::Handled);
            }
            Revived::Refused(reason) => reason,
            Revived::NotNow(reason) => return self.is_not_now(id, item.place, reason),
        };
        self.note_refusal(id, &reason).await?;
        ControlFlow::Continue(Retried::Ended)
    }

    /// Notes that an item could not be tried, so that its next attempt is not counted once more.
    fn is_not_now(&mut self, id: &PersistenceId, place: u64, reason: String) -> Turn<Retried> {
        self.parked.unread.insert(id.clone(), place);
        ControlFlow::Continue(Retried::NotNow(reason))
    }

    /// Puts the retries off after one of them could not be tried, such as while the key store is away or another transaction holds a
    /// lock. Other items go on.
    fn cannot_retry(&mut self, reason: &str) {
        let claim = &self.claim;
        tracing::warn!(projection = %claim.projection, share = claim.share, reason, "cannot try what is parked now");
        let board = &self.runner.board;
        board.change(claim.share, |share| share.error = Some(reason.into()));
        self.parked.next_turn = Instant::now() + self.parked.back_off.next_delay();
    }

    /// Asks for the retries again that were broken off between two items, so that the next owner goes on with them, unless
    /// somebody wants something else.
    ///
    /// Gives up after the first error: while the store is away, a stop would wait for a time-out for each of them. The id whose turn
    /// it was comes last: a commit of unknown outcome may hold its row.
    pub(super) async fn ask_again(&self) {
        let key = &self.claim.projection;
        for (asked, id) in self.parked.retried.iter().rev().enumerate() {
            let again = ProjectionChange::RetryAgain(id.clone());
            if let Err(error) = self.runner.store.change(key, again).await {
                let left = self.parked.retried.len() - asked;
                tracing::warn!(projection = %key, ?id, left, error = chain_of(&error), "retries were broken off");
                return;
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
        // Parked again, the id begins at the same places.
        self.parked.unread.remove(&parked.persistence_id);
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
