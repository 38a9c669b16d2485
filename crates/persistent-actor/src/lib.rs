#![doc = include_str!("../README.md")]

mod actor;
mod context;
mod metadata;
mod persisting;
mod publishing;
mod recovery;
mod replying;
mod snapshots;
mod stashing;

mod by_name;
mod driver;
mod environment;
mod room;
mod start;
mod stopping;
mod stores;
mod time_slice;

mod error;
mod schema;
mod serializer;
#[cfg(feature = "shape-lock")]
mod shape_lock;

pub use actor::{DurableState, Event, EventMeta, PersistentActor, State};
pub use context::{PersistentContext, Tagged};
pub use metadata::{InvalidMetadata, Metadata, Scoped};
pub use persisting::{ManyEvents, NoEvent, OneEvent, Persist, PersistFuture};
pub use publishing::{
    DeadLetter, DeadLetterCause, DeadLetters, Lagged, PublishedEvent, PublishedEvents, Subscription,
};
pub use recovery::{OnConflict, Recovery, RecoveryReplies, TakeOver, replay_actor, replay_events};
pub use replying::{Reply, ReplyTo};
pub use snapshots::{
    LoadSnapshotError, LoadedSnapshot, NoSnapshot, Retention, Snapshot, SnapshotOffer,
};
pub use stashing::{
    NamedStash, Overflow, OverflowContext, OverflowReplies, OverflowStrategy, StashPolicy,
};

pub use environment::{BackOffSettings, Environment, LiveIds, ReservedId};
pub use start::{start, start_in, start_when_stopped};
pub use stopping::{Drain, UnfinishedActor, UnfinishedWork};
pub use stores::{DeleteMessagesError, PluginIds, SaveSnapshotError, StoreResponse, Stores};

pub use error::{
    ErrorChain, FromPersistError, PersistError, RecoveryError, RejectionCause, ReplayIssue,
    ReplayIssueKind, ReserveError, StartError, UnknownStore,
};
pub use schema::{
    Chain, DecodedEvent, DecodedEvents, InvalidUpcasters, NoVersion, StateUpcasters, ToMany, ToOne,
    Upcasters, Versions, decode_state,
};
pub use serializer::{
    Compression, DEFAULT_COMPRESSION_MIN_BYTES, DEFAULT_EVENT_LIMIT, DEFAULT_SNAPSHOT_LIMIT,
    DEFAULT_STATE_LIMIT, DecodeError, EncodeError, EncodedPayload, Encoder,
    FIRST_APPLICATION_SERIALIZER_ID, FromPayload, HARD_PAYLOAD_LIMIT, ReadValue, SerdeFormat,
    Serializer, SerializerCollision, Serializers, Stored, ToPayload,
};
#[cfg(feature = "encryption")]
pub use serializer::{
    CurrentKey, EncryptionKey, FoundKey, InvalidKeyId, KeyId, KeyStore, Shredded,
};
#[cfg(feature = "shape-lock")]
pub use shape_lock::ShapeLock;

/// The crate of the types that a [`SerdeFormat`] gets.
pub use erased_serde;
