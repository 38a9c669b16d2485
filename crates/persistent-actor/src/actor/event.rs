//! The trait of the events that an actor persists.

use actix_persistence_storage_api::{SequenceNr, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Metadata, Serializer};

/// A fact that a persistent actor stores and that makes its state when replayed.
///
/// The manifest is what stands in the store beside every event, so it must stay the same when the Rust type is
/// renamed or moved. Raise the version when the encoded form changes in a way that older programs cannot read:
/// a program refuses to replay events of a version above its own.
///
/// An event that is stored can be read again: a value that decoding would refuse is
/// [rejected](crate::EncodeError::Serializer) when it is persisted, such as one that is nested too deeply. The type has
/// to do its part: it decodes what it encodes.
///
/// Events are data: they may be [published](crate::PublishedEvents) to readers on other threads. A number or a text becomes
/// an event in a struct of its own, `struct Added(i64)`: that is encoded as the number alone.
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an `Event` nor a `State`",
    label = "cannot be persisted",
    note = "events: derive `Serialize` and `Deserialize`, and `impl Event` with a `MANIFEST` and a `VERSION`; the state of a `DurableState`: the same with `impl State`",
    note = "a number or a text goes into a struct of its own, as `struct Added(i64)`"
)]
pub trait Event: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The stable name of this type in every store; not a Rust type name. It has no NUL, and at most 243 bytes, so that with
    /// its version it fits into the 255 of a [manifest](actix_persistence_storage_api::Payload::manifest) whatever that is: a
    /// longer one may not compile.
    const MANIFEST: &'static str;
    /// The version of the encoded form, from 1.
    const VERSION: u32;
    /// The serializer that encodes it; `None` leaves it to the journal's setting `serializer`. For reading, the stored
    /// event decides.
    const SERIALIZER: Option<Serializer> = None;
}

/// The data that is stored with an event, for [`on_event_at`](crate::PersistentActor::on_event_at) and for those who
/// read events.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventMeta {
    /// The sequence number of the event, from 1.
    pub sequence_nr: SequenceNr,
    /// The time at which the event was sent to its journal, by the clock of the process that sent it.
    pub timestamp: Timestamp,
    /// The metadata of the command that led to the event; empty if it had none, or the journal keeps none.
    pub metadata: Metadata,
    /// True if the event was read from the store, in a recovery or a replay; false if it was just persisted.
    pub replayed: bool,
}
