//! Reads the items of a share in groups, ahead of what is handled.

use std::sync::Arc;

use actix_persistence_query::QueryError;
use actix_persistence_storage_api::{Offset, Progress};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until};

use crate::ProjectionSettings;
use crate::pieces::Pieces;
use crate::source::{Given, Source, Undecodable};

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

/// The next step of a share.
pub(super) enum Read<S: Source> {
    Group(Group<S>),
    /// A thing that cannot be decoded, and the progress after it.
    Undecodable(Undecodable<S::Position>, Progress),
}

/// The place to which a reader hands what it has read.
pub(super) type Sender<S> = mpsc::Sender<Result<Read<S>, QueryError>>;

/// Reads the items of a share.
pub(super) struct Reader<S: Source> {
    stream: S::Stream,
    pieces: Arc<Pieces<S::Position>>,
    /// The offset up to which groups were sent.
    sent: Offset<S::Position>,
    groups: Sender<S>,
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
        groups: Sender<S>,
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
            let read = match self.next().await {
                Ok(Some(read)) => Ok(read),
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            let is_last = read.is_err();
            if self.groups.send(read).await.is_err() || is_last {
                return;
            }
        }
    }

    /// Returns the next step: a group, which is empty if only the offset has moved; none if nothing has.
    async fn next(&mut self) -> Result<Option<Read<S>>, QueryError> {
        let mut items = Vec::new();
        let idle = sleep(self.settings.idle_progress);
        tokio::select! {
            biased;
            first = next::<S>(&mut self.stream, &self.pieces) => match first? {
                Given::Item(item) => items.push(item),
                Given::Undecodable(undecodable) => return Ok(Some(self.undecodable(undecodable))),
            },
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
            let given = tokio::select! {
                biased;
                given = next::<S>(&mut self.stream, &self.pieces) => given,
                _ = turn => break,
            };
            // What came before something else goes first.
            let last = match given {
                Ok(Given::Item(item)) => {
                    items.push(item);
                    continue;
                }
                Ok(Given::Undecodable(undecodable)) => Ok(undecodable),
                Err(error) => Err(error),
            };
            let before = items.last().map(|item| S::offset(item).clone());
            let before = before.unwrap_or_else(|| self.sent.clone());
            let group = self.group_to(items, before);
            if self.groups.send(Ok(Read::Group(group))).await.is_err() {
                return Ok(None);
            }
            return Ok(Some(self.undecodable(last?)));
        }
        Ok(Some(self.group(items)))
    }

    fn group(&mut self, items: Vec<S::Item>) -> Read<S> {
        let reached = S::reached(&self.stream).clone();
        Read::Group(self.group_to(items, reached))
    }

    fn group_to(&mut self, items: Vec<S::Item>, reached: Offset<S::Position>) -> Group<S> {
        self.sent = reached;
        Group {
            items: items.into(),
            to: self.pieces.progress(&self.sent),
            pieces: Arc::clone(&self.pieces),
        }
    }

    fn undecodable(&mut self, undecodable: Undecodable<S::Position>) -> Read<S> {
        self.sent.clone_from(S::reached(&self.stream));
        Read::Undecodable(undecodable, self.pieces.progress(&self.sent))
    }
}

/// Returns the next thing that no piece is past.
async fn next<S: Source>(
    stream: &mut S::Stream,
    pieces: &Pieces<S::Position>,
) -> Result<Given<S::Item, S::Position>, QueryError> {
    loop {
        let given = S::next(stream).await?;
        let (id, after) = match &given {
            Given::Item(item) => (S::persistence_id(item), S::offset(item)),
            Given::Undecodable(undecodable) => (&undecodable.persistence_id, &undecodable.after),
        };
        if !pieces.are_past(id.slice(), after) {
            return Ok(given);
        }
    }
}
