//! Goes on with a share: hands groups to the handler, and stores the progress.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use actix_persistence_query::QueryError;
use actix_persistence_storage_api::{
    BackOff, OffsetStore, Progress, ProgressCommit, ShareClaim, Skipped, StorageError,
    StorageErrorKind, TakenShare, Timestamp,
};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::reader::{Group, Reader};
use crate::chain_of::{chain_of, stored};
use crate::delivery::{Delivery, NotHandled};
use crate::membership::told;
use crate::pieces::Pieces;
use crate::source::{Described, Source, Undecodable};
use crate::status::{Board, ShareState};
use crate::{OnFailure, ProjectionSettings};

/// The end of the time in which this process has a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It was told to stop: the share is still its own.
    Stopped,
    /// Another owner has taken the share, or it was changed from outside.
    Lost,
    /// The share was halted, and released with that.
    Halted,
}

/// Goes on with one share.
pub(crate) struct ShareRunner<S: Source> {
    pub(crate) source: Arc<S>,
    pub(crate) store: Arc<dyn OffsetStore>,
    pub(crate) delivery: Arc<Delivery<S>>,
    pub(crate) settings: ProjectionSettings,
    pub(crate) board: Arc<Board>,
    /// The time until which this process may go on, as far as it knows.
    pub(crate) renewed: watch::Receiver<Instant>,
    /// True once the share is to be stopped.
    pub(crate) stop: watch::Receiver<bool>,
    /// Told while somebody waits for the progress.
    pub(crate) awaited: watch::Receiver<()>,
}

/// A share that is gone on with.
struct Running<S: Source> {
    runner: ShareRunner<S>,
    claim: ShareClaim,
    progress: Progress,
    /// The number of items that are still handed over alone, after a failure or the end of a process.
    alone: usize,
    /// True if the owner before did not release the share, until something is stored: it may have ended in a handler.
    was_broken_off: bool,
    back_off: BackOff,
}

/// The outcome of handing items over.
enum Step {
    Done,
    /// The handler said no, for this reason.
    Refused(String),
}

/// Goes on, or ends the share.
type Turn<T> = ControlFlow<End, T>;

impl<S: Source> ShareRunner<S> {
    /// Goes on with a share until it is told to stop, or loses it.
    pub(crate) async fn run(self, taken: TakenShare) -> End {
        let begins_alone = !taken.was_released || taken.attempts > 0;
        let settings = &self.settings;
        let running = Running {
            alone: if begins_alone {
                settings.group_size.max(1)
            } else {
                0
            },
            was_broken_off: !taken.was_released,
            back_off: BackOff::new(settings.min_back_off, settings.max_back_off, 0.2),
            claim: taken.claim,
            progress: taken.progress,
            runner: self,
        };
        running.run().await
    }
}

impl<S: Source> Running<S> {
    async fn run(mut self) -> End {
        loop {
            if let ControlFlow::Break(end) = self.read_and_handle().await {
                return end;
            }
        }
    }

    /// Reads from the progress on and hands over what comes, until the stream ends with an error.
    async fn read_and_handle(&mut self) -> Turn<()> {
        let pieces = match Pieces::of(&self.progress) {
            Ok(pieces) => Arc::new(pieces),
            Err(error) => {
                let reason = format!("its offset is none of this source: {error}");
                return self.halt(reason).await;
            }
        };
        // One group waits while another one is handled.
        let (sender, mut groups) = mpsc::channel(1);
        let settings = self.runner.settings.clone();
        let awaited = self.runner.awaited.clone();
        let source = &*self.runner.source;
        let reader = Reader::new(source, Arc::clone(&pieces), settings, sender, awaited);
        let _reading = AbortOnDrop(tokio::spawn(reader.run()));
        loop {
            let group = tokio::select! {
                biased;
                () = told(&mut self.runner.stop) => return ControlFlow::Break(End::Stopped),
                group = groups.recv() => group,
            };
            match group {
                Some(Ok(group)) => self.handle(&group).await?,
                Some(Err(error)) => return self.cannot_read(error, &pieces).await,
                // The reader has panicked, which its task has reported.
                None => {
                    self.pause("the reader has ended").await?;
                    return ControlFlow::Continue(());
                }
            }
        }
    }

    /// Hands a group over; if it is refused, each item alone.
    async fn handle(&mut self, group: &Group<S>) -> Turn<()> {
        let number = group.items.len();
        if self.alone == 0 || number == 0 {
            match self.step(group, 0..number, &group.to).await? {
                Step::Done => return ControlFlow::Continue(()),
                Step::Refused(reason) => {
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
        let to = group.progress_after(place);
        let most = self.runner.settings.max_attempts.max(1);
        let mut refusal = None;
        loop {
            let attempt = self.count_attempt().await?;
            if attempt <= most || (refusal.is_none() && !self.was_broken_off) {
                match self.step(group, place..place + 1, &to).await? {
                    Step::Done => return ControlFlow::Continue(()),
                    Step::Refused(reason) => {
                        if attempt < most {
                            self.pause(&reason).await?;
                            refusal = Some(reason);
                            continue;
                        }
                        refusal = Some(reason);
                    }
                }
            }
            let item = Described::<S>(&group.items[place]).to_string();
            let ended = || "the process ended in each of the attempts".to_owned();
            let reason = refusal.unwrap_or_else(ended);
            return self.give_up(item, &to, reason).await;
        }
    }

    /// Does what the settings say about an item that was refused each time.
    async fn give_up(&mut self, item: String, to: &Progress, reason: String) -> Turn<()> {
        let claim = self.claim.clone();
        match self.runner.settings.on_failure {
            OnFailure::Stop => {
                self.halt(format!("{item}: {reason}")).await?;
            }
            OnFailure::Skip => {
                tracing::error!(
                    projection = %claim.projection, share = claim.share, item, reason, "skips what its handler fails for"
                );
                let skipped = Skipped::new(item, to.to_string(), stored(&reason), Timestamp::now());
                let commit = ProgressCommit::new(claim.clone(), self.progress.clone(), to.clone());
                self.commit(commit.with_skipped(skipped)).await?;
                self.runner
                    .board
                    .change(claim.share, |share| share.skipped += 1);
            }
        }
        ControlFlow::Continue(())
    }

    /// Runs the handler for some items, and stores the progress.
    async fn step(&mut self, group: &Group<S>, range: Range<usize>, to: &Progress) -> Turn<Step> {
        self.lease_lasts().await?;
        let delivery = Arc::clone(&self.runner.delivery);
        let items = &group.items[range.clone()];
        match delivery.before(items, &self.runner.stop).await {
            Ok(()) => {}
            Err(NotHandled::Stopped) => return ControlFlow::Break(End::Stopped),
            Err(NotHandled::Refused(error)) => {
                return ControlFlow::Continue(Step::Refused(chain_of(&*error)));
            }
        }
        loop {
            let work = delivery.work(&group.items, range.clone());
            let commit = ProgressCommit::new(self.claim.clone(), self.progress.clone(), to.clone());
            let stored = self.runner.store.commit(commit, work).await;
            let Some(error) = self.trouble_of(stored, to).await? else {
                self.has_stored(to, range.len() as u64);
                return ControlFlow::Continue(Step::Done);
            };
            if !error.kind().is_transient() {
                return ControlFlow::Continue(Step::Refused(chain_of(&error)));
            }
            self.pause(&chain_of(&error)).await?;
            self.lease_lasts().await?;
        }
    }

    /// Stores progress without the handler, however long that takes.
    async fn commit(&mut self, commit: ProgressCommit) -> Turn<()> {
        loop {
            self.lease_lasts().await?;
            let stored = self.runner.store.commit(commit.clone(), None).await;
            let Some(error) = self.trouble_of(stored, &commit.to).await? else {
                self.has_stored(&commit.to, 0);
                return ControlFlow::Continue(());
            };
            self.pause(&chain_of(&error)).await?;
        }
    }

    fn has_stored(&mut self, to: &Progress, number: u64) {
        self.progress = to.clone();
        self.was_broken_off = false;
        self.back_off.reset();
        self.runner.board.change(self.claim.share, |share| {
            share.state = ShareState::Running;
            share.handled += number;
            share.last_turn = Instant::now();
            share.error = None;
        });
    }

    /// Returns the error of a commit that has stored nothing, as the store says if the error does not; ends the share if it is no
    /// longer ours.
    async fn trouble_of(
        &mut self,
        stored: Result<(), StorageError>,
        to: &Progress,
    ) -> Turn<Option<StorageError>> {
        let Err(error) = stored else {
            return ControlFlow::Continue(None);
        };
        if error.is_not_stored() && error.kind() != StorageErrorKind::ShareConflict {
            return ControlFlow::Continue(Some(error));
        }
        loop {
            let unread = match self.runner.store.read(&self.claim.projection).await {
                Ok(record) => {
                    let shares = record.map(|record| record.shares).unwrap_or_default();
                    let share = shares.get(usize::from(self.claim.share));
                    let mine = share.filter(|share| share.epoch == self.claim.epoch);
                    return match mine {
                        Some(share) if share.progress == *to => ControlFlow::Continue(None),
                        Some(share) if share.progress == self.progress => {
                            ControlFlow::Continue(Some(error))
                        }
                        _ => ControlFlow::Break(End::Lost),
                    };
                }
                Err(error) => chain_of(&error),
            };
            self.pause(&unread).await?;
        }
    }

    async fn count_attempt(&mut self) -> Turn<u32> {
        loop {
            self.lease_lasts().await?;
            match self.runner.store.count_attempt(&self.claim).await {
                Ok(attempt) => return ControlFlow::Continue(attempt),
                Err(error) if error.kind() == StorageErrorKind::ShareConflict => {
                    return ControlFlow::Break(End::Lost);
                }
                Err(error) => self.pause(&chain_of(&error)).await?,
            }
        }
    }

    /// Does about an error that ended the stream what the settings say, or reads again.
    async fn cannot_read(&mut self, error: QueryError, pieces: &Pieces<S::Position>) -> Turn<()> {
        let reason = chain_of(&error);
        let Some(undecodable) = S::undecodable(&error) else {
            return self.pause(&reason).await;
        };
        let Undecodable {
            persistence_id,
            item,
            after,
        } = undecodable;
        let to = pieces.progress(&after);
        if pieces.are_past(persistence_id.slice(), &after) {
            // What was done about it is done.
            let commit = ProgressCommit::new(self.claim.clone(), self.progress.clone(), to);
            return self.commit(commit).await;
        }
        self.give_up(item, &to, reason).await
    }

    async fn halt(&mut self, reason: String) -> Turn<()> {
        let (claim, reason) = (self.claim.clone(), stored(&reason));
        tracing::error!(
            projection = %claim.projection, share = claim.share, reason,
            "halts until the projection is resumed"
        );
        loop {
            match self.runner.store.halt(&claim, &reason).await {
                Ok(()) => break,
                Err(error) if error.kind() == StorageErrorKind::ShareConflict => {
                    return ControlFlow::Break(End::Lost);
                }
                Err(error) => self.pause(&chain_of(&error)).await?,
            }
        }
        self.runner.board.change(claim.share, |share| {
            share.state = ShareState::Halted;
            share.error = Some(reason.into());
        });
        ControlFlow::Break(End::Halted)
    }

    fn note_trouble(&self, error: &str) {
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
    async fn pause(&mut self, error: &str) -> Turn<()> {
        self.note_trouble(error);
        let delay = self.back_off.next_delay();
        tokio::select! {
            biased;
            () = told(&mut self.runner.stop) => ControlFlow::Break(End::Stopped),
            () = sleep(delay) => ControlFlow::Continue(()),
        }
    }

    /// Waits while the lease is over as far as this process knows: another one may have the share.
    async fn lease_lasts(&mut self) -> Turn<()> {
        let ShareRunner { renewed, stop, .. } = &mut self.runner;
        loop {
            if *stop.borrow() {
                return ControlFlow::Break(End::Stopped);
            }
            if Instant::now() < *renewed.borrow_and_update() {
                return ControlFlow::Continue(());
            }
            let renewed = tokio::select! {
                () = told(stop) => Ok(()),
                renewed = renewed.changed() => renewed,
            };
            if renewed.is_err() {
                // Nobody is left to renew it.
                return ControlFlow::Break(End::Stopped);
            }
        }
    }
}

/// Ends a task with its owner.
struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
