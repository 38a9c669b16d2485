//! The trait of actors whose current state is stored.

use actix::Actor;
use actix_persistence_storage_api::{PersistenceId, Revision};

use crate::actor::stored_as::{StateHooks, StoredAs};
use crate::{
    BackOffSettings, NoSnapshot, PersistError, PersistentActor, PersistentContext, RecoveryError,
    RecoveryReplies, RejectionCause, StashPolicy, State, decode_state,
};

/// An actor whose current state is stored, and is there again after a restart; as Akka's `DurableStateBehavior`.
///
/// Its [`Context`](Actor::Context) is [`PersistentContext`], as that of a [`PersistentActor`], and everything that is
/// said there of commands, replies, stashes, timers and failures holds:
/// [`persist`](PersistentContext::persist) stores a state in place of the one before,
/// [`delete`](PersistentContext::delete) removes it, and until [`on_state`](Self::on_state) has applied the change, the
/// actor has the state before it and nothing else touches it.
///
/// Each state and each delete has a [`revision`](PersistentContext::revision), one more than that before; of several
/// that are persisted in one turn each is stored, in order. A revision is never used again, even after a delete.
/// It decides who may write: when another writer was there first, the write fails as a
/// [conflict](PersistError::Conflict), and the actor is recovered onto what that one stored.
///
/// A durable state cannot use what belongs to events: `persist_all`, snapshots, deleting messages and retention do not
/// compile for it.
///
/// ```
/// use actix::{Actor, Handler, Message};
/// use actix_persistence_persistent_actor::{
///     DurableState, PersistError, PersistentContext, Reply, State,
/// };
/// use actix_persistence_storage_api::PersistenceId;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct Post {
///     title: String,
/// }
///
/// impl State for Post {
///     const MANIFEST: &'static str = "blog.post";
///     const VERSION: u32 = 1;
/// }
///
/// struct BlogPost {
///     id: String,
///     post: Option<Post>,
/// }
///
/// impl Actor for BlogPost {
///     type Context = PersistentContext<Self>;
/// }
///
/// impl DurableState for BlogPost {
///     type State = Post;
///
///     fn persistence_id(&self) -> PersistenceId {
///         PersistenceId::of("BlogPost", &self.id)
///     }
///
///     fn on_state(&mut self, state: Option<&Post>) {
///         self.post = state.cloned();
///     }
/// }
///
/// #[derive(Message)]
/// #[rtype(result = "Result<(), PersistError>")]
/// struct Retitle(String);
///
/// impl Handler<Retitle> for BlogPost {
///     type Result = Reply<Retitle>;
///
///     fn handle(&mut self, Retitle(title): Retitle, ctx: &mut Self::Context) -> Self::Result {
///         ctx.persist(Post { title }).reply(|_| Ok(()))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a `PersistentActor` nor a `DurableState`",
    label = "implement one of them for it",
    note = "implement `PersistentActor` to persist events, or `DurableState` to persist the state as it is now; what is given to `start` is a closure that makes the actor: `start(|| MyActor::default())`"
)]
pub trait DurableState: Actor<Context = PersistentContext<Self>> {
    /// The state that it stores.
    type State: State;

    /// Returns the id under which its state is stored; the same for every actor that the factory makes.
    ///
    /// An id belongs to a durable state or to an event-sourced actor, never to both. Where both traits are in scope, ask
    /// [`PersistentContext::persistence_id`] for it: they have a method of this name.
    fn persistence_id(&self) -> PersistenceId;

    /// Applies a state to the actor: the one place where its state changes, called once it is stored, and at the
    /// recovery.
    ///
    /// `None` after a delete, and at the recovery of an id without a state. Must not fail; a panic at the recovery
    /// makes it fail.
    fn on_state(&mut self, state: Option<&Self::State>);

    /// Returns the plugin id of its state store; `None` for the configured default.
    fn state_plugin_id(&self) -> Option<String> {
        None
    }

    /// Returns the number of messages that wait in the actor while it recovers or persists, and the fate of further
    /// ones; `None` for the configured policy. Called for every incarnation.
    fn stash_policy(&self) -> Option<StashPolicy> {
        None
    }

    /// Returns the commands whose askers learn why the actor could not be recovered; the channels of others close.
    /// Asked of every incarnation.
    fn recovery_replies(&self) -> RecoveryReplies {
        RecoveryReplies::new()
    }

    /// Returns the settings that say when the actor is rebuilt after a failure; `None` for the configured ones. Called
    /// once, on the first incarnation.
    fn back_off(&self) -> Option<BackOffSettings> {
        None
    }

    /// Called once per start, after [`on_state`](Self::on_state) and before the first command; may persist.
    fn on_recovery_completed(&mut self, ctx: &mut PersistentContext<Self>) {
        let _ = ctx;
    }

    /// Called when the recovery failed, before the actor is dropped. The failure was logged as an error.
    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        let _ = error;
    }

    /// Called when a state, or with `None` a delete, was not stored, or is not known to be, before the actor is dropped.
    ///
    /// `revision` is the one it was sent with. The failure was logged as an error.
    fn on_persist_failure(
        &mut self,
        error: &PersistError,
        state: Option<&Self::State>,
        revision: Revision,
    ) {
        let _ = (error, state, revision);
    }

    /// Called for a state, or with `None` a delete, that was rejected; the actor goes on. The rejection was logged as a
    /// warning.
    fn on_persist_rejected(
        &mut self,
        cause: &RejectionCause,
        state: Option<&Self::State>,
        ctx: &mut PersistentContext<Self>,
    ) {
        let _ = (cause, state, ctx);
    }
}

/// A state is, to the run loop, the event that replaces everything before it, and its revision is the number of that
/// event.
impl<A: DurableState> PersistentActor for A {
    type Event = A::State;
    type Snapshot = NoSnapshot;

    const STORED_AS: StoredAs<Self> = StoredAs::state(&StateHooks {
        plugin_id: A::state_plugin_id,
        tags: A::State::tags,
        read: decode_state::<A::State>,
        on_none: |actor| actor.on_state(None),
        on_delete_failure: |actor, error, revision| {
            DurableState::on_persist_failure(actor, error, None, revision);
        },
        on_delete_rejected: |actor, cause, ctx| {
            DurableState::on_persist_rejected(actor, cause, None, ctx);
        },
    });

    fn persistence_id(&self) -> PersistenceId {
        DurableState::persistence_id(self)
    }

    fn on_event(&mut self, state: &A::State) {
        self.on_state(Some(state));
    }

    fn stash_policy(&self) -> Option<StashPolicy> {
        DurableState::stash_policy(self)
    }

    fn recovery_replies(&self) -> RecoveryReplies {
        DurableState::recovery_replies(self)
    }

    fn back_off(&self) -> Option<BackOffSettings> {
        DurableState::back_off(self)
    }

    fn on_recovery_completed(&mut self, ctx: &mut PersistentContext<Self>) {
        DurableState::on_recovery_completed(self, ctx);
    }

    fn on_recovery_failure(&mut self, error: &RecoveryError) {
        DurableState::on_recovery_failure(self, error);
    }

    fn on_persist_failure(&mut self, error: &PersistError, state: &A::State, revision: Revision) {
        DurableState::on_persist_failure(self, error, Some(state), revision);
    }

    fn on_persist_rejected(
        &mut self,
        cause: &RejectionCause,
        state: &A::State,
        ctx: &mut PersistentContext<Self>,
    ) {
        DurableState::on_persist_rejected(self, cause, Some(state), ctx);
    }
}
