//! A store around another one.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use actix_persistence_storage_api::{
    Journal, OffsetStore, SnapshotStore, StateStore, StorageError,
};

use crate::{Hook, Journals, Next, OffsetStores, Rules, SnapshotStores, StateStores, StoreKind};

/// A journal, snapshot store, state store or offset store around another one, with a hook that sees every call.
///
/// The hook is [`Rules`] unless a test brings one of its own. Its methods can be called on the store:
/// `journal.on(..)` adds a rule to an `Intercepted<Journals>`.
///
/// Every method reaches the store, those with a default implementation included, and what the store declares is what
/// this one declares, unless [set otherwise](Self::with_capabilities).
pub struct Intercepted<S: StoreKind, H = Rules<S>> {
    pub(crate) store: Arc<S::Store>,
    pub(crate) declared: Option<S::Capabilities>,
    pub(crate) hides_queries: bool,
    hook: H,
}

impl Intercepted<Journals> {
    /// Puts rules in front of a journal, at first none.
    pub fn journal(journal: impl Journal) -> Self {
        Self::with_hook(Arc::new(journal), Rules::new())
    }
}

impl Intercepted<SnapshotStores> {
    /// Puts rules in front of a snapshot store, at first none.
    pub fn snapshot_store(store: impl SnapshotStore) -> Self {
        Self::with_hook(Arc::new(store), Rules::new())
    }
}

impl Intercepted<StateStores> {
    /// Puts rules in front of a state store, at first none.
    pub fn state_store(store: impl StateStore) -> Self {
        Self::with_hook(Arc::new(store), Rules::new())
    }
}

impl Intercepted<OffsetStores> {
    /// Puts rules in front of an offset store, at first none.
    pub fn offset_store(store: impl OffsetStore) -> Self {
        Self::with_hook(Arc::new(store), Rules::new())
    }
}

impl<H: Hook<Journals>> Intercepted<Journals, H> {
    /// Puts a hook of the test's own in front of a journal.
    pub fn journal_with(journal: impl Journal, hook: H) -> Self {
        Self::with_hook(Arc::new(journal), hook)
    }
}

impl<H: Hook<SnapshotStores>> Intercepted<SnapshotStores, H> {
    /// Puts a hook of the test's own in front of a snapshot store.
    pub fn snapshot_store_with(store: impl SnapshotStore, hook: H) -> Self {
        Self::with_hook(Arc::new(store), hook)
    }
}

impl<H: Hook<StateStores>> Intercepted<StateStores, H> {
    /// Puts a hook of the test's own in front of a state store.
    pub fn state_store_with(store: impl StateStore, hook: H) -> Self {
        Self::with_hook(Arc::new(store), hook)
    }
}

impl<H: Hook<OffsetStores>> Intercepted<OffsetStores, H> {
    /// Puts a hook of the test's own in front of an offset store.
    pub fn offset_store_with(store: impl OffsetStore, hook: H) -> Self {
        Self::with_hook(Arc::new(store), hook)
    }
}

impl<S: StoreKind, H: Hook<S>> Intercepted<S, H> {
    /// Puts a hook in front of any store; [`Rules::around`] does the same for rules.
    pub fn with_hook(store: Arc<S::Store>, hook: H) -> Self {
        Self {
            store,
            declared: None,
            hides_queries: false,
            hook,
        }
    }

    /// Declares no queries, even if the store has some.
    #[must_use]
    pub fn without_queries(mut self) -> Self {
        self.hides_queries = true;
        self
    }

    /// Declares these capabilities in the place of the store's own. What the store does stays the same.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: S::Capabilities) -> Self {
        self.declared = Some(capabilities);
        self
    }

    /// Returns the store itself: no hook sees the calls of a test that go there directly.
    pub fn store(&self) -> &Arc<S::Store> {
        &self.store
    }

    pub(crate) async fn call(&self, call: S::Call) -> Result<S::Answer, StorageError> {
        let next = Next::new(Arc::clone(&self.store));
        self.hook.call(call, next).await
    }
}

/// Dereferences to the hook, so that a test sets and reads what it wants on the store itself.
impl<S: StoreKind, H> Deref for Intercepted<S, H> {
    type Target = H;

    fn deref(&self) -> &H {
        &self.hook
    }
}

impl<S: StoreKind, H: fmt::Debug> fmt::Debug for Intercepted<S, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Intercepted")
            .field("hook", &self.hook)
            .finish_non_exhaustive()
    }
}
