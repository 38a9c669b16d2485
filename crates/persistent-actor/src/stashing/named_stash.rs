//! The stashes that an actor fills itself.

use std::fmt;

use actix::{Handler, Message};

use crate::metadata::carried::Carried;
use crate::replying::cause::{CauseRef, ReplySender};
use crate::replying::reply::AttachReply;
use crate::stashing::envelope::pack;
use crate::stashing::stash::{StashRef, Waiting};
use crate::{PersistentActor, Reply};

/// Commands that the actor has put aside, to process them later; as Akka's user stash.
///
/// It belongs to the address, not to the actor: commands in it survive a failure, and come back to the next incarnation
/// before everything that has arrived since. All stashes of an actor together hold as many messages as its
/// [`StashPolicy`](crate::StashPolicy) says; what does not fit is treated as there, but cannot wait: it is dropped.
/// Stopping the actor closes the channels of what is in it.
pub struct NamedStash<A: PersistentActor> {
    stash: StashRef<A>,
    name: &'static str,
}

impl<A: PersistentActor> NamedStash<A> {
    pub(crate) fn new(stash: StashRef<A>, name: &'static str) -> Self {
        Self { stash, name }
    }

    /// Puts a command aside; to be returned from its handler, which takes the channel of its asker along.
    ///
    /// The reply may also be dropped: then the command is put aside without an asker, and its asker gets what
    /// the handler returns. If the handler panics, the command is dropped, and goes to the dead letters.
    #[must_use = "return this from the handler, so that the asker is answered when the command is processed"]
    pub fn stash<M>(&self, command: M) -> Reply<M>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        Reply::later(Box::new(PutAside {
            stash: StashRef::clone(&self.stash),
            name: self.name,
            command: Some(command),
        }))
    }

    /// Processes all of them next, in the order they were put aside: before the commands that arrived since and wait.
    /// Returns their number.
    pub fn unstash_all(&self) -> usize {
        self.stash.borrow_mut().take_back_all(self.name)
    }

    /// Processes the oldest one after the commands that wait in the internal stash; returns whether there is one.
    pub fn unstash(&self) -> bool {
        self.stash.borrow_mut().take_back_one(self.name)
    }

    /// Returns the number of commands that are put aside here.
    pub fn len(&self) -> usize {
        self.stash.borrow().put_aside_len(self.name)
    }

    /// Returns whether no command is put aside here.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<A: PersistentActor> fmt::Debug for NamedStash<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamedStash")
            .field("name", &self.name)
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

/// A command that waits for its channel; dropped without it, it is put aside without an asker.
struct PutAside<A, M>
where
    A: PersistentActor + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    stash: StashRef<A>,
    name: &'static str,
    command: Option<M>,
}

impl<A, M> PutAside<A, M>
where
    A: PersistentActor + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn put_aside(&mut self, sender: ReplySender<M::Result>, cause: Option<CauseRef>) {
        let Some(command) = self.command.take() else {
            return;
        };
        let waiting = Waiting {
            envelope: pack::<A, M>(command, sender, Carried::current()),
            cause,
        };
        let mut stash = self.stash.borrow_mut();
        if std::thread::panicking() {
            // The command of a handler that panics is not run again.
            stash.bury(waiting);
        } else {
            stash.put_aside(self.name, waiting);
        }
    }
}

impl<A, M> AttachReply<M::Result> for PutAside<A, M>
where
    A: PersistentActor + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn attach(mut self: Box<Self>, sender: ReplySender<M::Result>, cause: CauseRef) {
        let cause = sender.is_some().then_some(cause);
        self.put_aside(sender, cause);
    }
}

impl<A, M> Drop for PutAside<A, M>
where
    A: PersistentActor + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn drop(&mut self) {
        // An asker who gets what the handler returns does not wait for the command that was put aside.
        self.put_aside(None, None);
    }
}
