//! The end of an actor when everything stops.

use std::task::Poll;

use crate::driver::{Driver, Ended, Stage};
use crate::stopping::drain_signal::{Left, Urgency};
use crate::{PersistentActor, UnfinishedWork};

impl<A: PersistentActor> Driver<A> {
    /// Closes the address, and lets the actor stop when it has done everything that has arrived.
    pub(super) fn drain(&mut self, urgency: Urgency) {
        self.mailbox.seal();
        if let Stage::Live(incarnation) = &mut self.stage {
            incarnation.drain(urgency);
        }
    }

    /// Reports the progress of the actor to the stop of everything.
    pub(super) fn tell_what_is_left(&self, urgency: Urgency, ended: Poll<Ended>) {
        let waiting = self.mailbox.stash().borrow().waiting();
        let work = match (ended, &self.stage) {
            (Poll::Pending, _) if urgency == Urgency::None => return,
            (Poll::Pending, Stage::Live(incarnation)) => Some(incarnation.unfinished_work()),
            (Poll::Pending, Stage::BackingOff { .. }) => Some(UnfinishedWork::BackingOff),
            (Poll::Ready(_), _) if urgency == Urgency::None => None,
            // The work that it named before it was cut off is what it could not do.
            (Poll::Ready(Ended::Stopped), _) if urgency == Urgency::End => return,
            (Poll::Ready(Ended::Stopped), _) => (waiting > 0).then_some(UnfinishedWork::Declined),
            (Poll::Ready(Ended::Failed), _) => Some(UnfinishedWork::BackingOff),
        };
        let left = work.map(|work| Left { work, waiting });
        self.registration.signal().set_left(left);
    }
}
