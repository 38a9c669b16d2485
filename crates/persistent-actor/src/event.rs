//! What an actor persists.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Serializer;

/// A fact that a persistent actor stores and that makes its state when replayed.
///
/// The manifest is what stands in the store beside every event, so it must stay the same when the Rust type is
/// renamed or moved. Raise the version when the encoded form changes in a way that older programs cannot read:
/// a program refuses to replay events of a version above its own.
///
/// Events are data: they may be [published](crate::PublishedEvents) to readers on other threads.
///
/// ```
/// use actix_persistence_persistent_actor::Event;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// enum AccountEvent {
///     Deposited { cents: u64 },
///     Withdrawn { cents: u64 },
/// }
///
/// impl Event for AccountEvent {
///     const MANIFEST: &'static str = "bank.account";
///     const VERSION: u32 = 1;
/// }
/// ```
pub trait Event: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The stable name of this type in every store; not a Rust type name. It has no NUL, and at most 243 bytes, so that the
    /// version fits behind it whatever it is: a longer one may not compile.
    const MANIFEST: &'static str;
    /// The version of the encoded form, from 1.
    const VERSION: u32;
    /// How to encode; `None` leaves it to the journal's setting `serializer`. What was stored decides when reading.
    const SERIALIZER: Option<Serializer> = None;
}
