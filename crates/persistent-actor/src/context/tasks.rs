//! The futures, timers and streams that an actor spawned on its context.

use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use actix::{ActorFuture, ActorFutureExt, SpawnHandle};

use crate::metadata::carried::Carried;
use crate::{PersistentActor, PersistentContext};

/// A future of an actor, which runs with the metadata of the turn that made it.
struct Task<A: PersistentActor> {
    future: Pin<Box<dyn ActorFuture<A, Output = ()>>>,
    carried: Carried,
}

impl<A: PersistentActor> Task<A> {
    fn new(future: impl ActorFuture<A, Output = ()> + 'static) -> Self {
        Self {
            future: Box::pin(future),
            carried: Carried::current(),
        }
    }

    fn poll(
        &mut self,
        actor: &mut A,
        ctx: &mut PersistentContext<A>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let future = &mut self.future;
        self.carried.within(|| future.as_mut().poll(actor, ctx, cx))
    }
}

/// The spawned futures and the awaited ones, in the order in which they were added.
pub(crate) struct Tasks<A: PersistentActor> {
    spawned: Vec<(SpawnHandle, Task<A>)>,
    waits: VecDeque<Task<A>>,
    /// The tasks that were cancelled while all were being polled, and so were out of the list; `None` if they are not.
    cancelled: Option<Vec<SpawnHandle>>,
    last_handle: SpawnHandle,
    /// True if a spawned future may be ready that was not polled since.
    due: bool,
    /// A counter by its owners: one, and one more for each spawned future that is awaited when everything stops.
    awaited: Rc<()>,
    /// True if what is spawned now goes on for as long as the actor lives, and is not awaited.
    in_background: bool,
}

impl<A: PersistentActor> Tasks<A> {
    pub(crate) fn new() -> Self {
        Self {
            spawned: Vec::new(),
            waits: VecDeque::new(),
            cancelled: None,
            last_handle: SpawnHandle::default(),
            due: false,
            awaited: Rc::new(()),
            in_background: false,
        }
    }

    pub(crate) fn spawn<F>(&mut self, future: F) -> SpawnHandle
    where
        F: ActorFuture<A, Output = ()> + 'static,
    {
        let task = if self.in_background {
            Task::new(future)
        } else {
            let token = Rc::clone(&self.awaited);
            Task::new(future.map(move |(), _, _| drop(token)))
        };
        self.last_handle = self.last_handle.next();
        self.spawned.push((self.last_handle, task));
        self.due = true;
        self.last_handle
    }

    pub(crate) fn wait<F>(&mut self, future: F)
    where
        F: ActorFuture<A, Output = ()> + 'static,
    {
        self.waits.push_back(Task::new(future));
    }

    pub(crate) fn cancel(&mut self, handle: SpawnHandle) -> bool {
        let before = self.spawned.len();
        remove(&mut self.spawned, handle);
        let found = self.spawned.len() < before;
        if !found && let Some(cancelled) = &mut self.cancelled {
            cancelled.push(handle);
        }
        found
    }

    pub(crate) fn waiting(&self) -> bool {
        !self.waits.is_empty()
    }

    pub(crate) fn set_in_background(&mut self, in_background: bool) {
        self.in_background = in_background;
    }

    /// Returns whether the actor may stop although it was not asked to; timers and streams do not count when everything
    /// stops.
    pub(crate) fn allow_stop(&self, draining: bool) -> bool {
        let idle = self.spawned.is_empty() || (draining && Rc::strong_count(&self.awaited) == 1);
        idle && self.waits.is_empty()
    }

    /// Notes that the task was woken, perhaps by a spawned future.
    pub(crate) fn woken(&mut self) {
        self.due = !self.spawned.is_empty();
    }

    pub(crate) fn due(&self) -> bool {
        self.due
    }
}

fn remove<A: PersistentActor>(tasks: &mut Vec<(SpawnHandle, Task<A>)>, cancelled: SpawnHandle) {
    tasks.retain(|(handle, _)| *handle != cancelled);
}

/// Polls the oldest wait; returns whether it ended. Waits end in the order they were given.
pub(crate) fn poll_wait<A: PersistentActor>(
    actor: &mut A,
    ctx: &mut PersistentContext<A>,
    cx: &mut Context<'_>,
) -> bool {
    let Some(mut wait) = ctx.tasks.waits.pop_front() else {
        return false;
    };
    if wait.poll(actor, ctx, cx).is_ready() {
        return true;
    }
    // Those that were added meanwhile are younger.
    ctx.tasks.waits.push_front(wait);
    false
}

/// Polls the spawned futures in order, until all had their turn or something has to happen before the next one.
///
/// Then the rest comes first the next time, and all are marked as due, so that no wake-up is lost: those that were not
/// polled have had theirs, and a stream of actix returns in the middle of its items when it sees that its actor waits.
pub(crate) fn poll_spawned<A: PersistentActor>(
    actor: &mut A,
    ctx: &mut PersistentContext<A>,
    cx: &mut Context<'_>,
) {
    ctx.tasks.due = false;
    ctx.tasks.cancelled = Some(Vec::new());
    // The next one is the last: a vector is less code for each type of actors than a queue.
    let mut unpolled = std::mem::take(&mut ctx.tasks.spawned);
    unpolled.reverse();
    let mut kept = Vec::with_capacity(unpolled.len());
    while let Some((handle, mut task)) = unpolled.pop() {
        if task.poll(actor, ctx, cx).is_pending() {
            kept.push((handle, task));
        }
        ctx.tag_events(actor);
        while let Some(cancelled) = ctx.tasks.cancelled.as_mut().and_then(Vec::pop) {
            remove(&mut kept, cancelled);
            remove(&mut unpolled, cancelled);
        }
        if ctx.interrupts_turns() {
            ctx.tasks.due = true;
            break;
        }
    }
    ctx.tasks.cancelled = None;
    unpolled.reverse();
    let mut spawned = unpolled;
    spawned.append(&mut kept);
    spawned.append(&mut ctx.tasks.spawned);
    ctx.tasks.spawned = spawned;
}

#[cfg(test)]
mod tests {
    use actix::fut::wrap_future;

    use super::*;
    use crate::actor::bare::Bare;

    #[test]
    fn what_is_cancelled_after_its_end_is_not_remembered() {
        let mut tasks = Tasks::<Bare>::new();
        let handle = tasks.spawn(wrap_future(std::future::pending::<()>()));
        assert!(tasks.cancel(handle));
        assert!(!tasks.cancel(handle));
        assert!(tasks.cancelled.is_none());
    }
}
