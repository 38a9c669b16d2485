//! The policy for messages beyond the number that an actor may hold.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use actix::Message;
use actix_persistence_storage_api::PersistenceId;

use crate::error::panics::caught;

/// The number of messages that an actor holds while it recovers, persists or waits to be rebuilt, and the fate of
/// further ones.
///
/// The policy decides on a message that does not fit when it arrives, so that memory is bounded however many are sent;
/// [`Overflow::Wait`] is the exception. Before a message is refused, messages whose askers no longer wait make room:
/// they would not be processed anyway. A large stash is not searched for them at every message.
///
/// An actor that does none of this takes its messages straight from the channel of its address, as every actor of actix;
/// that one has no limit for [`do_send`](actix::Addr::do_send) and [`send`](actix::Addr::send).
#[derive(Clone)]
pub struct StashPolicy {
    capacity: usize,
    strategy: Strategy,
}

#[derive(Clone)]
enum Strategy {
    Always(Overflow),
    Custom(Arc<dyn OverflowStrategy>),
}

/// The fate of the messages that arrive while the internal stash is full.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Overflow {
    /// Further messages stay in the channel of the address, which has no limit: actix holds back neither
    /// [`do_send`](actix::Addr::do_send) nor [`send`](actix::Addr::send). Memory grows as long as messages come; for
    /// senders that are known to be few, or that wait for each answer.
    Wait,
    /// The message is dropped and its asker gets [`MailboxError::Closed`](actix::MailboxError::Closed); the actor fails
    /// and is rebuilt after back-off, as with Akka's `ThrowOverflowExceptionStrategy`. While it recovers, or waits to be
    /// rebuilt, it has failed already: the message is only dropped.
    Fail,
    /// The message is dropped and its asker gets [`MailboxError::Closed`](actix::MailboxError::Closed); it goes to the
    /// dead letters, as with Akka's `DiscardToDeadLetterStrategy`. The default, as `drop` is of Akka's typed API.
    #[default]
    Drop,
    /// The message is dropped and its asker gets the answer that is registered for its type, as with Akka's
    /// `ReplyToStrategy`; messages of other types are treated as with [`Drop`](Self::Drop). So is a
    /// command that is put aside after it has persisted something: the answer would say that it did nothing.
    Reply(OverflowReplies),
}

/// Decides case by case, for [`StashPolicy::custom`].
pub trait OverflowStrategy: Send + Sync {
    /// Returns the fate of a message that does not fit. A waiting message is asked about again when there may be room.
    fn overflow(&self, stash: &OverflowContext<'_>) -> Overflow;
}

/// A stash that has no room.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OverflowContext<'a> {
    /// The persistence id of the actor.
    pub persistence_id: &'a PersistenceId,
    /// The number of messages that the stash holds.
    pub capacity: usize,
}

/// Answers for the askers whose messages do not fit, by type of message.
#[derive(Clone, Default)]
pub struct OverflowReplies(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

type MakeAnswer<M> = Box<dyn Fn() -> <M as Message>::Result + Send + Sync>;

impl StashPolicy {
    /// The number of messages that an actor holds unless set otherwise, as Akka's `stash-capacity`.
    pub const DEFAULT_CAPACITY: usize = 4_096;

    /// Treats all messages beyond `capacity` alike.
    pub fn new(capacity: usize, overflow: Overflow) -> Self {
        Self {
            capacity,
            strategy: Strategy::Always(overflow),
        }
    }

    /// Lets `strategy` decide about each message beyond `capacity`.
    pub fn custom(capacity: usize, strategy: Arc<dyn OverflowStrategy>) -> Self {
        Self {
            capacity,
            strategy: Strategy::Custom(strategy),
        }
    }

    /// Returns the number of messages that are held.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the fate of further messages; `None` if a strategy of the application decides.
    pub fn overflow(&self) -> Option<&Overflow> {
        match &self.strategy {
            Strategy::Always(overflow) => Some(overflow),
            Strategy::Custom(_) => None,
        }
    }

    pub(crate) fn when_full(&self, persistence_id: &PersistenceId) -> Overflow {
        match &self.strategy {
            Strategy::Always(overflow) => overflow.clone(),
            Strategy::Custom(strategy) => caught(|| {
                strategy.overflow(&OverflowContext {
                    persistence_id,
                    capacity: self.capacity,
                })
            })
            .unwrap_or_else(|panic| {
                tracing::error!(%persistence_id, panic, "the overflow strategy panicked");
                Overflow::default()
            }),
        }
    }
}

impl Default for StashPolicy {
    fn default() -> Self {
        Self::new(Self::DEFAULT_CAPACITY, Overflow::default())
    }
}

impl fmt::Display for StashPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let overflow = match &self.strategy {
            Strategy::Always(Overflow::Wait) => "wait",
            Strategy::Always(Overflow::Fail) => "fail",
            Strategy::Always(Overflow::Drop) => "drop",
            Strategy::Always(Overflow::Reply(_)) => "reply",
            Strategy::Custom(_) => "custom",
        };
        write!(f, "capacity {}, overflow {overflow}", self.capacity)
    }
}

impl fmt::Debug for StashPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StashPolicy({self})")
    }
}

impl<F> OverflowStrategy for F
where
    F: Fn(&OverflowContext<'_>) -> Overflow + Send + Sync,
{
    fn overflow(&self, stash: &OverflowContext<'_>) -> Overflow {
        self(stash)
    }
}

impl OverflowReplies {
    /// Makes a table without answers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers messages of type `M` with what `answer` returns.
    #[must_use]
    pub fn with<M: Message + 'static>(
        mut self,
        answer: impl Fn() -> M::Result + Send + Sync + 'static,
    ) -> Self {
        let answer: MakeAnswer<M> = Box::new(answer);
        self.0.insert(TypeId::of::<M>(), Arc::new(answer));
        self
    }

    /// Returns whether no type has an answer.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn answer<M: Message + 'static>(&self) -> Option<M::Result> {
        let answer = self.0.get(&TypeId::of::<M>())?;
        answer.downcast_ref::<MakeAnswer<M>>().map(|make| make())
    }
}

impl fmt::Debug for OverflowReplies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OverflowReplies({} types)", self.0.len())
    }
}
