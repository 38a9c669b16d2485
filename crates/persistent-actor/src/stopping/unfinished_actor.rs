//! The work that an actor had not done when everything stopped.

use std::fmt;

use actix_persistence_storage_api::PersistenceId;

/// An actor that did not drain before the deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnfinishedActor {
    /// The persistence id of the actor.
    pub persistence_id: PersistenceId,
    /// The work that kept it from ending.
    pub work: UnfinishedWork,
    /// The number of messages that had arrived and were not processed; their senders get
    /// [`MailboxError::Closed`](actix::MailboxError::Closed).
    pub waiting: usize,
}

/// The work that kept an actor from draining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnfinishedWork {
    /// The actor was replaying its events, or reading its state.
    Recovering,
    /// The store had not answered; what the actor persisted may be stored or not.
    Persisting {
        /// The number of calls of the persist family that were not handled.
        calls: usize,
    },
    /// The actor had everything handled, but waited for the answers to snapshots or deletes.
    AwaitingStores {
        /// The number of requests.
        requests: usize,
    },
    /// The actor had messages to process, or futures that had not ended.
    Working,
    /// The actor had failed, and did not come back before the deadline for the messages that waited for it.
    BackingOff,
    /// The actor ended with messages that it had put aside, or stopped itself before it came to them.
    Declined,
    /// The actor never noticed that it should stop: its arbiter was busy or had ended.
    Unresponsive,
}

impl fmt::Display for UnfinishedWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recovering => f.write_str("was recovering"),
            Self::Persisting { calls } => {
                write!(
                    f,
                    "was persisting, with {} outstanding",
                    Count(*calls, "call")
                )
            }
            Self::AwaitingStores { requests } => write!(
                f,
                "waited for the stores to answer {}",
                Count(*requests, "request")
            ),
            Self::Working => f.write_str("was working"),
            Self::BackingOff => f.write_str("had failed and was in back-off"),
            Self::Declined => f.write_str("ended before it came to all of its messages"),
            Self::Unresponsive => f.write_str("did not respond, its arbiter was busy or had ended"),
        }
    }
}

impl fmt::Display for UnfinishedActor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.persistence_id, self.work)?;
        if self.waiting > 0 {
            write!(f, "; {} not processed", Count(self.waiting, "message"))?;
        }
        Ok(())
    }
}

/// A number with its noun, for messages.
struct Count(usize, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(count, noun) = self;
        write!(f, "{count} {noun}{}", if *count == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_who_what_and_how_many_waited() {
        let mut actor = UnfinishedActor {
            persistence_id: PersistenceId::of("Account", "DE-1"),
            work: UnfinishedWork::Persisting { calls: 2 },
            waiting: 1,
        };
        assert_eq!(
            actor.to_string(),
            "Account|DE-1 was persisting, with 2 calls outstanding; 1 message not processed"
        );
        actor.work = UnfinishedWork::BackingOff;
        actor.waiting = 0;
        assert_eq!(
            actor.to_string(),
            "Account|DE-1 had failed and was in back-off"
        );
    }
}
