//! The context of a persistent actor.

mod durable_state;
mod metadata;
mod store_requests;
pub(crate) mod store_responses;
mod tagged;
pub(crate) mod tasks;
mod turns;
mod unhandled;
mod writing;

pub use tagged::Tagged;

use std::any::Any;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix::dev::{MessageResponse, ToEnvelope};
use actix::utils::TimerFunc;
use actix::{
    ActorContext, ActorFuture, ActorState, Addr, AsyncContext, Handler, Message, SpawnHandle,
    StreamHandler,
};
use actix_persistence_journal_actor::Standing;
use actix_persistence_storage_api::{
    Fence, Operation, PersistenceId, SequenceNr, StorageError, StorageErrorKind, WriterId,
};
use futures_util::future::OptionFuture;
use futures_util::{FutureExt, Stream, join};
use tokio::time::Instant;

use crate::context::store_requests::WaitingDelete;
use crate::context::store_responses::StoreResponses;
use crate::context::tasks::Tasks;
use crate::context::turns::{StreamStep, Turns, steps, ticks};
use crate::driver::mailbox::OwnAddress;
use crate::environment::Environment;
use crate::metadata::carried::Carried;
use crate::persisting::beside::{Beside, each_once};
use crate::persisting::encoded::{Encoded, EncodedState};
use crate::persisting::in_flight::InFlight;
use crate::persisting::pending::{Kind, PendingQueue};
use crate::persisting::persisted_events::PersistedEvents;
use crate::persisting::write_deadline::WriteDeadline;
use crate::replying::cause::CauseRef;
use crate::schema::{self, Schema};
use crate::snapshots::retention_rounds::RetentionRounds;
use crate::snapshots::retention_steps::StepFuture;
use crate::stashing::envelope::pack;
use crate::stashing::stash::StashRef;
use crate::{
    EncodeError, ManyEvents, NamedStash, NoEvent, Persist, PersistError, PersistentActor, Recovery,
    RejectionCause, Reply, ReplyTo,
};

/// The context of a [`PersistentActor`] or a [`DurableState`](crate::DurableState): an actix context with a run loop of its own.
///
/// A durable state is one event that replaces those before it: where events are spoken of here, that is a state too.
///
/// While events of [`persist`](Self::persist) are being stored, commands wait in a stash, and timers, streams and
/// spawned futures are not polled: between a command and the handlers of its events nothing else touches the actor.
/// Such a turn is as good as a command: it may persist, and everything waits for its handlers. Waits ([`AsyncContext::wait`])
/// end in the order they were given. [`stop`](ActorContext::stop) takes effect when everything persisted was handled.
pub struct PersistentContext<A: PersistentActor> {
    pub(crate) persistence_id: PersistenceId,
    pub(crate) environment: Arc<Environment>,
    pub(crate) state: ActorState,
    pub(crate) stop_requested: bool,
    pub(crate) terminated: bool,
    pub(crate) recovering: bool,
    pub(crate) pending: PendingQueue<A>,
    pub(crate) in_flight: Option<InFlight>,
    write_deadline: WriteDeadline,
    pub(crate) tasks: Tasks<A>,
    pub(crate) store_responses: StoreResponses,
    /// Deletes that are not asked for before the write under way is answered.
    waiting_deletes: Vec<WaitingDelete>,
    pub(crate) retention: RetentionRounds<A>,
    /// The step of its round that is under way.
    pub(crate) retention_step: Option<StepFuture>,
    /// The last event that the actor has applied.
    pub(crate) last_sequence_nr: SequenceNr,
    pub(crate) snapshot_sequence_nr: SequenceNr,
    /// The cause of the turn under way.
    pub(crate) cause: Option<CauseRef>,
    stash: StashRef<A>,
    address: OwnAddress<A>,
    writer: WriterId,
    /// The fence of the next write.
    pub(crate) fence: Fence,
    /// The highest event that was deleted when the recovery began.
    pub(crate) deleted_to: SequenceNr,
    /// The last number known to be used; the next event gets the one after it.
    used_sequence_nr: SequenceNr,
    event_schema: Arc<Schema<A::Event>>,
    /// True if the metadata of a command was not stored, because the journal keeps none.
    left_metadata_out: bool,
    /// Keeps the stores open until they have done what this actor asked of them.
    keep: Rc<dyn Any>,
}

impl<A: PersistentActor> PersistentContext<A> {
    pub(crate) fn new(
        persistence_id: PersistenceId,
        environment: Arc<Environment>,
        address: OwnAddress<A>,
        writer: WriterId,
        stash: StashRef<A>,
        recovery: Recovery,
        keep: Rc<dyn Any>,
    ) -> Self {
        Self {
            persistence_id,
            environment,
            state: ActorState::Started,
            stop_requested: false,
            terminated: false,
            recovering: true,
            pending: PendingQueue::new(),
            in_flight: None,
            write_deadline: WriteDeadline::default(),
            tasks: Tasks::new(),
            store_responses: StoreResponses::default(),
            waiting_deletes: Vec::new(),
            retention: RetentionRounds::new(recovery),
            retention_step: None,
            last_sequence_nr: 0,
            snapshot_sequence_nr: 0,
            cause: None,
            stash,
            address,
            writer,
            fence: Fence::TakesOver { from: 0 },
            deleted_to: 0,
            used_sequence_nr: 0,
            event_schema: schema::of_event().expect("no actor is started whose schema cannot be"),
            left_metadata_out: false,
            keep,
        }
    }

    /// Stores an event, then passes it to [`on_event`](PersistentActor::on_event), or a state to
    /// [`on_state`](crate::DurableState::on_state), then runs the handler and the reply
    /// that are attached to what this returns.
    ///
    /// Takes effect at the call. Commands wait until all of it has happened. An event that cannot be encoded or is
    /// too large is rejected: [`on_persist_rejected`](PersistentActor::on_persist_rejected) is called at its turn, its
    /// reply fails, and the actor goes on.
    pub fn persist(&mut self, event: A::Event) -> Persist<A> {
        self.push_events(Kind::Stashing, vec![event], Vec::new())
    }

    /// Stores events together or not at all, then handles them one by one as [`persist`](Self::persist) does.
    ///
    /// The reply comes after the last handler. No events is no write, but its reply comes in its turn all the same.
    /// A journal without atomic batches rejects several events. Does not compile for a
    /// [`DurableState`](crate::DurableState):
    ///
    /// ```compile_fail,E0080
    /// # use actix_persistence_persistent_actor::{DurableState, PersistentContext, State};
    /// # use actix_persistence_storage_api::PersistenceId;
    /// # struct Bare;
    /// # #[derive(serde::Serialize, serde::Deserialize)]
    /// # struct Post;
    /// # impl State for Post {
    /// #     const MANIFEST: &'static str = "post";
    /// #     const VERSION: u32 = 1;
    /// # }
    /// # impl actix::Actor for Bare { type Context = PersistentContext<Self>; }
    /// # impl DurableState for Bare {
    /// #     type State = Post;
    /// #     fn persistence_id(&self) -> PersistenceId { PersistenceId::of("Bare", "1") }
    /// #     fn on_state(&mut self, _: Option<&Post>) {}
    /// # }
    /// fn persist_two(ctx: &mut PersistentContext<Bare>) {
    ///     ctx.persist_all([Post, Post]).detach();
    /// }
    /// # fn main() { let _ = persist_two as fn(&mut PersistentContext<Bare>); }
    /// ```
    pub fn persist_all(
        &mut self,
        events: impl IntoIterator<Item = A::Event>,
    ) -> Persist<A, ManyEvents> {
        const {
            assert!(
                A::STORED_AS.is_events(),
                "a durable state is persisted alone"
            )
        };
        self.push_events(Kind::Stashing, events.into_iter().collect(), Vec::new())
    }

    /// Stores an event as [`persist`](Self::persist) does, but commands, timers and futures do not wait for it.
    ///
    /// They may run before its handler, and see the state without the event. Handlers run in the order of the calls,
    /// those of [`persist`](Self::persist) among them. For commands that do not depend on the decisions of those before
    /// them: many of them share a write.
    pub fn persist_async(&mut self, event: A::Event) -> Persist<A> {
        self.push_events(Kind::Async, vec![event], Vec::new())
    }

    /// Stores events as [`persist_all`](Self::persist_all) does, but nothing waits for it, as for
    /// [`persist_async`](Self::persist_async).
    pub fn persist_all_async(
        &mut self,
        events: impl IntoIterator<Item = A::Event>,
    ) -> Persist<A, ManyEvents> {
        const {
            assert!(
                A::STORED_AS.is_events(),
                "a durable state is persisted alone"
            )
        };
        self.push_events(Kind::Async, events.into_iter().collect(), Vec::new())
    }

    /// Runs `handler` when everything persisted before it is handled, and lets commands wait until then.
    ///
    /// Stores nothing and asks no journal. With nothing before it, it runs right after the present turn. It does not
    /// run if a persist before it fails; a rejected one does not matter. Called before the recovery has completed it is
    /// rejected itself: a warning is logged, and the handler does not run.
    pub fn defer(
        &mut self,
        handler: impl FnOnce(&mut A, &mut PersistentContext<A>) + 'static,
    ) -> Persist<A, NoEvent> {
        self.push_events::<NoEvent>(Kind::Stashing, Vec::new(), Vec::new())
            .on_complete(handler)
    }

    /// Runs `handler` as [`defer`](Self::defer) does, but nothing waits for it, as for
    /// [`persist_async`](Self::persist_async).
    pub fn defer_async(
        &mut self,
        handler: impl FnOnce(&mut A, &mut PersistentContext<A>) + 'static,
    ) -> Persist<A, NoEvent> {
        self.push_events::<NoEvent>(Kind::Async, Vec::new(), Vec::new())
            .on_complete(handler)
    }

    /// Adds a call that stores events, each with these tags.
    fn push_events<N: 'static>(
        &mut self,
        kind: Kind,
        events: Vec<A::Event>,
        tags: Vec<Arc<str>>,
    ) -> Persist<A, N> {
        let keeps_tags = self.check_tags(!tags.is_empty());
        let encoded = keeps_tags
            .map_err(RejectionCause::from)
            .and_then(|()| self.encode(&events));
        let beside = Beside::tagged(events.len(), tags);
        self.push(kind, events.into(), encoded, beside)
    }

    fn push<N: 'static>(
        &mut self,
        kind: Kind,
        events: PersistedEvents<A::Event>,
        encoded: Result<Encoded, RejectionCause>,
        mut beside: Beside,
    ) -> Persist<A, N> {
        let (carried, mut is_stored) = (Carried::current(), false);
        let encoded = encoded.and_then(|encoded| {
            if !encoded.is_empty() {
                is_stored = self.keeps_metadata(&carried)?;
            }
            Ok(encoded)
        });
        beside.carry(carried, is_stored);
        let cause = self.cause();
        let attached = self
            .pending
            .push(kind, events, encoded, beside, CauseRef::clone(&cause));
        Persist::new(attached, cause)
    }

    /// Asks the actor for the tags of the events that it has persisted since the last time: to be called in the turn
    /// that has, before another event is applied.
    #[inline]
    pub(crate) fn tag_events(&mut self, actor: &A) {
        let (stores, id) = (&self.environment.stores, &self.persistence_id);
        self.pending
            .tag(|event| actor.tags(event), || stores.check_tags(id));
    }

    /// Returns the channel of the command that caused what runs now, as Akka's `sender()`: the command itself, a
    /// handler of its events, of theirs, or a deferred one.
    ///
    /// In a timer, a stream or a spawned future it leads nowhere: there use what this returned in a handler before. See
    /// [`ReplyTo`].
    pub fn reply_to<M: Message>(&mut self) -> ReplyTo<M> {
        ReplyTo::new(self.cause())
    }

    /// Puts a command aside, to process it later: to be returned from its handler.
    ///
    /// As [`NamedStash::stash`] of the stash without a name.
    #[must_use = "return this from the handler, so that the asker is answered when the command is processed"]
    pub fn stash<M>(&mut self, command: M) -> Reply<M>
    where
        A: Handler<M>,
        M: Message + Send + 'static,
        M::Result: Send,
    {
        self.named_stash("").stash(command)
    }

    /// Processes everything put aside next, in order, before the commands that arrived since; returns their
    /// number.
    pub fn unstash_all(&mut self) -> usize {
        self.named_stash("").unstash_all()
    }

    /// Processes the oldest command put aside, after those that wait already; returns whether there is one.
    pub fn unstash(&mut self) -> bool {
        self.named_stash("").unstash()
    }

    /// Returns the stash of this name; an actor may have several. The one that [`stash`](Self::stash) fills has the
    /// name `""`.
    pub fn named_stash(&mut self, name: &'static str) -> NamedStash<A> {
        NamedStash::new(StashRef::clone(&self.stash), name)
    }

    /// Returns the cause of the current turn; makes it when first asked.
    pub(crate) fn cause(&mut self) -> CauseRef {
        CauseRef::clone(self.cause.get_or_insert_default())
    }

    fn encode(&self, events: &[A::Event]) -> Result<Encoded, RejectionCause> {
        self.check_phase()?;
        let limit = self.environment.max_event_bytes();
        let encode = |event| {
            let schema = &self.event_schema;
            self.environment.encode_event(event, schema, limit)
        };
        match (A::STORED_AS.hooks(), events) {
            (Some(hooks), [state]) => {
                let tags = (hooks.tags)(state);
                self.check_tags(!tags.is_empty())?;
                let tags = each_once(tags.into_iter().map(Into::into));
                Ok(Encoded::State(Box::new(EncodedState {
                    state: encode(state)?,
                    tags,
                    event: None,
                })))
            }
            _ => {
                self.check_batch(events.len())?;
                let events: Result<_, EncodeError> = events.iter().map(encode).collect();
                Ok(Encoded::Events(events?))
            }
        }
    }

    /// Refuses what is persisted when nothing can be.
    pub(crate) fn check_phase(&self) -> Result<(), RejectionCause> {
        if self.recovering {
            return Err(RejectionCause::DuringRecovery);
        }
        if self.state == ActorState::Stopped {
            return Err(RejectionCause::AfterStop);
        }
        Ok(())
    }

    fn check_batch(&self, events: usize) -> Result<(), StorageError> {
        if events > 1 && !self.environment.stores.has_atomic_batches() {
            let error = StorageError::new(StorageErrorKind::Unsupported, Operation::WriteMessages)
                .not_stored()
                .with_persistence_id(self.persistence_id.clone())
                .with_message("this journal stores one event at a time");
            return Err(error);
        }
        Ok(())
    }

    /// Fails if there are tags and the store keeps none.
    fn check_tags(&self, any: bool) -> Result<(), StorageError> {
        if !any {
            return Ok(());
        }
        self.environment.stores.check_tags(&self.persistence_id)
    }

    /// Returns the persistence id of the actor.
    pub fn persistence_id(&self) -> &PersistenceId {
        &self.persistence_id
    }

    /// Returns the number of the last event that the actor has applied, replayed or persisted; 0 for none. Of a
    /// durable state, its [`revision`](Self::revision).
    pub fn last_sequence_nr(&self) -> SequenceNr {
        self.last_sequence_nr
    }

    /// Returns the number of the snapshot the recovery started from; 0 for none.
    pub fn snapshot_sequence_nr(&self) -> SequenceNr {
        self.snapshot_sequence_nr
    }

    /// Returns whether events are still being replayed; false from
    /// [`on_recovery_completed`](PersistentActor::on_recovery_completed) on.
    pub fn is_recovering(&self) -> bool {
        self.recovering
    }

    /// Returns whether every event was replayed; the opposite of [`is_recovering`](Self::is_recovering).
    pub fn is_recovery_finished(&self) -> bool {
        !self.recovering
    }

    pub(crate) fn stands_at(&mut self, standing: Standing) {
        self.fence = standing.fence;
        self.deleted_to = standing.deleted_to;
        self.used_sequence_nr = standing.highest_sequence_nr;
    }

    pub(crate) fn recovery_completed(&mut self) {
        self.used_sequence_nr = self.used_sequence_nr.max(self.last_sequence_nr);
        self.retention
            .recovered(self.last_sequence_nr, self.used_sequence_nr);
        self.last_sequence_nr = self.used_sequence_nr;
        self.recovering = false;
        self.state = ActorState::Running;
    }

    /// Returns whether everything but the stores has to wait.
    pub(crate) fn holds_back(&self) -> bool {
        self.recovering || self.pending.holds_back()
    }

    /// Returns whether something comes before the next future or stream item.
    pub(crate) fn interrupts_turns(&self) -> bool {
        self.stop_requested
            || self.holds_back()
            || self.tasks.waiting()
            || self.pending.head_is_settled()
    }

    /// Ends everything that waits for a store, because the actor has ended.
    pub(crate) fn abandon(&mut self) {
        self.ask_for_waiting_deletes();
        let requests = std::mem::take(&mut self.store_responses);
        let step = self.retention_step.take();
        if !requests.is_empty() || step.is_some() {
            self.hurry_snapshots();
            let (step, keep) = (OptionFuture::from(step), Rc::clone(&self.keep));
            let rest = async move {
                join!(requests.finish(), step);
                drop(keep);
            };
            actix_rt::spawn(rest.boxed_local());
        }
        self.in_flight = None;
        let id = self.persistence_id.clone();
        let operation = self.environment.stores.write_operation();
        self.pending.abandon(|| {
            let error = StorageError::new(StorageErrorKind::Timeout, operation)
                .with_persistence_id(id.clone())
                .with_message("the actor ended before its store answered");
            PersistError::Unknown(error)
        });
    }

    /// Lets no snapshot of the actor wait for its pace: it is to end, and its snapshots and its id are to be free.
    pub(crate) fn hurry_snapshots(&self) {
        if let Some(snapshots) = self.environment.stores.snapshot_store() {
            snapshots.hurry(&self.persistence_id);
        }
    }

    /// Spawns a future that a stop of everything does not wait for.
    fn in_background(&mut self, spawn: impl FnOnce(&mut Self) -> SpawnHandle) -> SpawnHandle {
        self.tasks.set_in_background(true);
        let handle = spawn(self);
        self.tasks.set_in_background(false);
        handle
    }

    /// Spawns turns that go on after the command that added them: its metadata is none of theirs.
    fn spawn_turns<T, F>(&mut self, turns: Turns<T, F>) -> SpawnHandle
    where
        Turns<T, F>: ActorFuture<A, Output = ()> + 'static,
    {
        let _scope = Carried::NOTHING.enter();
        self.in_background(|ctx| ctx.spawn(turns))
    }

    pub(crate) fn event_manifest(&self) -> &str {
        self.event_schema.manifest().text()
    }
}

impl<A: PersistentActor> ActorContext for PersistentContext<A> {
    /// Stops the actor once everything it persisted is handled; messages that wait are dropped, and so are timers,
    /// streams and futures. If what it persisted fails, it is not rebuilt. Snapshots and deletes it asked for happen,
    /// even if it was the last to hold its stores.
    fn stop(&mut self) {
        self.stop_requested = true;
    }

    /// Stops the actor after the present turn, whatever it persisted; its stored events come back with its next start.
    /// As in actix, `stopping` is not called, but `stopped` is.
    fn terminate(&mut self) {
        self.terminated = true;
        self.stop_requested = true;
    }

    fn state(&self) -> ActorState {
        self.state
    }
}

impl<A: PersistentActor> AsyncContext<A> for PersistentContext<A> {
    /// Returns the address of the actor; while everything stops it is closed, so that what is sent to it is refused, as
    /// it is from every other sender. An actor that has more to do then sends to itself with
    /// [`notify`](AsyncContext::notify).
    fn address(&self) -> Addr<A> {
        (self.address)()
    }

    fn spawn<F>(&mut self, fut: F) -> SpawnHandle
    where
        F: ActorFuture<A, Output = ()> + 'static,
    {
        self.tasks.spawn(fut)
    }

    fn wait<F>(&mut self, fut: F)
    where
        F: ActorFuture<A, Output = ()> + 'static,
    {
        self.tasks.wait(fut);
    }

    fn waiting(&self) -> bool {
        self.interrupts_turns()
    }

    fn cancel_future(&mut self, handle: SpawnHandle) -> bool {
        self.tasks.cancel(handle)
    }

    /// Feeds the items of a stream to the actor: its start, each item and its end are turns, which may persist, and
    /// everything waits for the handlers. The provided [`finished`](StreamHandler::finished) stops the actor, as in
    /// actix.
    ///
    /// The same cannot be had from what polls a stream without this context:
    /// [`StreamHandler::add_stream`], called on the actor, and `ActorStreamExt::finish`. There, further items may come
    /// before the handlers of what an item persisted, and a stop of everything waits for their end.
    fn add_stream<S>(&mut self, fut: S) -> SpawnHandle
    where
        S: Stream + 'static,
        A: StreamHandler<S::Item>,
    {
        if self.state == ActorState::Stopped {
            tracing::warn!(
                persistence_id = %self.persistence_id,
                "a stream was added when the actor had stopped"
            );
            return SpawnHandle::default();
        }
        let turns = Turns::new(
            steps(fut),
            |step, actor: &mut A, ctx: &mut Self| match step {
                StreamStep::Started => <A as StreamHandler<S::Item>>::started(actor, ctx),
                StreamStep::Item(item) => StreamHandler::handle(actor, item, ctx),
                StreamStep::Finished => <A as StreamHandler<S::Item>>::finished(actor, ctx),
            },
        );
        self.spawn_turns(turns)
    }

    fn add_message_stream<S>(&mut self, fut: S)
    where
        S: Stream + 'static,
        S::Item: Message,
        A: Handler<S::Item>,
    {
        let turns = Turns::new(fut, |message, actor: &mut A, ctx: &mut Self| {
            <A as Handler<S::Item>>::handle(actor, message, ctx).handle(ctx, None);
        });
        self.spawn_turns(turns);
    }

    fn notify_later<M>(&mut self, msg: M, after: Duration) -> SpawnHandle
    where
        A: Handler<M>,
        M: Message + 'static,
    {
        self.run_later(after, |_, ctx| ctx.notify(msg))
    }

    fn run_later<F>(&mut self, dur: Duration, f: F) -> SpawnHandle
    where
        F: FnOnce(&mut A, &mut Self) + 'static,
    {
        self.in_background(|ctx| ctx.spawn(TimerFunc::new(dur, f)))
    }

    fn run_interval<F>(&mut self, dur: Duration, f: F) -> SpawnHandle
    where
        F: FnMut(&mut A, &mut Self) + 'static,
    {
        // A duration without end is one, too.
        let start = tokio::time::sleep(dur).deadline();
        self.run_interval_at(start, dur, f)
    }

    fn run_interval_at<F>(&mut self, start: Instant, interval: Duration, task: F) -> SpawnHandle
    where
        F: FnMut(&mut A, &mut Self) + 'static,
    {
        let mut task = Box::new(task);
        let turns = Turns::new(
            ticks(start, interval),
            move |(), actor: &mut A, ctx: &mut Self| task(actor, ctx),
        );
        self.spawn_turns(turns)
    }
}

impl<A, M> ToEnvelope<A, M> for PersistentContext<A>
where
    A: PersistentActor + Handler<M>,
    M: Message + Send + 'static,
    M::Result: Send,
{
    fn pack(
        message: M,
        sender: Option<actix::dev::OneshotSender<M::Result>>,
    ) -> actix::dev::Envelope<A> {
        pack(message, sender, Carried::sent())
    }
}

impl<A: PersistentActor> fmt::Debug for PersistentContext<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PersistentContext")
            .field("persistence_id", &self.persistence_id)
            .field("state", &self.state)
            .field("recovering", &self.recovering)
            .field("last_sequence_nr", &self.last_sequence_nr)
            .finish_non_exhaustive()
    }
}
