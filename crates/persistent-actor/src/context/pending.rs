//! The queue of everything that was persisted and not yet handled.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use actix_persistence_storage_api::{
    AtomicWrite, Epoch, EventRecord, Payload, PersistenceId, SequenceNr, StorageError, Timestamp,
    WriteOutcome, WriterId,
};

use crate::panics::caught;
use crate::{EncodeError, PersistError, PersistentActor, PersistentContext, RejectionCause};

/// A handler of one persisted event.
pub(crate) type EventHandler<A> =
    Box<dyn FnMut(&mut A, &<A as PersistentActor>::Event, &mut PersistentContext<A>)>;

/// What happens when everything of one call is handled, or has failed: the reply.
pub(crate) trait Completion<A: PersistentActor> {
    fn stored(self: Box<Self>, actor: &mut A, ctx: &mut PersistentContext<A>);
    fn failed(self: Box<Self>, error: PersistError);
}

/// What the caller of `persist` attaches after the call took effect.
pub(crate) struct Attached<A: PersistentActor> {
    pub(crate) handler: Option<EventHandler<A>>,
    pub(crate) completion: Option<Box<dyn Completion<A>>>,
}

/// Shared by the queue and by what `persist` returned.
pub(crate) type AttachedRef<A> = Rc<RefCell<Attached<A>>>;

/// One call of `persist` or `persist_all`.
pub(crate) struct Invocation<A: PersistentActor> {
    pub(crate) events: Vec<A::Event>,
    /// The encoded events, as many; empty once the fate is settled.
    payloads: Vec<Payload>,
    attached: AttachedRef<A>,
    state: State,
}

enum State {
    /// Encoded, to be numbered and sent with the next write.
    Unsent,
    /// In the write under way, with this first number.
    Sent { first: SequenceNr },
    /// Everything is known, to be handled when it is the head of the queue.
    Settled(Fate),
}

/// What became of the events of one call.
pub(crate) enum Fate {
    /// Stored, the first event with this number; also the fate of no events at all.
    Stored { first: SequenceNr },
    /// Certainly not stored, the actor goes on.
    Rejected(RejectionCause),
    /// Not stored or unknown, the actor stops. `first` is the number it was sent with.
    Failed {
        error: StorageError,
        first: SequenceNr,
    },
}

/// A call whose turn has come.
pub(crate) struct Settled<A: PersistentActor> {
    pub(crate) events: Vec<A::Event>,
    pub(crate) attached: AttachedRef<A>,
    pub(crate) fate: Fate,
}

/// All calls in order. Whether commands wait is derived from it, never kept beside it: a counter of its own is how
/// Akka came to stash for ever (<https://github.com/akka/akka/issues/23781>).
pub(crate) struct PendingQueue<A: PersistentActor> {
    invocations: VecDeque<Invocation<A>>,
}

impl<A: PersistentActor> PendingQueue<A> {
    pub(crate) fn new() -> Self {
        Self {
            invocations: VecDeque::new(),
        }
    }

    /// Adds a call: its events with their encoded forms, or why they were rejected.
    pub(crate) fn push(
        &mut self,
        events: Vec<A::Event>,
        encoded: Result<Vec<Payload>, RejectionCause>,
    ) -> AttachedRef<A> {
        let attached = Rc::new(RefCell::new(Attached {
            handler: None,
            completion: None,
        }));
        let (payloads, state) = match encoded {
            // Nothing to store, but its completion waits for its turn.
            Ok(payloads) if payloads.is_empty() => {
                (payloads, State::Settled(Fate::Stored { first: 0 }))
            }
            Ok(payloads) => (payloads, State::Unsent),
            Err(cause) => (Vec::new(), State::Settled(Fate::Rejected(cause))),
        };
        self.invocations.push_back(Invocation {
            events,
            payloads,
            attached: Rc::clone(&attached),
            state,
        });
        attached
    }

    /// Whether commands, timers, streams and futures have to wait.
    ///
    /// Every call of `persist` and `persist_all` holds them back until it is handled.
    pub(crate) fn holds_back(&self) -> bool {
        !self.invocations.is_empty()
    }

    /// Whether nothing is left to store or to handle.
    pub(crate) fn is_empty(&self) -> bool {
        self.invocations.is_empty()
    }

    /// Gives numbers from `next` on to every call not yet sent, and turns them into writes; empty if there are none.
    pub(crate) fn take_unsent(
        &mut self,
        persistence_id: &PersistenceId,
        epoch: Epoch,
        writer: WriterId,
        mut next: SequenceNr,
    ) -> Vec<AtomicWrite> {
        let timestamp = Timestamp::now();
        let mut writes = Vec::new();
        for invocation in &mut self.invocations {
            if !matches!(invocation.state, State::Unsent) {
                continue;
            }
            let records: Vec<_> = (next..)
                .zip(&invocation.payloads)
                .map(|(nr, payload)| EventRecord::new(nr, timestamp, writer, payload.clone()))
                .collect();
            invocation.state = State::Sent { first: next };
            next += records.len() as u64;
            writes.push(
                AtomicWrite::new(persistence_id.clone(), epoch, records).expect(
                    "records are numbered one after the other, and an empty call is never unsent",
                ),
            );
        }
        writes
    }

    /// Settles the calls of the write under way by its outcomes, and gives the highest number now stored, if any.
    ///
    /// What was skipped behind a rejection is sent again with new numbers, so that numbers stay gap-free.
    pub(crate) fn settle(&mut self, outcomes: Vec<WriteOutcome>) -> Option<SequenceNr> {
        let mut highest = None;
        let mut failure: Option<StorageError> = None;
        let sent = self
            .invocations
            .iter_mut()
            .filter(|invocation| matches!(invocation.state, State::Sent { .. }));
        for (invocation, outcome) in sent.zip(outcomes) {
            let State::Sent { first } = invocation.state else {
                continue;
            };
            let fate = match (outcome, &failure) {
                (WriteOutcome::Stored, _) => {
                    highest = Some(first + invocation.payloads.len() as u64 - 1);
                    Fate::Stored { first }
                }
                (WriteOutcome::Rejected(cause), _) => Fate::Rejected(cause.into()),
                (WriteOutcome::Failed(error), _) => {
                    failure = Some(error.clone());
                    Fate::Failed { error, first }
                }
                (WriteOutcome::Skipped, Some(error)) => Fate::Failed {
                    error: error.clone().not_stored(),
                    first,
                },
                (WriteOutcome::Skipped, None) => {
                    invocation.state = State::Unsent;
                    continue;
                }
            };
            invocation.payloads = Vec::new();
            invocation.state = State::Settled(fate);
        }
        highest
    }

    /// Takes the head, if its fate is known.
    pub(crate) fn pop_settled(&mut self) -> Option<Settled<A>> {
        let head = self.invocations.pop_front()?;
        match head.state {
            State::Settled(fate) => Some(Settled {
                events: head.events,
                attached: head.attached,
                fate,
            }),
            State::Unsent | State::Sent { .. } => {
                self.invocations.push_front(head);
                None
            }
        }
    }

    /// Ends every call, because the actor failed: each asker learns what is certain about its events.
    pub(crate) fn abandon(&mut self, in_flight: impl Fn() -> PersistError) {
        for invocation in self.invocations.drain(..) {
            let error = match invocation.state {
                State::Unsent => PersistError::ActorFailed,
                State::Sent { .. } => in_flight(),
                State::Settled(Fate::Stored { .. }) => PersistError::StoredUnanswered,
                State::Settled(Fate::Rejected(cause)) => PersistError::Rejected(cause),
                State::Settled(Fate::Failed { error, .. }) => PersistError::from_failure(error),
            };
            fail(&invocation.attached, error);
        }
    }
}

/// Answers whoever waits for the call.
pub(crate) fn fail<A: PersistentActor>(attached: &AttachedRef<A>, error: PersistError) {
    let completion = attached.borrow_mut().completion.take();
    if let Some(completion) = completion
        && let Err(panic) = caught(|| completion.failed(error))
    {
        // The answer is made by code of the user; its channel closes, and the others get theirs.
        tracing::error!(panic, "making the answer of a failed persist panicked");
    }
}

impl From<EncodeError> for RejectionCause {
    fn from(error: EncodeError) -> Self {
        RejectionCause::Encode(Arc::new(error))
    }
}
