//! The driver, which keeps an actor alive: one incarnation after the other, all with the same address.

mod contention;
mod draining;
mod incarnation;
mod log;
pub(crate) mod mailbox;

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix_persistence_storage_api::{BackOff, PersistenceId};
use futures_util::future::BoxFuture;
use tokio::time::Sleep;

use crate::driver::contention::Contention;
use crate::driver::incarnation::{Exit, Failure, Incarnation};
use crate::driver::mailbox::Mailbox;
use crate::environment::Environment;
use crate::environment::live_ids::Registration;
use crate::error::panics::caught;
use crate::stopping::drain_signal::Urgency;
use crate::{BackOffSettings, OnConflict, PersistentActor, RecoveryError, StashPolicy};

/// The task of a persistent actor, which takes the messages of its address, and ends with it.
pub(crate) struct Driver<A: PersistentActor> {
    stage: Stage<A>,
    mailbox: Mailbox<A>,
    /// The factory of incarnations, shared with the requests that an incarnation leaves: it keeps the stores open.
    factory: Factory<A>,
    persistence_id: PersistenceId,
    environment: Arc<Environment>,
    registration: Registration,
    back_off: BackOffSettings,
    delays: BackOff,
    /// The delays of the next incarnations while writers compete for the id.
    contention: Contention,
    /// True if the delay was cut short because everything stops.
    hurried: bool,
    /// True if the last actor that was recovered lived by timers, streams or futures of its own; `None` if none was.
    lived_by_itself: Option<bool>,
}

/// Makes the actor of each incarnation. Its type is erased, so that the driver is compiled once for a type of actors.
pub(crate) type Factory<A> = Rc<RefCell<Box<dyn FnMut() -> A>>>;

enum Stage<A: PersistentActor> {
    Live(Box<Incarnation<A>>),
    BackingOff {
        /// The end of the delay; `None` if there is none.
        until: Option<Pin<Box<Sleep>>>,
        /// Ends the delay early: the store that was away works again.
        store_is_back: Option<BoxFuture<'static, ()>>,
        /// True if messages that arrive meanwhile are refused instead of kept.
        refusing: bool,
        /// True if no incarnation is needed before a message is there.
        until_asked: bool,
    },
}

impl<A: PersistentActor> Driver<A> {
    pub(crate) fn new(
        actor: A,
        factory: Factory<A>,
        environment: Arc<Environment>,
        registration: Registration,
        mailbox: Mailbox<A>,
    ) -> Self {
        let persistence_id = registration.persistence_id().clone();
        let recovery = actor.recovery();
        let back_off = actor
            .back_off()
            .unwrap_or_else(|| environment.back_off.clone());
        mailbox
            .stash()
            .borrow_mut()
            .set_policies(stash_policy(&actor, &environment), actor.recovery_replies());
        let first = Incarnation::new(
            actor,
            persistence_id.clone(),
            recovery,
            Arc::clone(&environment),
            &mailbox,
            Rc::clone(&factory) as _,
            registration.predecessors_gone(),
        );
        Self {
            stage: Stage::Live(Box::new(first)),
            mailbox,
            factory,
            persistence_id,
            delays: back_off.delays(),
            back_off,
            environment,
            registration,
            contention: Contention::default(),
            hurried: false,
            lived_by_itself: None,
        }
    }

    /// Backs off after a failure; returns whether there will be another incarnation.
    fn back_off(&mut self, failure: Failure, cx: &mut Context<'_>) -> bool {
        if failure.was_stopping {
            return false;
        }
        self.lived_by_itself = failure.lived_by_itself.or(self.lived_by_itself);
        if failure.is_contention {
            return self.give_way(&failure);
        }
        let settings = &self.back_off;
        if failure
            .worked_for
            .is_some_and(|worked| worked >= settings.resets_after())
        {
            self.delays.reset();
        }
        if settings
            .max_restarts
            .is_some_and(|max| self.delays.attempts() >= max)
        {
            log::failed_too_often(&self.persistence_id, self.delays.attempts());
            return false;
        }
        let refusing = failure.is_lasting || !settings.keep_stash;
        if refusing {
            self.mailbox.close_waiting(cx);
        }
        let delay = self.delays.next_delay();
        log::will_be_rebuilt(&self.persistence_id, delay, failure.store_is_back.is_some());
        self.wait(Stage::BackingOff {
            until: waiting(delay),
            store_is_back: failure.store_is_back,
            // With `keep_stash` off only those who already wait are let go; newcomers ask the next incarnation.
            refusing: failure.is_lasting,
            until_asked: false,
        });
        true
    }

    /// Lets the other writer go on: nothing is broken, the actor was out of date. Returns whether there will be another
    /// incarnation.
    fn give_way(&mut self, failure: &Failure) -> bool {
        if failure.is_conflict && self.back_off.on_conflict == OnConflict::Stop {
            return false;
        }
        let delay = self.contention.next_delay(failure.has_stored);
        let until_asked = failure.is_conflict && self.lived_by_itself == Some(false);
        self.wait(Stage::BackingOff {
            until: waiting(delay),
            store_is_back: None,
            refusing: false,
            until_asked,
        });
        true
    }

    fn wait(&mut self, back_off: Stage<A>) {
        // The next actor decides about the messages that this one had put aside.
        self.mailbox.stash().borrow_mut().take_back_everything();
        self.leave_for(back_off);
    }

    /// Changes the stage; a panic while the last actor is dropped must not take its address along.
    fn leave_for(&mut self, stage: Stage<A>) {
        let last = std::mem::replace(&mut self.stage, stage);
        if let Err(panic) = caught(|| drop(last)) {
            log::panicked_while_dropped(&self.persistence_id, &panic);
        }
    }

    /// Builds the next incarnation.
    fn rebuild(&mut self) -> Result<(), Failure> {
        let (factory, environment) = (&self.factory, &self.environment);
        let made = caught(|| {
            let actor = (factory.borrow_mut())();
            let (id, recovery) = (actor.persistence_id(), actor.recovery());
            let policies = (stash_policy(&actor, environment), actor.recovery_replies());
            (actor, id, recovery, policies)
        });
        let made = made.map_err(|message| RecoveryError::Panicked {
            persistence_id: self.persistence_id.clone(),
            sequence_nr: 0,
            message,
        });
        let same_id = made.and_then(|(actor, found, recovery, policies)| {
            if found == self.persistence_id {
                Ok((actor, recovery, policies))
            } else {
                Err(RecoveryError::OtherId {
                    persistence_id: self.persistence_id.clone(),
                    found,
                })
            }
        });
        let (actor, recovery, (policy, replies)) = same_id.map_err(|error| {
            log::not_rebuilt(&self.persistence_id, &error);
            Failure::of_recovery(Arc::new(error))
        })?;
        let stash = self.mailbox.stash();
        stash.borrow_mut().set_policies(policy, replies);
        self.stage = Stage::Live(Box::new(Incarnation::new(
            actor,
            self.persistence_id.clone(),
            recovery,
            Arc::clone(&self.environment),
            &self.mailbox,
            Rc::clone(&self.factory) as _,
            std::future::ready(()),
        )));
        Ok(())
    }
}

fn waiting(delay: Duration) -> Option<Pin<Box<Sleep>>> {
    (!delay.is_zero()).then(|| Box::pin(tokio::time::sleep(delay)))
}

fn stash_policy<A: PersistentActor>(actor: &A, environment: &Environment) -> StashPolicy {
    actor
        .stash_policy()
        .unwrap_or_else(|| environment.stash_policy.clone())
}

impl<A: PersistentActor> Future for Driver<A> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let urgency = this.registration.signal().urgency(cx);
        if urgency != Urgency::None {
            this.drain(urgency);
        }
        let ended = this.run(urgency, cx);
        this.tell_what_is_left(urgency, ended);
        ended.map(|_| ())
    }
}

/// The reason why there is no further incarnation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    /// The last incarnation stopped by its own wish, or because no address of the actor is left.
    Stopped,
    /// The last incarnation failed.
    Failed,
}

impl<A: PersistentActor> Driver<A> {
    fn run(&mut self, urgency: Urgency, cx: &mut Context<'_>) -> Poll<Ended> {
        loop {
            let failure = match &mut self.stage {
                Stage::Live(incarnation) => {
                    match ready!(incarnation.poll(cx, &mut self.mailbox, &self.registration)) {
                        Exit::Stopped => return Poll::Ready(Ended::Stopped),
                        Exit::Failed(failure) => failure,
                    }
                }
                Stage::BackingOff { .. } if urgency == Urgency::End => {
                    return Poll::Ready(Ended::Failed);
                }
                Stage::BackingOff {
                    until,
                    store_is_back,
                    refusing,
                    until_asked,
                } => {
                    if *refusing {
                        self.mailbox.close_waiting(cx);
                    } else {
                        if *until_asked && self.mailbox.take_in_one(cx) {
                            *until_asked = false;
                        }
                        self.mailbox.stash_arrivals(cx);
                        // It has failed already.
                        self.mailbox.stash().borrow_mut().take_overflowed();
                    }
                    // An actor that was started and forgotten may live by itself, once waiting has helped.
                    let lives_by_itself = self.lived_by_itself.unwrap_or(!*refusing);
                    let is_wanted = lives_by_itself && urgency == Urgency::None;
                    if !is_wanted && self.mailbox.is_abandoned(cx) {
                        log::not_wanted(&self.persistence_id);
                        return Poll::Ready(Ended::Stopped);
                    }
                    // For messages that wait there is one more attempt at once, and then as many as there is time for.
                    if urgency == Urgency::Drain && !self.hurried {
                        self.hurried = true;
                        *until = None;
                    }
                    if *until_asked {
                        return Poll::Pending;
                    }
                    let is_back = |back: &mut BoxFuture<'_, ()>| back.as_mut().poll(cx).is_ready();
                    if !store_is_back.as_mut().is_some_and(is_back)
                        && let Some(until) = until
                    {
                        ready!(until.as_mut().poll(cx));
                    }
                    match self.rebuild() {
                        Ok(()) => continue,
                        Err(failure) => failure,
                    }
                }
            };
            if let Some(error) = &failure.unrecovered {
                self.registration.set_unrecovered(Some(error));
                let stash = self.mailbox.stash();
                stash.borrow_mut().set_unrecovered(Some(error));
            }
            if urgency == Urgency::End || !self.back_off(failure, cx) {
                return Poll::Ready(Ended::Failed);
            }
        }
    }
}
