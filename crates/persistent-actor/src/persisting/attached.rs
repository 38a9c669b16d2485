//! Code that the caller of `persist` attaches after the call took effect.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::{PersistError, PersistentActor, PersistentContext};

/// A handler of one persisted event.
pub(crate) type EventHandler<A> =
    Box<dyn FnMut(&mut A, &<A as PersistentActor>::Event, &mut PersistentContext<A>)>;

/// The code that runs after everything of one call is handled, or has failed.
pub(crate) trait Completion<A: PersistentActor> {
    fn stored(self: Box<Self>, actor: &mut A, ctx: &mut PersistentContext<A>);
    fn failed(self: Box<Self>, error: PersistError);
}

/// The code attached to a call, shared by the queue and by what `persist` returned.
pub(crate) type AttachedRef<A> = Rc<RefCell<Attached<A>>>;

/// The handlers of each event, and what comes after the last one, in the order they were attached.
pub(crate) struct Attached<A: PersistentActor> {
    handlers: Vec<EventHandler<A>>,
    completions: VecDeque<Box<dyn Completion<A>>>,
    /// The outcome of the call, once all of it is over.
    outcome: Option<Result<(), PersistError>>,
}

impl<A: PersistentActor> Attached<A> {
    pub(crate) fn new() -> AttachedRef<A> {
        Rc::new(RefCell::new(Self {
            handlers: Vec::new(),
            completions: VecDeque::new(),
            outcome: None,
        }))
    }

    pub(crate) fn add_handler(&mut self, handler: EventHandler<A>) {
        self.handlers.push(handler);
    }

    pub(crate) fn take_handlers(&mut self) -> Vec<EventHandler<A>> {
        std::mem::take(&mut self.handlers)
    }

    pub(crate) fn add_completion(&mut self, completion: Box<dyn Completion<A>>) {
        self.completions.push_back(completion);
    }

    pub(crate) fn next_completion(&mut self) -> Option<Box<dyn Completion<A>>> {
        self.completions.pop_front()
    }

    pub(crate) fn outcome(&self) -> Option<&Result<(), PersistError>> {
        self.outcome.as_ref()
    }

    /// Notes how the call ended, for later questions.
    pub(crate) fn end(&mut self, outcome: Result<(), PersistError>) {
        self.outcome = Some(outcome);
    }
}
