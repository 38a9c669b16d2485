//! Goes on with a share: hands groups to the handler, and stores the progress.

use std::future::ready;
use std::ops::ControlFlow;
use std::sync::Arc;

use actix_persistence_storage_api::{BackOff, OffsetStore, Progress, ShareClaim, TakenShare};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::parking::Parked;
use super::reader::{Read, Reader};
use crate::ProjectionSettings;
use crate::chain_of::chain_of;
use crate::delivery::Delivery;
use crate::pieces::Pieces;
use crate::source::Source;
use crate::status::Board;
use crate::tenure::Tenure;

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
    pub(crate) tenure: Tenure,
    /// Told while somebody waits for the progress.
    pub(crate) awaited: watch::Receiver<()>,
    /// Told when something was asked for about parked ids.
    pub(crate) requests: watch::Receiver<()>,
    /// The ends of earlier runners of the same slices in this process: one id is never handed over twice at the same time.
    pub(crate) ends_before: Vec<watch::Receiver<()>>,
}

/// A share that is gone on with.
pub(super) struct Running<S: Source> {
    pub(super) runner: ShareRunner<S>,
    pub(super) claim: ShareClaim,
    pub(super) progress: Progress,
    /// The ids of the share whose items wait.
    pub(super) parked: Parked,
    /// The number of items that are still handed over alone, after a failure or the end of a process.
    pub(super) alone: usize,
    /// The number of attempts that were counted since the progress has changed.
    pub(super) attempts: u32,
    /// True if the owner before did not release the share, until something is stored: it may have ended in a handler.
    pub(super) was_broken_off: bool,
    pub(super) back_off: BackOff,
}

/// Goes on, or ends the share.
pub(super) type Turn<T> = ControlFlow<End, T>;

impl<S: Source> ShareRunner<S> {
    /// Goes on with a share until it is told to stop, or loses it.
    pub(crate) async fn run(mut self, taken: TakenShare) -> End {
        if self.earlier_ones_have_ended().await.is_break() {
            return End::Stopped;
        }
        let begins_alone = !taken.was_released || taken.attempts > 0;
        let settings = &self.settings;
        let back_off = || BackOff::new(settings.min_back_off, settings.max_back_off, 0.2);
        let running = Running {
            alone: if begins_alone {
                settings.group_size.max(1)
            } else {
                0
            },
            attempts: taken.attempts,
            was_broken_off: !taken.was_released,
            back_off: back_off(),
            parked: Parked::new(settings.lease / 4, back_off()),
            claim: taken.claim,
            progress: taken.progress,
            runner: self,
        };
        running.run().await
    }

    /// Waits until the earlier runners have ended, or it is told to stop.
    async fn earlier_ones_have_ended(&mut self) -> ControlFlow<()> {
        for mut end in std::mem::take(&mut self.ends_before) {
            tokio::select! {
                biased;
                () = self.tenure.ends() => return ControlFlow::Break(()),
                // It is an error, because nothing is ever sent.
                _ = end.changed() => {}
            }
        }
        ControlFlow::Continue(())
    }
}

impl<S: Source> Running<S> {
    async fn run(mut self) -> End {
        let end = self.go_on().await;
        self.ask_again().await;
        end
    }

    async fn go_on(&mut self) -> End {
        if let ControlFlow::Break(end) = self.find_parked().await {
            return end;
        }
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
        let reader = Reader::new(source, pieces, settings, sender, awaited);
        let _reading = AbortOnDrop(tokio::spawn(reader.run()));
        loop {
            let read = tokio::select! {
                biased;
                () = self.runner.tenure.ends() => return ControlFlow::Break(End::Stopped),
                () = self.parked.look_is_due(&mut self.runner.requests) => {
                    self.carry_out_requests().await?;
                    continue;
                }
                () = ready(()), if self.parked.has_turn() => {
                    self.retry_some().await?;
                    continue;
                }
                read = groups.recv() => read,
                // Nothing was read meanwhile.
                () = self.parked.turn_comes(), if self.parked.is_retrying() => {
                    self.retry_some().await?;
                    continue;
                }
            };
            self.parked.others_had_turn();
            match read {
                Some(Ok(Read::Group(group))) => self.handle(&group).await?,
                Some(Ok(Read::Undecodable(what, to))) => self.cannot_decode(what, to).await?,
                Some(Err(error)) => return self.pause(&chain_of(&error)).await,
                // The reader has panicked, which its task has reported.
                None => {
                    self.pause("the reader has ended").await?;
                    return ControlFlow::Continue(());
                }
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
