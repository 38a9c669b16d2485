//! The trait of the events that an actor persists.

#[cfg(feature = "encryption")]
use std::borrow::Cow;

use actix_persistence_storage_api::{SequenceNr, Timestamp};

#[cfg(feature = "encryption")]
use crate::Shredded;
use crate::{Compression, FromPayload, Metadata, Serializer, ToPayload, Upcasters};

/// A fact that a persistent actor stores and that makes its state when replayed.
///
/// The manifest is what stands in the store beside every event, so it must stay the same when the Rust type is
/// renamed or moved. Raise the version when the encoded form changes in a way that older programs cannot read:
/// a program refuses to replay events of a version above its own. What was stored before is read as
/// [`upcasters`](Self::upcasters) says.
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
pub trait Event: ToPayload + FromPayload + Send + Sync + 'static {
    /// The stable name of this type in every store; not a Rust type name. It has no NUL, and at most 243 bytes, so that with
    /// its version it fits into the 255 of a [manifest](actix_persistence_storage_api::Payload::manifest) whatever that is: a
    /// longer one may not compile.
    const MANIFEST: &'static str;
    /// The version of the encoded form, from 1.
    const VERSION: u32;
    /// The format that encodes it, if it is a type of serde; `None` leaves it to the setting `serializer` of the journal; for
    /// an event [of a change](crate::PersistentContext::persist_with_event), to that of the state store. For reading, the
    /// stored event decides.
    const SERIALIZER: Option<Serializer> = None;
    /// The compression of what is stored; `None` leaves it to the setting `compression` of the journal, or of the
    /// state store, as for [`SERIALIZER`](Self::SERIALIZER).
    const COMPRESSION: Option<Compression> = None;

    /// Returns the forms in which events of this type were stored before, and how each becomes today's: necessary as soon
    /// as `VERSION` is above 1. The result is kept as long as the process lives.
    fn upcasters() -> Upcasters<Self> {
        Upcasters::new()
    }

    /// Returns the data subject, such as the number of a customer, whose personal data it holds: it is encrypted with the
    /// key that the [`KeyStore`](crate::KeyStore) has for the subject. `None` stores it in plain.
    ///
    /// Only the encoded value is encrypted: not the persistence id, the manifest, tags or metadata, nor what the
    /// application stores beside it.
    #[cfg(feature = "encryption")]
    fn data_subject(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns what takes the place of a stored one whose key was destroyed; `None`, as unless implemented otherwise,
    /// makes the recovery fail.
    #[cfg(feature = "encryption")]
    fn shredded(what: &Shredded<'_>) -> Option<Self> {
        let _ = what;
        None
    }
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
