//! Hands items to the handler, and does about those that it refuses what the settings say.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use actix_persistence_storage_api::{
    ParkedItem, Progress, ProgressCommit, Skipped, StorageErrorKind, Timestamp,
};

use super::reader::Group;
use super::runner::{Running, Turn};
use crate::OnFailure;
use crate::chain_of::chain_of;
use crate::delivery::NotHandled;
use crate::source::{self, Source, Undecodable};

/// The outcome of handing items over.
pub(super) enum Step {
    Done,
    /// The handler said no, for this reason.
    Refused(String),
    /// Others are in the way, for this reason: an item that is retried need not wait for them.
    NotNow(String),
}

impl<S: Source> Running<S> {
    /// Hands a group over; if it is refused, each item alone.
    pub(super) async fn handle(&mut self, group: &Group<S>) -> Turn<()> {
        let number = group.items.len();
        if let Some(first) = group.items.first() {
            self.is_busy_with(S::timestamp(first));
        }
        if self.alone == 0 || number == 0 {
            match self.hand_over(group, 0..number, group.to.clone()).await? {
                Step::Done => return ControlFlow::Continue(()),
                Step::Refused(reason) | Step::NotNow(reason) => {
                    self.note_trouble(&reason);
                    self.alone = number;
                }
            }
        }
        for place in 0..number {
            self.handle_alone(group, place).await?;
            self.alone = self.alone.saturating_sub(1);
        }
        ControlFlow::Continue(())
    }

    /// Hands one item over, as often as the settings say; each attempt is counted before it is made.
    ///
    /// A count alone gives no item up, unless an owner has ended without a word: a stop may have come between the count and the
    /// attempt.
    async fn handle_alone(&mut self, group: &Group<S>, place: usize) -> Turn<()> {
        let (item, to) = (&group.items[place], group.progress_after(place));
        if self.parked.contains(S::persistence_id(item)) {
            let written = Some(S::timestamp(item));
            return self.let_wait(source::parked::<S>(item), written, to).await;
        }
        let most = self.runner.settings.max_attempts.max(1);
        let mut refusal = None;
        loop {
            let attempt = self.count_attempt().await?;
            if attempt <= most || (refusal.is_none() && !self.was_broken_off) {
                let only = place..place + 1;
                match self.hand_over(group, only, to.clone()).await? {
                    Step::Done => return ControlFlow::Continue(()),
                    Step::Refused(reason) | Step::NotNow(reason) => {
                        if attempt < most {
                            self.pause(&reason).await?;
                            refusal = Some(reason);
                            continue;
                        }
                        refusal = Some(reason);
                    }
                }
            }
            let made = attempt.saturating_sub(1);
            let ended = || {
                format!("the owner of the share ended without a word after {made} counted attempts")
            };
            let reason = refusal.unwrap_or_else(ended);
            let written = Some(S::timestamp(item));
            let item = source::parked::<S>(item);
            return self.give_up(item, written, &to, reason).await;
        }
    }

    /// Does what the settings say about a thing that cannot be decoded.
    pub(super) async fn cannot_decode(
        &mut self,
        what: Undecodable<S::Position>,
        to: Progress,
    ) -> Turn<()> {
        let item = what.parked();
        if let Some(timestamp) = what.timestamp {
            self.is_busy_with(timestamp);
        }
        if self.parked.contains(&what.persistence_id) {
            return self.let_wait(item, what.timestamp, to).await;
        }
        self.give_up(item, what.timestamp, &to, what.reason).await
    }

    /// Does what the settings say about an item that was refused each time, and was written at this time.
    async fn give_up(
        &mut self,
        item: ParkedItem,
        written: Option<Timestamp>,
        to: &Progress,
        reason: String,
    ) -> Turn<()> {
        // It may be refused because everything stops, such as by an actor that is gone already.
        self.lease_lasts().await?;
        match self.runner.settings.on_failure {
            OnFailure::Stop => {
                let item = &item.item;
                self.halt(format!("{item}: {reason}")).await
            }
            OnFailure::Skip => {
                let (claim, item) = (&self.claim, item.item);
                tracing::error!(
                    projection = %claim.projection, share = claim.share, item, reason, "skips what its handler fails for"
                );
                let skipped = Skipped::new(item, to.to_string(), reason, Timestamp::now());
                let commit = self.step_past(written, to.clone()).with_skipped(skipped);
                self.commit(commit).await?;
                let share = self.claim.share;
                self.runner.board.change(share, |share| share.skipped += 1);
                ControlFlow::Continue(())
            }
            OnFailure::Park => self.park(item, written, to, reason).await,
        }
    }

    /// Runs the handler for those items of a group that need not wait, lets the others wait, and stores the progress.
    async fn hand_over(
        &mut self,
        group: &Group<S>,
        places: Range<usize>,
        to: Progress,
    ) -> Turn<Step> {
        let mut commit = self.step_to(to);
        if let Some(last) = group.items[places.clone()].last() {
            commit = commit.with_reached_time(S::timestamp(last));
        }
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for place in places {
            let item = &group.items[place];
            if self.parked.contains(S::persistence_id(item)) {
                commit = commit.with_parked(source::parked::<S>(item));
                continue;
            }
            match ranges.last_mut() {
                Some(range) if range.end == place => range.end += 1,
                _ => ranges.push(place..place + 1),
            }
        }
        self.step(&group.items, ranges, commit).await
    }

    /// Runs the handler for some items, and stores what follows from it.
    pub(super) async fn step(
        &mut self,
        items: &Arc<[S::Item]>,
        ranges: Vec<Range<usize>>,
        commit: ProgressCommit,
    ) -> Turn<Step> {
        self.lease_lasts().await?;
        let number = ranges.iter().map(|range| range.len() as u64).sum();
        let commit = commit.with_handled(number);
        let delivery = Arc::clone(&self.runner.delivery);
        let handled = ranges.iter().flat_map(|range| &items[range.clone()]);
        match delivery
            .before(handled.collect(), &self.runner.tenure)
            .await
        {
            Ok(()) => {}
            Err(NotHandled::Stopped) => return ControlFlow::Break(super::End::Stopped),
            Err(NotHandled::Refused(error)) => {
                return ControlFlow::Continue(Step::Refused(chain_of(&*error)));
            }
        }
        loop {
            let work = delivery.work(items, &ranges);
            let stored = self.runner.store.commit(commit.clone(), work).await;
            let Some(error) = self.trouble_of(stored, &commit).await? else {
                self.has_stored(&commit);
                return ControlFlow::Continue(Step::Done);
            };
            if !error.kind().is_transient() {
                return ControlFlow::Continue(Step::Refused(chain_of(&error)));
            }
            if error.kind() == StorageErrorKind::Busy && commit.unparked.is_some() {
                return ControlFlow::Continue(Step::NotNow(chain_of(&error)));
            }
            self.pause(&chain_of(&error)).await?;
            self.lease_lasts().await?;
        }
    }

    /// Returns a step from the progress to another, past an item that was written at this time, if that is known.
    pub(super) fn step_past(&self, written: Option<Timestamp>, to: Progress) -> ProgressCommit {
        let mut step = self.step_to(to);
        step.reached_time = written;
        step
    }

    /// Returns a step from the progress to another.
    pub(super) fn step_to(&self, to: Progress) -> ProgressCommit {
        ProgressCommit::new(self.claim.clone(), self.progress.clone(), to)
    }
}
