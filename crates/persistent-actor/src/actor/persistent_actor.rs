//! The trait that users implement.

use actix::Actor;
use actix_persistence_storage_api::{PersistenceId, SequenceNr};

use crate::actor::stored_as::StoredAs;
use crate::{
    BackOffSettings, Event, EventMeta, PersistError, PersistentContext, Recovery, RecoveryError,
    RecoveryReplies, RejectionCause, Retention, Snapshot, SnapshotOffer, StashPolicy,
    StoreResponse, TakeOver,
};

/// An actor whose state is the sum of the events it persisted, and is there again after a restart.
///
/// Its [`Context`](Actor::Context) is [`PersistentContext`]; messages, addresses, timers and replies work as for any
/// actix actor. Between a command and the handlers of the events it persisted nothing else touches the actor.
///
/// If a write or the recovery fails, or a handler panics, the actor is dropped without its
/// [`stopping`](Actor::stopping) and [`stopped`](Actor::stopped) being called, and is built again from its factory
/// after a delay. Its address stays valid and waiting commands are kept, see [`BackOffSettings`](crate::BackOffSettings).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a `PersistentActor` nor a `DurableState`",
    label = "implement one of them for it",
    note = "implement `PersistentActor` to persist events, or `DurableState` to persist the state as it is now; what is given to `start` is a closure that makes the actor: `start(|| MyActor::default())`"
)]
pub trait PersistentActor: Actor<Context = PersistentContext<Self>> {
    /// The events that it persists.
    type Event: Event;
    /// The type of its snapshots; [`NoSnapshot`](crate::NoSnapshot) for none.
    type Snapshot: Snapshot;

    /// The way in which it is stored, for this crate alone: a [`DurableState`](crate::DurableState) is stored in
    /// another way.
    #[doc(hidden)]
    const STORED_AS: StoredAs<Self> = StoredAs::EVENTS;

    /// Returns the id under which its events are stored; the same for every actor that the factory makes.
    fn persistence_id(&self) -> PersistenceId;

    /// Applies an event to the actor: the one place where its state changes, called once it is stored, and in replay.
    ///
    /// Must not fail; a panic in replay makes the recovery fail. A recovery that fails may have called it for some
    /// events, even for one after an event that is missing; the actor is dropped then, and none of its handlers has
    /// run.
    fn on_event(&mut self, event: &Self::Event);

    /// Applies an event whose number, time or metadata the actor may need; called in place of
    /// [`on_event`](Self::on_event), which it calls unless implemented otherwise.
    ///
    /// Number, time and metadata are the same live and in replay, so that state may be made of them; not so
    /// [`replayed`](EventMeta::replayed).
    fn on_event_at(&mut self, event: &Self::Event, meta: &EventMeta) {
        let _ = meta;
        self.on_event(event);
    }

    /// Returns the tags by which queries find this event. Their order has no meaning, and a repeated tag is stored once.
    ///
    /// Asked once per event, after the code that persisted it has returned: the state is the one on which the event was
    /// decided, without it. [`tagged`](PersistentContext::tagged) adds tags at the call. An event with a tag that is
    /// longer than [`MAX_TEXT_BYTES`](actix_persistence_storage_api::MAX_TEXT_BYTES) or holds NUL is rejected, as is
    /// one with any tag where the journal keeps none.
    fn tags(&self, event: &Self::Event) -> Vec<String> {
        let _ = event;
        Vec::new()
    }

    /// Takes over the state of a snapshot, before any event is replayed.
    ///
    /// To be implemented by every actor that saves snapshots. Left out, a stored snapshot makes the recovery fail,
    /// because the events it stands for are not replayed.
    fn on_snapshot(&mut self, offer: SnapshotOffer<Self::Snapshot>) {
        offer.unhandled();
    }

    /// Returns the plugin id of its journal; `None` for the configured default.
    fn journal_plugin_id(&self) -> Option<String> {
        None
    }

    /// Returns the plugin id of its snapshot store; `None` for the configured default.
    fn snapshot_plugin_id(&self) -> Option<String> {
        None
    }

    /// Returns the part of the past to replay.
    fn recovery(&self) -> Recovery {
        Recovery::default()
    }

    /// Returns the rule by which it takes snapshots, and deletes events and older snapshots for them; `None` for no
    /// rule.
    ///
    /// Asked once per start, when the state is recovered.
    fn retention(&self) -> Option<Retention<Self>> {
        None
    }

    /// Returns the number of messages that wait in the actor while it recovers or persists, and the fate of further
    /// ones; `None` for the configured policy. Called for every incarnation.
    fn stash_policy(&self) -> Option<StashPolicy> {
        None
    }

    /// Returns the time at which it becomes the writer of its id; its first write unless set otherwise. Called for
    /// every incarnation.
    fn take_over(&self) -> TakeOver {
        TakeOver::default()
    }

    /// Returns the commands whose askers learn why the actor could not be recovered; the channels of others close.
    /// Asked of every incarnation.
    fn recovery_replies(&self) -> RecoveryReplies {
        RecoveryReplies::new()
    }

    /// Returns the settings that say when the actor is rebuilt after a failure; `None` for the configured ones. Asked
    /// once, of the first one.
    fn back_off(&self) -> Option<BackOffSettings> {
        None
    }

    /// Called once per start, after the last replayed event and before the first command; may persist.
    fn on_recovery_completed(&mut self, ctx: &mut PersistentContext<Self>) {
        let _ = ctx;
    }

    /// Called when the recovery failed, before the actor is dropped. The failure was logged as an error, but for one that
    /// another writer [overtook](RecoveryError::Overtaken).
    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        let _ = error;
    }

    /// Called when an event was not stored, or is not known to be, before the actor is dropped.
    ///
    /// `sequence_nr` is the number it was sent with. The failure was logged as an error, but for a
    /// [`Conflict`](PersistError::Conflict), of which a warning is logged from time to time; of several events of one
    /// `persist_all` the first is given.
    fn on_persist_failure(
        &mut self,
        error: &PersistError,
        event: &Self::Event,
        sequence_nr: SequenceNr,
    ) {
        let _ = (error, event, sequence_nr);
    }

    /// Called for each event that was rejected; the actor goes on. The rejection was logged as a warning.
    fn on_persist_rejected(
        &mut self,
        cause: &RejectionCause,
        event: &Self::Event,
        ctx: &mut PersistentContext<Self>,
    ) {
        let _ = (cause, event, ctx);
    }

    /// Called with the answers of the stores to snapshots and deletes, those of [`retention`](Self::retention) among
    /// them, between commands; failures were logged as warnings.
    ///
    /// Left out, failures become [dead letters](crate::DeadLetterCause::StoreFailure).
    fn on_store_response(&mut self, response: StoreResponse, ctx: &mut PersistentContext<Self>) {
        ctx.unhandled(response);
    }
}
