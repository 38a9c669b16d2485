//! Persisting events with tags that are known at the call.

use std::fmt;
use std::sync::Arc;

use crate::persisting::beside::each_once;
use crate::persisting::pending::Kind;
use crate::{ManyEvents, Persist, PersistentActor, PersistentContext};

/// The calls that store events with tags: made by [`PersistentContext::tagged`].
#[must_use = "nothing is persisted yet: call `persist` or one of its like"]
pub struct Tagged<'c, A: PersistentActor> {
    ctx: &'c mut PersistentContext<A>,
    tags: Vec<Arc<str>>,
}

impl<A: PersistentActor> PersistentContext<A> {
    /// Returns the calls that store events with these tags, beside those that the actor
    /// [names](PersistentActor::tags) for each: `ctx.tagged(["large"]).persist(event)`.
    ///
    /// A repeated tag is stored once, and the order has no meaning. A tag that is longer than
    /// [`MAX_TEXT_BYTES`](actix_persistence_storage_api::MAX_TEXT_BYTES) or holds NUL, and any tag where the journal
    /// keeps none, makes the call a rejection. Does not compile for a [`DurableState`](crate::DurableState), whose
    /// tags are those of its [`State`](crate::State::tags):
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
    /// fn persist_tagged(ctx: &mut PersistentContext<Bare>) {
    ///     ctx.tagged(["draft"]).persist(Post).detach();
    /// }
    /// # fn main() { let _ = persist_tagged as fn(&mut PersistentContext<Bare>); }
    /// ```
    pub fn tagged<T: Into<Arc<str>>>(
        &mut self,
        tags: impl IntoIterator<Item = T>,
    ) -> Tagged<'_, A> {
        const {
            assert!(
                A::STORED_AS.is_events(),
                "the tags of a durable state are those of its `State`"
            )
        };
        let tags = each_once(tags.into_iter().map(Into::into));
        Tagged { ctx: self, tags }
    }
}

impl<A: PersistentActor> Tagged<'_, A> {
    /// Stores an event as [`PersistentContext::persist`] does.
    pub fn persist(self, event: A::Event) -> Persist<A> {
        self.push(Kind::Stashing, vec![event])
    }

    /// Stores events as [`PersistentContext::persist_all`] does, each with all the tags.
    pub fn persist_all(self, events: impl IntoIterator<Item = A::Event>) -> Persist<A, ManyEvents> {
        self.push(Kind::Stashing, events.into_iter().collect())
    }

    /// Stores an event as [`PersistentContext::persist_async`] does.
    pub fn persist_async(self, event: A::Event) -> Persist<A> {
        self.push(Kind::Async, vec![event])
    }

    /// Stores events as [`PersistentContext::persist_all_async`] does, each with all the tags.
    pub fn persist_all_async(
        self,
        events: impl IntoIterator<Item = A::Event>,
    ) -> Persist<A, ManyEvents> {
        self.push(Kind::Async, events.into_iter().collect())
    }

    fn push<N: 'static>(self, kind: Kind, events: Vec<A::Event>) -> Persist<A, N> {
        self.ctx.push_events(kind, events, self.tags)
    }
}

impl<A: PersistentActor> fmt::Debug for Tagged<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tagged").finish_non_exhaustive()
    }
}
