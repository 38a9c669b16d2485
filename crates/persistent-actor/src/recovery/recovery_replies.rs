//! Answers for commands whose actor could not be recovered.

use std::fmt;
use std::sync::Arc;

use actix::Message;

use crate::{FromPersistError, OverflowReplies, PersistError, RecoveryError};

/// The commands whose askers learn why their actor could not be recovered, by type of message; the channels of others
/// close.
///
/// Returned by [`recovery_replies`](crate::PersistentActor::recovery_replies). The answer is
/// [`PersistError::NotRecovered`], turned into the result of the command. It goes to every asker that waits when the
/// actor is given up, or sends while it is in back-off after a failure that [waiting does not
/// cure](RecoveryError::is_transient).
///
/// ```
/// # use actix::Message;
/// # use actix_persistence_persistent_actor::{PersistError, RecoveryReplies};
/// #[derive(Message)]
/// #[rtype(result = "Result<u64, PersistError>")]
/// struct Deposit(u64);
///
/// #[derive(Message)]
/// #[rtype(result = "Result<u64, PersistError>")]
/// struct Balance;
///
/// let replies = RecoveryReplies::new().with::<Deposit>().with::<Balance>();
/// ```
#[derive(Clone, Default)]
pub struct RecoveryReplies(Vec<AddAnswer>);

/// Adds the answer to one type of message.
type AddAnswer = fn(OverflowReplies, Arc<RecoveryError>) -> OverflowReplies;

impl RecoveryReplies {
    /// Returns replies that answer no command.
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers commands of type `M`, too.
    #[must_use]
    pub fn with<M>(mut self) -> Self
    where
        M: Message + 'static,
        M::Result: FromPersistError,
    {
        self.0.push(|replies, error| {
            replies.with::<M>(move || {
                M::Result::from_persist_error(PersistError::NotRecovered(Arc::clone(&error)))
            })
        });
        self
    }

    /// Returns the answers to each type of message for this reason.
    pub(crate) fn because(&self, error: &Arc<RecoveryError>) -> OverflowReplies {
        let none = OverflowReplies::new();
        let answers = self.0.iter();
        answers.fold(none, |replies, add| add(replies, Arc::clone(error)))
    }
}

impl fmt::Debug for RecoveryReplies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RecoveryReplies({} types)", self.0.len())
    }
}
