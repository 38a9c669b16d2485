//! The four kinds of stores, as far as they are the same to a rule.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use actix_persistence_storage_api::{Operation, PersistenceId, StorageError};

/// A kind of store that can be intercepted: [`Journals`](crate::Journals), [`SnapshotStores`](crate::SnapshotStores),
/// [`StateStores`](crate::StateStores) or [`OffsetStores`](crate::OffsetStores).
pub trait StoreKind: sealed::Sealed + Send + Sync + 'static {
    /// The trait object of such a store: `dyn Journal`, `dyn SnapshotStore`, `dyn StateStore` or `dyn OffsetStore`.
    type Store: ?Sized + Send + Sync + 'static;
    /// A call with its arguments.
    type Call: StoreCall;
    /// The answer to a call that succeeds.
    type Answer: Clone + Debug + Send + Sync + 'static;
    /// The capabilities that a store declares.
    type Capabilities: Clone + Send + Sync + 'static;

    /// Makes the call to the store.
    #[doc(hidden)]
    fn carry_out(store: Arc<Self::Store>, call: Self::Call) -> StoreFuture<Self::Answer>;

    /// Answers a call whose writes the store does not take.
    #[doc(hidden)]
    fn reject(call: &Self::Call, error: StorageError) -> Result<Self::Answer, StorageError> {
        let _ = call;
        Err(error)
    }
}

/// A call of a store: which method, and of which ids.
pub trait StoreCall: Clone + Debug + Send + Sync + 'static {
    /// Returns the operation that errors of this call name. A ping has that of its default implementation, `close` has
    /// [`Operation::Initialize`].
    fn operation(&self) -> Operation;

    /// The ids that the call is about, in order; none if it is about the whole store.
    fn persistence_ids(&self) -> Vec<&PersistenceId>;

    /// Returns whether this is a call of `ping`.
    fn is_ping(&self) -> bool;

    /// Returns whether this is a call of `close`, which cannot fail: an error given to it is dropped.
    fn is_close(&self) -> bool;
}

/// A call under way.
pub(crate) type StoreFuture<T> =
    Pin<Box<dyn Future<Output = Result<T, StorageError>> + Send + 'static>>;

pub(crate) mod sealed {
    //! Keeps other crates from adding kinds of stores.

    /// The seal of the trait, implemented for the four kinds.
    pub trait Sealed {}
}

/// Takes the value out of the variant that belongs to the call; panics if a test set another one.
macro_rules! expect_answer {
    ($answer:expr, unit $variant:path) => {
        match $answer {
            $variant => (),
            other => panic!(
                "{} is due here, a test gave {other:?}",
                stringify!($variant)
            ),
        }
    };
    ($answer:expr, $variant:path) => {
        match $answer {
            $variant(value) => value,
            other => panic!(
                "{} is due here, a test gave {other:?}",
                stringify!($variant)
            ),
        }
    };
}

pub(crate) use expect_answer;
