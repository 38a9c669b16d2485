//! Code that sees every call before and after it.

use std::fmt;
use std::sync::Arc;

use actix_persistence_storage_api::StorageError;
use async_trait::async_trait;

use crate::{Rules, StoreKind};

/// Sees each call of a store, decides what becomes of it, and sees what it returns.
///
/// [`Rules`] are a hook for most tests. A type of your own may hold what the test wants to set and to read; an
/// [`Intercepted`](crate::Intercepted) store offers access to it.
///
/// ```
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// use actix_persistence_memory::MemoryJournal;
/// use actix_persistence_storage_api::{Journal, StorageError, StorageErrorKind};
/// use actix_persistence_testkit::{Fault, Hook, Intercepted, Next, StoreKind};
/// use async_trait::async_trait;
///
/// /// Lets every call fail while the database is away.
/// #[derive(Default)]
/// struct Network {
///     is_down: AtomicBool,
/// }
///
/// #[async_trait]
/// impl<S: StoreKind> Hook<S> for Network {
///     async fn call(&self, call: S::Call, next: Next<S>) -> Result<S::Answer, StorageError> {
///         if self.is_down.load(Ordering::Relaxed) {
///             return Err(Fault::new(StorageErrorKind::Unavailable).of(&call));
///         }
///         next.run(call).await
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let journal = Intercepted::journal_with(MemoryJournal::new(), Network::default());
/// assert!(journal.ping().await.is_ok());
/// journal.is_down.store(true, Ordering::Relaxed);
/// assert!(journal.ping().await.is_err());
/// # }
/// ```
#[async_trait]
pub trait Hook<S: StoreKind>: Send + Sync + 'static {
    /// Answers the call; `next` makes it, or any other.
    ///
    /// # Cancel safety
    /// That of the code in it: the store actors never drop a call, code that calls a store itself may.
    async fn call(&self, call: S::Call, next: Next<S>) -> Result<S::Answer, StorageError>;
}

#[async_trait]
impl<S: StoreKind, H: Hook<S> + ?Sized> Hook<S> for Arc<H> {
    async fn call(&self, call: S::Call, next: Next<S>) -> Result<S::Answer, StorageError> {
        H::call(self, call, next).await
    }
}

/// The way from a hook to the store: the rules that come after it, and then the store itself.
pub struct Next<S: StoreKind> {
    store: Arc<S::Store>,
    /// The rules after the current one. The last one is met first; of each, those above a number.
    rest: Vec<(Rules<S>, u64)>,
}

impl<S: StoreKind> Next<S> {
    pub(crate) fn new(store: Arc<S::Store>) -> Self {
        let rest = Vec::new();
        Self { store, rest }
    }

    pub(crate) fn through(mut self, rules: Rules<S>) -> Self {
        self.rest.push((rules, 0));
        self
    }

    /// Lets a call go on to the rules that come after, and to the store.
    ///
    /// # Errors
    /// The error of the store or of a rule.
    ///
    /// # Cancel safety
    /// That of the store's method.
    pub async fn run(mut self, call: S::Call) -> Result<S::Answer, StorageError> {
        while let Some((rules, after)) = self.rest.pop() {
            if let Some((number, hook)) = rules.first_for(&call, after) {
                self.rest.push((rules, number));
                return hook.call(call, self).await;
            }
        }
        S::carry_out(self.store, call).await
    }

    /// Returns the store itself: no rule sees the calls of a hook that go there directly.
    pub fn store(&self) -> &Arc<S::Store> {
        &self.store
    }
}

impl<S: StoreKind> Clone for Next<S> {
    fn clone(&self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            rest: self.rest.clone(),
        }
    }
}

impl<S: StoreKind> fmt::Debug for Next<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Next").finish_non_exhaustive()
    }
}
