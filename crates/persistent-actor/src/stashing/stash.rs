//! The commands that wait inside an actor; they outlive its incarnations.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use actix::dev::Envelope;
use actix_persistence_storage_api::PersistenceId;

use crate::by_name::ByName;
use crate::replying::cause::CauseRef;
use crate::room::free_beyond;
use crate::stashing::envelope::{Keep, keep, refuse};
use crate::{
    DeadLetterCause, DeadLetters, Overflow, OverflowReplies, PersistentActor, RecoveryError,
    RecoveryReplies, StashPolicy,
};

/// The room that an actor keeps when nothing waits; what a burst took beyond that is freed.
const ROOM_KEPT: usize = 32;

/// A search for messages whose askers have gone is worth while if it finds more than one in this number.
const SEARCH_SHARE: usize = 16;

/// A command that waits.
pub(crate) struct Waiting<A: PersistentActor> {
    pub(crate) envelope: Envelope<A>,
    /// The work that it has led to already, if it was put aside: that belongs to its answer.
    pub(crate) cause: Option<CauseRef>,
}

impl<A: PersistentActor> Waiting<A> {
    /// Returns whether anything that it led to before is stored, or may be.
    fn may_be_stored(&self) -> bool {
        self.cause
            .as_ref()
            .is_some_and(|cause| cause.may_be_stored())
    }
}

impl<A: PersistentActor> From<Envelope<A>> for Waiting<A> {
    fn from(envelope: Envelope<A>) -> Self {
        let cause = None;
        Self { envelope, cause }
    }
}

/// The stash of an actor, shared by the mailbox and the context.
pub(crate) type StashRef<A> = Rc<RefCell<Stash<A>>>;

/// The internal stash, for what arrives while the actor recovers or persists, and those that the actor fills itself.
pub(crate) struct Stash<A: PersistentActor> {
    persistence_id: PersistenceId,
    policy: StashPolicy,
    dead_letters: DeadLetters,
    recovery_replies: RecoveryReplies,
    /// The answers to those whose turn will not come, while the actor could not be recovered.
    last_words: OverflowReplies,
    internal: VecDeque<Waiting<A>>,
    user: ByName<VecDeque<Waiting<A>>>,
    /// The number of commands at the front of the internal stash that were taken back since one was last taken out.
    taken_back: usize,
    /// The number of further messages that do not fit until the stash is searched again for those whose askers have
    /// gone.
    search_in: usize,
    /// The number of messages that were dropped since the stash was last empty.
    dropped: u64,
    /// True if a message did not fit under a policy that makes the actor fail.
    overflowed: bool,
    /// True if the actor has ended, and nothing that is put here would come out again.
    ended: bool,
}

impl<A: PersistentActor> Stash<A> {
    pub(crate) fn new(
        persistence_id: PersistenceId,
        policy: StashPolicy,
        dead_letters: DeadLetters,
    ) -> StashRef<A> {
        Rc::new(RefCell::new(Self {
            persistence_id,
            policy,
            dead_letters,
            recovery_replies: RecoveryReplies::new(),
            last_words: OverflowReplies::new(),
            internal: VecDeque::new(),
            user: ByName::EMPTY,
            taken_back: 0,
            search_in: 0,
            dropped: 0,
            overflowed: false,
            ended: false,
        }))
    }

    /// Asks the actor of the next incarnation how its messages are to be treated.
    pub(crate) fn set_policies(&mut self, policy: StashPolicy, replies: RecoveryReplies) {
        self.policy = policy;
        self.recovery_replies = replies;
    }

    /// Notes why the actor could not be recovered, for those whose turn will not come; `None` once it is recovered.
    pub(crate) fn set_unrecovered(&mut self, error: Option<&Arc<RecoveryError>>) {
        self.last_words = error.map_or_else(OverflowReplies::new, |error| {
            self.recovery_replies.because(error)
        });
    }

    /// Returns the next command to be processed.
    pub(crate) fn next(&mut self) -> Option<Waiting<A>> {
        let next = self.internal.pop_front();
        self.taken_back = 0;
        if self.internal.is_empty() {
            self.tell_dropped();
            free_beyond(&mut self.internal, ROOM_KEPT);
        }
        next
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.internal.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.internal.len() >= self.policy.capacity()
    }

    /// Returns whether the next message is to stay where it is, without looking at it.
    pub(crate) fn leaves_in_mailbox(&self) -> bool {
        self.is_full() && matches!(self.policy.overflow(), Some(Overflow::Wait))
    }

    /// Returns the number of commands that wait, put aside or not.
    pub(crate) fn waiting(&self) -> usize {
        self.internal.len() + self.put_aside_in_all()
    }

    /// Adds what has arrived; to be asked for room before.
    pub(crate) fn push(&mut self, envelope: Envelope<A>) {
        self.internal.push_back(envelope.into());
    }

    /// Returns the fate of a message for which there is no room.
    pub(crate) fn when_full(&self) -> Overflow {
        self.policy.when_full(&self.persistence_id)
    }

    /// Treats a message that does not fit.
    pub(crate) fn refuse(&mut self, envelope: Envelope<A>, overflow: Overflow) {
        let replies = match overflow {
            Overflow::Reply(replies) => replies,
            Overflow::Fail => {
                self.overflowed = true;
                OverflowReplies::new()
            }
            Overflow::Wait | Overflow::Drop => OverflowReplies::new(),
        };
        let refused = refuse(envelope, replies);
        if !refused.answered {
            self.dropped += 1;
            // A warning for each would be the next thing that takes the arbiter away when messages come in floods.
            if self.dropped == 1 {
                warn_dropped(&self.persistence_id, refused.message_type, &self.policy);
            }
            let message_type = refused.message_type;
            let cause = DeadLetterCause::StashOverflow { message_type };
            self.dead_letters.publish(&self.persistence_id, cause);
        }
    }

    /// Logs the number of messages that were dropped beside the one that a warning was about.
    fn tell_dropped(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 1 {
            warn_all_dropped(&self.persistence_id, dropped, &self.policy);
        }
    }

    /// Drops a message whose turn will not come; its asker learns why, if the actor could not be recovered and says so.
    pub(crate) fn bury(&self, waiting: impl Into<Waiting<A>>) {
        let waiting = waiting.into();
        // They say that it did nothing.
        let replies = match waiting.may_be_stored() {
            true => OverflowReplies::new(),
            false => self.last_words.clone(),
        };
        let refused = refuse(waiting.envelope, replies);
        if !refused.answered {
            let message_type = refused.message_type;
            let cause = DeadLetterCause::NotProcessed { message_type };
            self.dead_letters.publish(&self.persistence_id, cause);
        }
    }

    /// Returns whether the actor has to fail because of a message that did not fit, and forgets it.
    pub(crate) fn take_overflowed(&mut self) -> bool {
        std::mem::take(&mut self.overflowed)
    }

    /// Drops the messages whose askers have gone, in all stashes; returns whether there is room now.
    ///
    /// To be asked when there is none. A search that finds little is not made again for some time, because it looks at
    /// everything that waits.
    pub(crate) fn make_room(&mut self) -> bool {
        if self.search_in > 0 {
            self.search_in -= 1;
            return false;
        }
        let before = self.waiting();
        for stashed in std::iter::once(&mut self.internal).chain(self.user.values_mut()) {
            let mut all = std::mem::take(stashed);
            while let Some(Waiting { envelope, cause }) = all.pop_front() {
                let mut envelope = Some(envelope);
                let kept = keep(Keep::Awaited, &mut || drop(envelope.take())).pop_front();
                if let Some(envelope) = kept {
                    stashed.push_back(Waiting { envelope, cause });
                }
            }
        }
        self.user.retain(|stashed| !stashed.is_empty());
        self.taken_back = 0;
        let share = self.policy.capacity() / SEARCH_SHARE;
        if before - self.waiting() <= share {
            self.search_in = share;
        }
        !self.is_full()
    }

    /// Puts a command aside that the actor does not want to process now.
    pub(crate) fn put_aside(&mut self, name: &'static str, waiting: Waiting<A>) {
        if self.ended {
            return self.bury(waiting);
        }
        if !self.has_room_aside() {
            self.make_room();
        }
        if self.has_room_aside() {
            self.user.get_or_default(name).push_back(waiting);
            return;
        }
        // It has left the mailbox, so it cannot wait there.
        let overflow = match self.when_full() {
            // The answer says that it did nothing.
            Overflow::Reply(_) if waiting.may_be_stored() => Overflow::Drop,
            overflow => overflow,
        };
        self.refuse(waiting.envelope, overflow);
    }

    fn has_room_aside(&self) -> bool {
        self.put_aside_in_all() < self.policy.capacity()
    }

    /// Moves everything put aside under this name before the internal stash, in order, but after what was moved there
    /// since a command was last taken out; returns their number.
    pub(crate) fn take_back_all(&mut self, name: &'static str) -> usize {
        let stashed = self.user.remove(name).unwrap_or_default();
        let count = stashed.len();
        let waiting = self.internal.split_off(self.taken_back);
        self.internal.extend(stashed);
        self.internal.extend(waiting);
        self.taken_back += count;
        count
    }

    /// Moves the oldest command put aside under this name to the end of the internal stash; returns whether there was
    /// one.
    pub(crate) fn take_back_one(&mut self, name: &'static str) -> bool {
        let Some(stashed) = self.user.get_mut(name) else {
            return false;
        };
        self.internal.extend(stashed.pop_front());
        if stashed.is_empty() {
            self.user.remove(name);
        }
        true
    }

    /// Returns how many commands are put aside, under any name.
    fn put_aside_in_all(&self) -> usize {
        self.user.iter().map(|(_, stashed)| stashed.len()).sum()
    }

    pub(crate) fn put_aside_len(&self, name: &'static str) -> usize {
        self.user.get(name).map_or(0, VecDeque::len)
    }

    /// Hands the next incarnation everything that the last one had put aside, before what has arrived since.
    pub(crate) fn take_back_everything(&mut self) {
        self.taken_back = 0;
        while let Some(stashed) = self.user.pop_last() {
            for waiting in stashed.into_iter().rev() {
                self.internal.push_front(waiting);
            }
        }
    }

    /// Notes that nothing comes out of the stashes any more.
    pub(crate) fn end(&mut self) {
        self.tell_dropped();
        self.ended = true;
    }

    /// Empties all stashes; what was in them is to be dropped, which closes the channels of those who asked.
    #[must_use]
    pub(crate) fn take_all(&mut self) -> VecDeque<Waiting<A>> {
        self.take_back_everything();
        std::mem::take(&mut self.internal)
    }
}

// These are compiled once, and what is generic for each type of actors.

fn warn_dropped(persistence_id: &PersistenceId, message_type: &str, policy: &StashPolicy) {
    tracing::warn!(
        %persistence_id,
        message_type,
        capacity = policy.capacity(),
        "a message was dropped because the stash is full"
    );
}

fn warn_all_dropped(persistence_id: &PersistenceId, dropped: u64, policy: &StashPolicy) {
    tracing::warn!(
        %persistence_id,
        dropped,
        capacity = policy.capacity(),
        "messages were dropped while the stash was full"
    );
}

#[cfg(test)]
mod tests {
    use actix::{Handler, Message};

    use super::*;
    use crate::PersistentContext;
    use crate::actor::bare::Bare;
    use crate::metadata::carried::Carried;
    use crate::stashing::envelope::pack;

    #[derive(Message)]
    #[rtype(result = "()")]
    struct Ping;

    impl Handler<Ping> for Bare {
        type Result = ();

        fn handle(&mut self, _: Ping, _: &mut PersistentContext<Self>) {}
    }

    #[test]
    fn the_room_of_a_burst_is_given_back() {
        let id = PersistenceId::of("Bare", "1");
        let (policy, dead_letters) = (StashPolicy::default(), DeadLetters::default());
        let stash = Stash::<Bare>::new(id, policy, dead_letters);
        let mut stash = stash.borrow_mut();
        for _ in 0..1_000 {
            stash.put_aside("", pack(Ping, None, Carried::NOTHING).into());
            stash.put_aside("other", pack(Ping, None, Carried::NOTHING).into());
        }
        assert_eq!(stash.take_back_all(""), 1_000);
        while stash.take_back_one("other") {}
        assert_eq!(stash.waiting(), 2_000);
        assert_eq!(stash.user.iter().count(), 0);
        while stash.next().is_some() {}
        assert!(stash.internal.capacity() <= ROOM_KEPT);
    }
}
