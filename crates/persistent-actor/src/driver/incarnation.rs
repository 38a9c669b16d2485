//! An incarnation: one life of an actor, which is a recovery, then turn after turn.

mod handling;

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use actix::dev::EnvelopeProxy;
use actix::{ActorState, Running};
use actix_persistence_storage_api::{PersistenceId, SequenceNr, WriterId};
use actix_persistence_store_actor::StoreHealth;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use tokio::time::Instant;

use crate::context::tasks::{poll_spawned, poll_wait};
use crate::driver::log;
use crate::driver::mailbox::Mailbox;
use crate::environment::Environment;
use crate::environment::live_ids::Registration;
use crate::error::panics::caught;
use crate::metadata::carried::Carried;
use crate::recovery::process::{RecoveryProcess, RecoveryStep};
use crate::replying::cause::CauseRef;
use crate::snapshots::retention_steps::StepEnd;
use crate::stashing::stash::{StashRef, Waiting};
use crate::stopping::drain_signal::Urgency;
use crate::time_slice::{TimeSlice, yield_to_others};
use crate::{
    DecodedEvent, PersistentActor, PersistentContext, Recovery, RecoveryError, StoreResponse,
    UnfinishedWork,
};

/// The number of turns after which the task lets others of its arbiter run.
const TURNS_PER_POLL: usize = 64;

/// An actor, its context, and what is left of its recovery.
pub(crate) struct Incarnation<A: PersistentActor> {
    actor: A,
    ctx: PersistentContext<A>,
    recovery: Option<RecoveryFuture<A>>,
    /// The rest of the page that is being applied.
    replaying: std::vec::IntoIter<DecodedEvent<A::Event>>,
    /// True if others of the arbiter are to have their turn, because it has applied events for some time.
    shares: bool,
    /// True if its recovery has had its turn, and brought anything.
    has_begun: bool,
    started: bool,
    ended: bool,
    stopping_called: bool,
    /// True if spawned futures had a turn, and want another.
    message_is_next: bool,
    /// True if it has to stop when everything that has arrived is done.
    draining: bool,
    recovered_at: Option<Instant>,
    /// True if anything it persisted was stored.
    has_stored: bool,
}

type Process<A> = RecoveryProcess<<A as PersistentActor>::Event, <A as PersistentActor>::Snapshot>;
type Step<A> = RecoveryStep<<A as PersistentActor>::Event, <A as PersistentActor>::Snapshot>;
type RecoveryFuture<A> = LocalBoxFuture<'static, (Process<A>, Result<Step<A>, RecoveryError>)>;

/// The way in which an incarnation ended.
pub(crate) enum Exit {
    /// The actor stopped as it wanted; its address closes.
    Stopped,
    /// The incarnation failed, and another one may follow.
    Failed(Failure),
}

/// The failure of an incarnation, as the next one has to know it.
pub(crate) struct Failure {
    /// True if another attempt will probably fail, too, so that no asker should wait for it.
    pub(crate) is_lasting: bool,
    /// The time for which the actor had worked after its recovery.
    pub(crate) worked_for: Option<Duration>,
    /// True if it was about to stop, so that no other one is wanted.
    pub(crate) was_stopping: bool,
    /// True if another writer was there first when it wrote.
    pub(crate) is_conflict: bool,
    /// True if nothing is broken: it was out of date, or became so while it recovered.
    pub(crate) is_contention: bool,
    /// True if anything it persisted was stored.
    pub(crate) has_stored: bool,
    /// True if it had timers, streams or futures of its own; `None` if it ended before that was known.
    pub(crate) lived_by_itself: Option<bool>,
    /// Ends when the store is back, if that it was away is all there is to it.
    pub(crate) store_is_back: Option<BoxFuture<'static, ()>>,
    /// The reason why it could not be recovered, if that is what failed.
    pub(crate) unrecovered: Option<Arc<RecoveryError>>,
}

impl Failure {
    pub(crate) fn of_recovery(error: Arc<RecoveryError>) -> Self {
        Self {
            is_lasting: !error.is_transient(),
            worked_for: None,
            was_stopping: false,
            is_conflict: false,
            is_contention: matches!(*error, RecoveryError::Overtaken { .. }),
            has_stored: false,
            lived_by_itself: None,
            store_is_back: None,
            unrecovered: Some(error),
        }
    }

    /// Returns the failure with the end of this store's outage to wait for, if the outage is its reason.
    pub(crate) fn of_outage(self, health: Option<&StoreHealth>) -> Self {
        Self {
            store_is_back: health.map(|health| health.returned().boxed()),
            ..self
        }
    }
}

impl<A: PersistentActor> Incarnation<A> {
    /// Starts recovering the actor once `predecessor` has ended; `keep` keeps its stores open.
    pub(crate) fn new(
        actor: A,
        persistence_id: PersistenceId,
        recovery: Recovery,
        environment: Arc<Environment>,
        mailbox: &Mailbox<A>,
        keep: Rc<dyn Any>,
        predecessor: impl Future<Output = ()> + 'static,
    ) -> Self {
        let writer = WriterId::random();
        let (stores, id) = (Arc::clone(&environment), persistence_id.clone());
        let mut process = match A::STORED_AS.hooks() {
            None => RecoveryProcess::for_writer(stores, id, recovery, writer, actor.take_over()),
            Some(hooks) => RecoveryProcess::of_state(stores, id, hooks.read, true),
        };
        let recovering = async move {
            predecessor.await;
            let step = process.next().await;
            (process, step)
        };
        Self {
            actor,
            ctx: PersistentContext::new(
                persistence_id,
                environment,
                mailbox.own_address(),
                writer,
                StashRef::clone(mailbox.stash()),
                recovery,
                keep,
            ),
            recovery: Some(recovering.boxed_local()),
            replaying: Vec::new().into_iter(),
            shares: false,
            has_begun: false,
            started: false,
            ended: false,
            stopping_called: false,
            message_is_next: false,
            draining: false,
            recovered_at: None,
            has_stored: false,
        }
    }

    /// Makes it stop as soon as that is urgent.
    pub(crate) fn drain(&mut self, urgency: Urgency) {
        self.draining = urgency >= Urgency::Drain;
        self.ctx.terminated |= urgency >= Urgency::End;
    }

    /// Returns the work that the actor still has to do.
    pub(crate) fn unfinished_work(&self) -> UnfinishedWork {
        if self.recovery.is_some() {
            UnfinishedWork::Recovering
        } else if !self.ctx.pending.is_empty() {
            let calls = self.ctx.pending.len();
            UnfinishedWork::Persisting { calls }
        } else if self.stores_owe() > 0 {
            let requests = self.stores_owe();
            UnfinishedWork::AwaitingStores { requests }
        } else {
            UnfinishedWork::Working
        }
    }

    /// Returns the number of snapshots, deletes and retention steps that are not answered.
    fn stores_owe(&self) -> usize {
        self.ctx.store_responses.len() + usize::from(self.ctx.retention_step.is_some())
    }

    /// Runs until it has to wait, or ends.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        mailbox: &mut Mailbox<A>,
        registration: &Registration,
    ) -> Poll<Exit> {
        // Turns catch their own panics; what they leave is dropped here, and may be code of the user, too.
        let ended = caught(|| self.run(cx, mailbox, registration));
        let exit = match ended.unwrap_or_else(|panic| Err(self.panicked(panic))) {
            Ok(poll) => {
                ready!(poll);
                Exit::Stopped
            }
            Err(failure) => Exit::Failed(failure),
        };
        self.ended = true;
        if let Err(panic) = caught(|| self.ctx.abandon()) {
            log::leftovers_panicked(&self.ctx.persistence_id, &panic);
        }
        Poll::Ready(exit)
    }

    fn run(
        &mut self,
        cx: &mut Context<'_>,
        mailbox: &mut Mailbox<A>,
        registration: &Registration,
    ) -> Result<Poll<()>, Failure> {
        if !self.started {
            self.started = true;
            self.turn(&mut A::started)?;
        }
        self.ctx.tasks.woken();
        for _ in 0..TURNS_PER_POLL {
            if self.ctx.terminated
                || (self.ctx.stop_requested && self.ctx.recovering)
                || self.need_not_recover(cx, mailbox)
            {
                self.end(registration);
                return Ok(Poll::Ready(()));
            }
            let mut progress = self.poll_recovery(cx, mailbox, registration)?
                || self.poll_stores(cx)?
                || self.poll_turns(cx, mailbox)?;
            // The answer to what is sent wakes only a task that has asked for it.
            progress |= self.ctx.flush();
            if self.ctx.holds_back() {
                mailbox.stash_arrivals(cx);
            } else if self.ctx.terminated {
                progress = true;
            } else if self.wants_to_stop(cx, mailbox) {
                if self.stop(registration)? {
                    return Ok(Poll::Ready(()));
                }
                // The work that it began when it was asked is to go on.
                progress |= self.ctx.terminated || !self.wants_to_stop(cx, mailbox);
            }
            // While it recovers, it has failed already, or would fail before it has begun: the message was dropped.
            if mailbox.stash().borrow_mut().take_overflowed() && !self.ctx.recovering {
                return Err(self.overflowed());
            }
            if !progress {
                return Ok(Poll::Pending);
            }
            if std::mem::take(&mut self.shares) {
                break;
            }
        }
        yield_to_others(cx);
        Ok(Poll::Pending)
    }

    /// Returns whether everything stops before its recovery has got its turn, and there is nothing to recover for.
    ///
    /// An actor without an address recovers all the same as long as it may live: it may begin something by itself.
    fn need_not_recover(&mut self, cx: &mut Context<'_>, mailbox: &mut Mailbox<A>) -> bool {
        self.draining
            && self.ctx.recovering
            && !self.has_begun
            && self.ctx.pending.is_empty()
            && self.ctx.tasks.allow_stop(true)
            && self.stores_owe() == 0
            && mailbox.is_abandoned(cx)
    }

    /// Applies the next steps of the recovery; returns whether there was one.
    fn poll_recovery(
        &mut self,
        cx: &mut Context<'_>,
        mailbox: &Mailbox<A>,
        registration: &Registration,
    ) -> Result<bool, Failure> {
        let Some(recovery) = &mut self.recovery else {
            return Ok(false);
        };
        if self.replaying.len() > 0 {
            self.replay().map_err(|error| self.recovery_failed(error))?;
            return Ok(true);
        }
        let fetched = caught(|| recovery.poll_unpin(cx));
        let step = match fetched {
            Ok(Poll::Pending) => return Ok(false),
            Ok(Poll::Ready((mut process, step))) => {
                self.has_begun = true;
                self.recovery = Some(
                    async move {
                        let step = process.next().await;
                        (process, step)
                    }
                    .boxed_local(),
                );
                step
            }
            Err(message) => Err(self.recovery_panicked(message)),
        };
        step.and_then(|step| self.apply(step))
            .map_err(|error| self.recovery_failed(error))?;
        if self.recovery.is_none() {
            let begun = self.turn_with(|actor, ctx| ctx.begin_retention(actor))?;
            begun.map_err(|error| self.recovery_failed(error))?;
            self.recovered_at = Some(Instant::now());
            registration.set_unrecovered(None);
            mailbox.stash().borrow_mut().set_unrecovered(None);
            self.turn(&mut A::on_recovery_completed)?;
        }
        Ok(true)
    }

    fn apply(&mut self, step: Step<A>) -> Result<(), RecoveryError> {
        match step {
            RecoveryStep::Begun(standing) => self.ctx.stands_at(standing),
            RecoveryStep::Snapshot(offer) => {
                let sequence_nr = offer.metadata.sequence_nr;
                let answer = offer.answer();
                caught(|| self.actor.on_snapshot(offer))
                    .map_err(|message| self.recovery_panicked(message))?;
                // Anything else is dealt with in the next step.
                if answer.is_taken() {
                    self.ctx.snapshot_sequence_nr = sequence_nr;
                    self.ctx.last_sequence_nr = sequence_nr;
                }
            }
            RecoveryStep::State { revision, state } => {
                caught(|| A::STORED_AS.give(&mut self.actor, state.as_ref()))
                    .map_err(|message| self.recovery_panicked(message))?;
                self.ctx.last_sequence_nr = revision;
            }
            RecoveryStep::Events(events) => {
                self.replaying = events.into_iter();
                self.replay()?;
            }
            // The permit is returned here: the journal has nothing more to do for this recovery.
            RecoveryStep::Completed(_permit) => {
                self.recovery = None;
                self.ctx.recovery_completed();
            }
        }
        Ok(())
    }

    /// Applies events of the page at hand, as many as are done in one go.
    fn replay(&mut self) -> Result<(), RecoveryError> {
        let mut slice = TimeSlice::begin();
        while let Some(numbered) = self.replaying.next() {
            let meta = numbered.meta();
            let events = numbered.events.as_slice().iter();
            caught(|| events.for_each(|event| self.actor.on_event_at(event, &meta)))
                .map_err(|message| self.recovery_panicked(message))?;
            self.ctx.last_sequence_nr = numbered.sequence_nr;
            if slice.is_used_up() {
                break;
            }
        }
        self.shares = true;
        Ok(())
    }

    /// Takes what the journal answered, and handles the next call whose fate is known; returns whether there was one.
    fn poll_stores(&mut self, cx: &mut Context<'_>) -> Result<bool, Failure> {
        if self.ctx.recovering {
            return Ok(false);
        }
        let answered = self.ctx.poll_write(cx);
        if answered {
            // Calls that have accumulated go out before the handlers of those that came back run.
            self.ctx.flush();
        }
        match self.ctx.pending.pop_settled() {
            Some(settled) => {
                self.handle(settled)?;
                self.turn(&mut |actor, ctx| ctx.retain(actor))?;
                Ok(true)
            }
            None => Ok(answered),
        }
    }

    /// Lets the actor have its next turn, unless it has to wait for its events.
    fn poll_turns(
        &mut self,
        cx: &mut Context<'_>,
        mailbox: &mut Mailbox<A>,
    ) -> Result<bool, Failure> {
        if self.ctx.holds_back() || self.ctx.stop_requested {
            return Ok(false);
        }
        if self.ctx.tasks.waiting() {
            let ended = self.turn_with(|actor, ctx| poll_wait(actor, ctx, cx))?;
            return Ok(ended);
        }
        if let Some(response) = self.ctx.store_responses.poll_next(cx) {
            self.respond(response)?;
            return Ok(true);
        }
        if let Poll::Ready(end) = self.ctx.poll_retention(cx) {
            self.retention_step_ended(end)?;
            return Ok(true);
        }
        let message_is_next = std::mem::take(&mut self.message_is_next);
        if self.ctx.tasks.due() && !message_is_next {
            self.turn(&mut |actor, ctx| poll_spawned(actor, ctx, cx))?;
            // An actor that keeps notifying itself, or has a stream that is never empty, still takes its messages.
            self.message_is_next = self.ctx.tasks.due();
            return Ok(true);
        }
        match mailbox.poll_next(cx) {
            Some(command) => self.command(command).map(|()| true),
            None => Ok(self.ctx.tasks.due()),
        }
    }

    /// Handles a command; what it has led to before, if it was put aside, belongs to its answer.
    fn command(&mut self, command: Waiting<A>) -> Result<(), Failure> {
        let Waiting {
            mut envelope,
            cause,
        } = command;
        self.ctx.cause = cause;
        self.turn(&mut |actor, ctx| envelope.handle(actor, ctx))
    }

    fn respond(&mut self, response: StoreResponse) -> Result<(), Failure> {
        if let Some(error) = response.error() {
            log::store_request_failed(&self.ctx.persistence_id, error);
        }
        self.turn_with(|actor, ctx| actor.on_store_response(response, ctx))
    }

    /// The actor hears of it first: what it deletes when it hears of a step does not count for the next one.
    fn retention_step_ended(&mut self, end: StepEnd) -> Result<(), Failure> {
        if let Some(response) = end.response {
            self.respond(response)?;
        }
        self.turn_with(|actor, ctx| ctx.go_on_retaining(end.outcome, actor))
    }

    fn overflowed(&self) -> Failure {
        log::overflowed(&self.ctx.persistence_id, self.ctx.last_sequence_nr);
        self.failure(false)
    }

    /// Logs a failed recovery. That its store is away is logged once for all actors; see [`StoreHealth`].
    fn recovery_failed(&mut self, error: RecoveryError) -> Failure {
        let environment = Arc::clone(&self.ctx.environment);
        let outage = environment.stores.outage_behind(&error);
        let place = self.place_of(self.ctx.last_sequence_nr);
        log::recovery_failed(&place, &error, outage.is_some());
        let told = self.turn(&mut |actor, _| actor.on_recovery_failure(&error));
        let unrecovered = Failure::of_recovery(Arc::new(error)).of_outage(outage);
        match told {
            Ok(()) => unrecovered,
            Err(panicked) => Failure {
                unrecovered: unrecovered.unrecovered,
                ..panicked
            },
        }
    }

    /// Returns the place of an event of this actor, for the log.
    fn place_of(&self, sequence_nr: SequenceNr) -> log::Place<'_> {
        log::Place {
            persistence_id: &self.ctx.persistence_id,
            sequence_nr,
            manifest: self.ctx.event_manifest(),
        }
    }

    fn recovery_panicked(&self, message: String) -> RecoveryError {
        RecoveryError::Panicked {
            persistence_id: self.ctx.persistence_id.clone(),
            sequence_nr: self.ctx.last_sequence_nr,
            message,
        }
    }

    /// Runs code of the user; a panic in it ends the incarnation.
    fn turn(
        &mut self,
        code: &mut dyn FnMut(&mut A, &mut PersistentContext<A>),
    ) -> Result<(), Failure> {
        self.turn_of_any(Carried::NOTHING, code)
    }

    /// A turn that belongs to a command, and carries its metadata on: what it persists does too.
    fn caused_turn<R>(
        &mut self,
        cause: &CauseRef,
        carried: Carried,
        code: impl FnOnce(&mut A, &mut PersistentContext<A>) -> R,
    ) -> Result<R, Failure> {
        self.ctx.cause = Some(CauseRef::clone(cause));
        self.turn_in(carried, code)
    }

    /// Runs code that returns something, or takes what it has.
    fn turn_with<R>(
        &mut self,
        code: impl FnOnce(&mut A, &mut PersistentContext<A>) -> R,
    ) -> Result<R, Failure> {
        self.turn_in(Carried::NOTHING, code)
    }

    fn turn_in<R>(
        &mut self,
        carried: Carried,
        code: impl FnOnce(&mut A, &mut PersistentContext<A>) -> R,
    ) -> Result<R, Failure> {
        let mut code = Some(code);
        let mut result = None;
        self.turn_of_any(carried, &mut |actor, ctx| {
            result = code.take().map(|code| code(actor, ctx));
        })?;
        Ok(result.expect("a turn that did not panic has a result"))
    }

    /// Runs a turn of any type: all that is around it is compiled once for a type of actors.
    fn turn_of_any(
        &mut self,
        carried: Carried,
        code: &mut dyn FnMut(&mut A, &mut PersistentContext<A>),
    ) -> Result<(), Failure> {
        let _scope = carried.enter();
        let result = caught(|| {
            code(&mut self.actor, &mut self.ctx);
            self.ctx.tag_events(&self.actor);
        });
        self.ctx.cause = None;
        result.map_err(|panic| self.panicked(panic))
    }

    fn panicked(&self, panic: String) -> Failure {
        log::panicked(&self.ctx.persistence_id, self.ctx.last_sequence_nr, &panic);
        self.failure(false)
    }

    fn failure(&self, is_lasting: bool) -> Failure {
        Failure {
            is_lasting,
            worked_for: self.recovered_at.map(|at| at.elapsed()),
            was_stopping: self.ctx.stop_requested,
            is_conflict: false,
            is_contention: false,
            has_stored: self.has_stored,
            lived_by_itself: (!self.ctx.recovering).then(|| !self.ctx.tasks.allow_stop(false)),
            store_is_back: None,
            unrecovered: None,
        }
    }

    /// Returns the failure of an actor that lost to another writer.
    fn lost(&self) -> Failure {
        Failure {
            is_conflict: true,
            is_contention: true,
            ..self.failure(false)
        }
    }

    /// Returns whether everything it persisted is handled, and it was asked to stop, or it cannot be reached and has
    /// nothing left to do.
    fn wants_to_stop(&mut self, cx: &mut Context<'_>, mailbox: &mut Mailbox<A>) -> bool {
        self.ctx.pending.is_empty()
            && (self.ctx.stop_requested
                || (self.ctx.tasks.allow_stop(self.draining)
                    && mailbox.is_abandoned(cx)
                    && self.stores_are_done()))
    }

    /// Returns whether the stores owe nothing, and hurries them if they do: someone may wait until the id is free.
    fn stores_are_done(&self) -> bool {
        let are_done = self.stores_owe() == 0;
        if !are_done {
            self.ctx.hurry_snapshots();
        }
        are_done
    }

    /// Asks the actor whether it really stops; returns whether it has.
    fn stop(&mut self, registration: &Registration) -> Result<bool, Failure> {
        if !self.stopping_called {
            self.stopping_called = true;
            self.ctx.state = ActorState::Stopping;
            if self.turn_with(A::stopping)? == Running::Continue && !self.draining {
                self.stopping_called = false;
                self.ctx.stop_requested = false;
                self.ctx.state = ActorState::Running;
                return Ok(false);
            }
            // The events that it persisted in `stopping` are stored and handled first.
            if !self.ctx.pending.is_empty() {
                self.ctx.stop_requested = true;
                return Ok(false);
            }
        }
        self.end(registration);
        Ok(true)
    }

    fn end(&mut self, registration: &Registration) {
        registration.stopping();
        self.stopped();
    }

    fn stopped(&mut self) {
        let persisted_before = self.ctx.pending.len();
        self.ctx.state = ActorState::Stopped;
        // A panic here is logged; there is nothing left that it could harm.
        let _ = self.turn(&mut A::stopped);
        // Once each: what is persisted when that is heard is not heard of.
        for _ in persisted_before..self.ctx.pending.len() {
            if let Some(settled) = self.ctx.pending.pop_settled() {
                let _ = self.handle(settled);
            }
        }
    }
}

/// An arbiter that ends drops its actors; as with actix, they hear of it.
impl<A: PersistentActor> Drop for Incarnation<A> {
    fn drop(&mut self) {
        if self.started && !self.ended {
            self.stopped();
        }
    }
}
