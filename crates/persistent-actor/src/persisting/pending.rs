//! The queue of everything that was persisted and not yet handled.

use std::collections::VecDeque;
use std::sync::Arc;

use actix_persistence_storage_api::{
    AtomicWrite, EventRecord, Fence, Operation, Payload, PersistenceId, Revision, SequenceNr,
    StateWrite, StorageError, StorageErrorKind, Timestamp, WriteOutcome, WriterId,
};

use crate::persisting::attached::{Attached, AttachedRef};
use crate::persisting::beside::Beside;
use crate::persisting::encoded::Encoded;
use crate::persisting::persisted_events::PersistedEvents;
use crate::replying::cause::CauseRef;
use crate::room::free_beyond;
use crate::serializer::{Outgoing, Place};
use crate::{EncodeError, Metadata, PersistError, PersistentActor, RejectionCause};

/// The part that all events of a write have in common.
struct OfWrite<'a> {
    persistence_id: &'a PersistenceId,
    writer: WriterId,
    timestamp: Timestamp,
    adapter_manifest: Option<&'a Arc<str>>,
}

impl OfWrite<'_> {
    /// Returns the records of the events of a call, numbered from `next` on. It is compiled once, and not for each type of
    /// actors.
    fn records(&self, next: SequenceNr, encoded: &Encoded, beside: &Beside) -> Vec<EventRecord> {
        let metadata = beside.stored().payload();
        (next..)
            .zip(encoded.outgoing())
            .enumerate()
            .map(|(index, (nr, event))| {
                let payload = event.at(Place::of_event(self.persistence_id, nr));
                let mut record = EventRecord::new(nr, self.timestamp, self.writer, payload);
                record.tags = beside.tags(index).to_vec();
                record.adapter_manifest = self.adapter_manifest.cloned().unwrap_or_default();
                record.metadata = metadata.cloned();
                record
            })
            .collect()
    }
}

/// Says whether commands wait for the handlers of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `persist`, `persist_all`, `defer`: nothing else touches the actor until they are handled.
    Stashing,
    /// `persist_async`, `persist_all_async`, `defer_async`: commands flow.
    Async,
}

/// A call of the persist family; one that defers has no events. A state is the one event of its call.
struct Invocation<A: PersistentActor> {
    events: PersistedEvents<A::Event>,
    /// The encoded events; empty after their fate is settled.
    encoded: Encoded,
    beside: Beside,
    attached: AttachedRef<A>,
    cause: CauseRef,
    state: State,
}

impl<A: PersistentActor> Invocation<A> {
    /// Adds the tags of each event, unless `check` fails.
    fn tag(
        &mut self,
        tags: impl Fn(&A::Event) -> Vec<String>,
        check: impl Fn() -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        for (index, event) in self.events.iter().enumerate() {
            let tags = tags(event);
            if !tags.is_empty() {
                check()?;
                self.beside.tag(index, self.encoded.len(), tags);
            }
        }
        Ok(())
    }

    /// Notes the fate of the call; what it was to store is needed no more.
    fn settle(&mut self, fate: Fate) {
        self.encoded = Encoded::NOTHING;
        self.state = State::Settled(fate);
    }
}

enum State {
    /// The call is encoded, to be numbered and sent with the next write.
    Unsent,
    /// The call is sent in the write under way, with this first number and this time.
    Sent {
        first: SequenceNr,
        timestamp: Timestamp,
    },
    /// The fate of the call is known; its handlers run when it is the head of the queue.
    Settled(Fate),
}

/// The fate of the events of one call.
pub(crate) enum Fate {
    /// The events are stored; `first` is the number of the first one, or 0 for a call that stores nothing.
    Stored {
        first: SequenceNr,
        timestamp: Timestamp,
    },
    /// The events are certainly not stored, and the actor goes on.
    Rejected(RejectionCause),
    /// The events are not stored, or that is unknown, and the actor stops; `first` is the number with which the first one
    /// was sent.
    Failed {
        error: StorageError,
        first: SequenceNr,
    },
}

/// A call whose turn has come.
pub(crate) struct Settled<A: PersistentActor> {
    pub(crate) events: PersistedEvents<A::Event>,
    pub(crate) beside: Beside,
    pub(crate) attached: AttachedRef<A>,
    pub(crate) cause: CauseRef,
    pub(crate) fate: Fate,
}

/// The limits of one write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteLimit {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

impl WriteLimit {
    /// Takes these events, each with this metadata, off the limit; returns whether they fitted.
    fn takes(&mut self, events: &[Outgoing], metadata: Option<&Payload>) -> bool {
        let beside = metadata.map_or(0, Payload::len);
        let bytes: usize = events.iter().map(|event| event.len() + beside).sum();
        let fits = events.len() <= self.events && bytes <= self.bytes;
        self.events = self.events.saturating_sub(events.len());
        self.bytes = self.bytes.saturating_sub(bytes);
        fits
    }
}

/// The room for calls that an actor keeps when it has nothing to do; what a burst took beyond that is freed.
const ROOM_KEPT: usize = 32;

/// The calls of an actor, in order. Whether commands wait is derived from them, never counted beside them: a counter of
/// its own is how Akka came to stash for ever (<https://github.com/akka/akka/issues/23781>).
pub(crate) struct PendingQueue<A: PersistentActor> {
    invocations: VecDeque<Invocation<A>>,
    /// The number of calls that have left the queue, which is the place of its head.
    left: u64,
    /// The place after that of the youngest call that holds back commands; it has left the queue when `left` is as
    /// high.
    held_back_until: u64,
    /// The place before which no call is in the write under way; none before the next field is unsent, so that a search
    /// need not look there.
    sent_from: u64,
    unsent_from: u64,
    /// The place from which on the actor was not asked for the tags of the events.
    untagged_from: u64,
    /// The first failure of a write: nothing is sent after it.
    failure: Option<StorageError>,
}

impl<A: PersistentActor> PendingQueue<A> {
    pub(crate) fn new() -> Self {
        Self {
            invocations: VecDeque::new(),
            left: 0,
            held_back_until: 0,
            sent_from: 0,
            unsent_from: 0,
            untagged_from: 0,
            failure: None,
        }
    }

    /// Adds a call: its events with their encoded forms, or why they were rejected.
    pub(crate) fn push(
        &mut self,
        kind: Kind,
        events: PersistedEvents<A::Event>,
        encoded: Result<Encoded, RejectionCause>,
        beside: Beside,
        cause: CauseRef,
    ) -> AttachedRef<A> {
        let attached = Attached::new();
        let (encoded, state) = match encoded {
            // Nothing to store, but its completion waits for its turn.
            Ok(encoded) if encoded.is_empty() => (
                encoded,
                State::Settled(Fate::Stored {
                    first: 0,
                    timestamp: Timestamp::now(),
                }),
            ),
            Ok(encoded) => {
                cause.note_asked();
                (encoded, State::Unsent)
            }
            Err(cause) => (Encoded::NOTHING, State::Settled(Fate::Rejected(cause))),
        };
        if self.invocations.capacity() == 0 {
            // Many actors never have more than one under way.
            self.invocations.reserve_exact(1);
        }
        self.invocations.push_back(Invocation {
            events,
            encoded,
            beside,
            attached: AttachedRef::clone(&attached),
            cause,
            state,
        });
        if kind == Kind::Stashing {
            self.held_back_until = self.left + self.invocations.len() as u64;
        }
        attached
    }

    /// Adds the tags of the events that were added since the last time; rejects the calls that have some, if `check`
    /// fails.
    pub(crate) fn tag(
        &mut self,
        tags: impl Fn(&A::Event) -> Vec<String>,
        check: impl Fn() -> Result<(), StorageError>,
    ) {
        let end = self.left + self.invocations.len() as u64;
        if self.untagged_from == end {
            return;
        }
        let from = self.index(self.untagged_from);
        self.untagged_from = end;
        for invocation in self.invocations.range_mut(from..) {
            if matches!(invocation.state, State::Unsent)
                && let Err(error) = invocation.tag(&tags, &check)
            {
                invocation.settle(Fate::Rejected(error.into()));
            }
        }
    }

    /// Returns whether commands, timers, streams and futures have to wait: as long as a stashing call is in the queue.
    pub(crate) fn holds_back(&self) -> bool {
        self.left < self.held_back_until
    }

    /// Returns whether nothing is left to store or to handle.
    pub(crate) fn is_empty(&self) -> bool {
        self.invocations.is_empty()
    }

    /// Returns the number of calls that are left to store or to handle.
    pub(crate) fn len(&self) -> usize {
        self.invocations.len()
    }

    /// Numbers the events of the calls not yet sent, from `next` on, and returns them as writes; empty if there are
    /// none.
    ///
    /// Takes all of them, or as many as fit into `limit`, but at least one.
    pub(crate) fn take_unsent(
        &mut self,
        persistence_id: &PersistenceId,
        mut fence: Fence,
        writer: WriterId,
        mut next: SequenceNr,
        adapter_manifest: Option<&Arc<str>>,
        mut limit: WriteLimit,
    ) -> Vec<AtomicWrite> {
        let mut writes = Vec::new();
        if self.failure.is_some() {
            return writes;
        }
        let timestamp = Timestamp::now();
        let sent_before = self.index(self.unsent_from);
        self.sent_from = self.unsent_from;
        self.unsent_from = self.left + self.invocations.len() as u64;
        for (index, invocation) in (sent_before..).zip(self.invocations.range_mut(sent_before..)) {
            if !matches!(invocation.state, State::Unsent) {
                continue;
            }
            let metadata = invocation.beside.stored().payload();
            if !limit.takes(invocation.encoded.outgoing(), metadata) && !writes.is_empty() {
                self.unsent_from = self.left + index as u64;
                break;
            }
            let of_write = OfWrite {
                persistence_id,
                writer,
                timestamp,
                adapter_manifest,
            };
            let records = of_write.records(next, &invocation.encoded, &invocation.beside);
            invocation.state = State::Sent {
                first: next,
                timestamp,
            };
            next += records.len() as u64;
            writes.push(
                AtomicWrite::new(persistence_id.clone(), fence, records).expect(
                    "records are numbered one after the other, and an empty call is never unsent",
                ),
            );
            fence = fence.once_stored();
        }
        writes
    }

    /// Assigns the revision `next` to the oldest change of a state that is not yet sent; `None` if there is none.
    pub(crate) fn take_change(
        &mut self,
        persistence_id: &PersistenceId,
        next: Revision,
    ) -> Option<StateWrite> {
        if self.failure.is_some() {
            return None;
        }
        let sent_before = self.index(self.unsent_from);
        self.unsent_from = self.left + self.invocations.len() as u64;
        let (index, invocation) = (sent_before..)
            .zip(self.invocations.range_mut(sent_before..))
            .find(|(_, invocation)| matches!(invocation.state, State::Unsent))?;
        self.sent_from = self.left + index as u64;
        self.unsent_from = self.sent_from + 1;
        invocation.state = State::Sent {
            first: next,
            timestamp: Timestamp::now(),
        };
        invocation.encoded.as_change(persistence_id, next)
    }

    /// Settles the calls of the write under way by its outcomes, and returns the highest number now stored, if any.
    ///
    /// Calls `stored` with the events of each stored call, in order, with their first number, their time and metadata.
    /// Events that were skipped after a rejection are sent again with new numbers, so that numbers stay gap-free.
    pub(crate) fn settle(
        &mut self,
        outcomes: Vec<WriteOutcome>,
        mut stored: impl FnMut(&mut PersistedEvents<A::Event>, SequenceNr, Timestamp, &Metadata),
    ) -> Option<SequenceNr> {
        let mut highest = None;
        let mut failure: Option<StorageError> = None;
        let mut rejected = false;
        let sent_from = self.index(self.sent_from);
        let sent = (self.left + sent_from as u64..)
            .zip(self.invocations.range_mut(sent_from..))
            .filter(|(_, invocation)| matches!(invocation.state, State::Sent { .. }));
        // In this order: a queue that is longer than what was sent is not searched to its end.
        for (outcome, (place, invocation)) in outcomes.into_iter().zip(sent) {
            let State::Sent { first, timestamp } = invocation.state else {
                continue;
            };
            let fate = match (outcome, &failure) {
                (WriteOutcome::Stored, _) => {
                    highest = Some(first + invocation.encoded.len() as u64 - 1);
                    let metadata = invocation.beside.stored();
                    stored(&mut invocation.events, first, timestamp, metadata);
                    Fate::Stored { first, timestamp }
                }
                (WriteOutcome::Rejected(cause), _) => {
                    rejected = true;
                    Fate::Rejected(cause.into())
                }
                (WriteOutcome::Failed(error), _) => {
                    failure = Some(error.clone());
                    Fate::Failed { error, first }
                }
                (WriteOutcome::Skipped, Some(error)) => Fate::Failed {
                    error: error.clone().not_stored(),
                    first,
                },
                (WriteOutcome::Skipped, None) if rejected => {
                    invocation.state = State::Unsent;
                    self.unsent_from = self.unsent_from.min(place);
                    continue;
                }
                // Sent again and again it might be skipped for ever.
                (WriteOutcome::Skipped, None) => {
                    let error = skipped_without_reason();
                    failure = Some(error.clone());
                    Fate::Failed { error, first }
                }
            };
            invocation.settle(fate);
        }
        self.failure = self.failure.take().or(failure);
        highest
    }

    /// Returns the index of a place in the queue; a call that has left the queue counts as its head.
    fn index(&self, place: u64) -> usize {
        place.saturating_sub(self.left) as usize
    }

    /// Returns whether a call is to be handled now.
    pub(crate) fn head_is_settled(&self) -> bool {
        matches!(
            self.invocations.front(),
            Some(Invocation {
                state: State::Settled(_),
                ..
            })
        )
    }

    /// Takes the head, if its fate is known.
    pub(crate) fn pop_settled(&mut self) -> Option<Settled<A>> {
        if !self.head_is_settled() {
            return None;
        }
        let head = self.invocations.pop_front()?;
        let State::Settled(fate) = head.state else {
            return None;
        };
        self.left += 1;
        if self.invocations.is_empty() {
            free_beyond(&mut self.invocations, ROOM_KEPT);
        }
        Some(Settled {
            events: head.events,
            beside: head.beside,
            attached: head.attached,
            cause: head.cause,
            fate,
        })
    }

    /// Ends every call, because the actor failed: each asker learns what is certain about its events.
    pub(crate) fn abandon(&mut self, in_flight: impl Fn() -> PersistError) {
        // An asker whose command was decided on a state that another writer had overtaken hears of that writer.
        let conflict = self.failure.take().map(PersistError::from_failure);
        let conflict = conflict.filter(|error| matches!(error, PersistError::Conflict(_)));
        let unsent = conflict.unwrap_or(PersistError::ActorFailed);
        for invocation in self.invocations.drain(..) {
            let error = match invocation.state {
                State::Unsent => unsent.clone(),
                State::Sent { .. } => in_flight(),
                State::Settled(Fate::Stored { first, .. }) => unanswered(first),
                State::Settled(Fate::Rejected(cause)) => PersistError::Rejected(cause),
                State::Settled(Fate::Failed { error, .. }) => PersistError::from_failure(error),
            };
            fail(&invocation.attached, &invocation.cause, error);
        }
    }
}

fn skipped_without_reason() -> StorageError {
    StorageError::new(StorageErrorKind::Backend, Operation::WriteMessages)
        .with_message("the journal skipped a write although none before it was rejected or failed")
}

/// Returns the error for a stored call that gets no other answer any more.
pub(crate) fn unanswered(first: SequenceNr) -> PersistError {
    if first == 0 {
        PersistError::ActorFailed
    } else {
        PersistError::StoredUnanswered
    }
}

/// Answers the asker of a call that it failed.
pub(crate) fn fail<A: PersistentActor>(
    attached: &AttachedRef<A>,
    cause: &CauseRef,
    error: PersistError,
) {
    cause.note(&error);
    attached.borrow_mut().end(Err(error.clone()));
    let next = || attached.borrow_mut().next_completion();
    std::iter::from_fn(next).for_each(|completion| completion.failed(error.clone()));
}

impl From<EncodeError> for RejectionCause {
    fn from(error: EncodeError) -> Self {
        RejectionCause::Encode(Arc::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actor::bare::Bare;

    #[test]
    fn the_room_of_a_burst_is_given_back() {
        let mut queue = PendingQueue::<Bare>::new();
        for _ in 0..10_000 {
            let events = Vec::new().into();
            queue.push(
                Kind::Async,
                events,
                Ok(Encoded::NOTHING),
                Beside::default(),
                CauseRef::default(),
            );
        }
        while queue.pop_settled().is_some() {}
        assert!(queue.is_empty());
        assert!(queue.invocations.capacity() <= ROOM_KEPT);
    }
}
