//! Reads the items of a share in groups, ahead of what is handled.

use std::sync::Arc;

use actix_persistence_query::QueryError;
use actix_persistence_storage_api::{Offset, Progress};
use futures_util::StreamExt;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use crate::ProjectionSettings;
use crate::pieces::Pieces;
use crate::source::Source;

/// Items that follow on each other, and the progress after them.
pub(super) struct Group<S: Source> {
    /// No items if only the offset has moved on.
    pub(super) items: Arc<[S::Item]>,
    /// The progress after all of them, and after what was passed over since.
    pub(super) to: Progress,
    pieces: Arc<Pieces<S::Position>>,
}

impl<S: Source> Group<S> {
    /// Returns the progress after an item, by its place.
    pub(super) fn progress_after(&self, place: usize) -> Progress {
        match place + 1 == self.items.len() {
            true => self.to.clone(),
            false => self.pieces.progress(S::offset(&self.items[place])),
        }
    }
}

/// Reads the items of a share.
pub(super) struct Reader<S: Source> {
    stream: S::Stream,
    pieces: Arc<Pieces<S::Position>>,
    /// The offset up to which groups were sent.
    sent: Offset<S::Position>,
    groups: mpsc::Sender<Result<Group<S>, QueryError>>,
    settings: ProjectionSettings,
    /// Told while somebody waits for the progress.
    awaited: watch::Receiver<()>,
}

impl<S: Source> Reader<S> {
    /// Begins where the pieces end; groups go to the channel.
    pub(super) fn new(
        source: &S,
        pieces: Arc<Pieces<S::Position>>,
        settings: ProjectionSettings,
        groups: mpsc::Sender<Result<Group<S>, QueryError>>,
        awaited: watch::Receiver<()>,
    ) -> Self {
        let lowest = pieces.lowest();
        Self {
            stream: source.stream(pieces.slices(), lowest.clone()),
            pieces,
            sent: lowest,
            groups,
            settings,
            awaited,
        }
    }

    /// Reads until nobody takes groups any more, or an error was sent.
    pub(super) async fn run(mut self) {
        loop {
            let group = match self.next_group().await {
                Ok(Some(group)) => Ok(group),
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            let is_last = group.is_err();
            if self.groups.send(group).await.is_err() || is_last {
                return;
            }
        }
    }

    /// Returns a group; an empty one if only the offset has moved, and none if nothing has.
    async fn next_group(&mut self) -> Result<Option<Group<S>>, QueryError> {
        let mut items = Vec::new();
        let idle = sleep(self.settings.idle_progress);
        tokio::select! {
            biased;
            first = next::<S>(&mut self.stream, &self.pieces) => items.push(first?),
            () = idle => {}
            Ok(()) = self.awaited.changed() => {}
        }
        if items.is_empty() {
            let has_moved = *S::reached(&self.stream) != self.sent;
            return Ok(has_moved.then(|| self.group(items)));
        }
        let until = Instant::now() + self.settings.group_within;
        let size = self.settings.group_size.max(1);
        while items.len() < size {
            // While others are being handled, a group takes what comes until it is its turn.
            let turn = async {
                sleep_until(until).await;
                self.groups.reserve().await.map(drop)
            };
            tokio::select! {
                biased;
                item = next::<S>(&mut self.stream, &self.pieces) => match item {
                    Ok(item) => items.push(item),
                    // The stream has ended; what came before the error goes first.
                    Err(error) => {
                        let group = self.group(items);
                        if self.groups.send(Ok(group)).await.is_err() {
                            return Ok(None);
                        }
                        return Err(error);
                    }
                },
                _ = turn => break,
            }
        }
        Ok(Some(self.group(items)))
    }

    fn group(&mut self, items: Vec<S::Item>) -> Group<S> {
        self.sent.clone_from(S::reached(&self.stream));
        Group {
            items: items.into(),
            to: self.pieces.progress(&self.sent),
            pieces: Arc::clone(&self.pieces),
        }
    }
}

/// Returns the next item that no piece is past; a live stream never ends without an error.
async fn next<S: Source>(
    stream: &mut S::Stream,
    pieces: &Pieces<S::Position>,
) -> Result<S::Item, QueryError> {
    loop {
        match stream.next().await {
            Some(Ok(item)) => {
                let slice = S::persistence_id(&item).slice();
                if !pieces.are_past(slice, S::offset(&item)) {
                    return Ok(item);
                }
            }
            Some(Err(error)) => return Err(error),
            None => std::future::pending().await,
        }
    }
}
