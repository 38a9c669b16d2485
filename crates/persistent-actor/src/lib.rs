#![doc = include_str!("../README.md")]

mod conflict_log;
mod context;
mod dead_letters;
mod durable_state;
mod envelope;
mod event;
mod load_snapshot;
mod notifications;
mod persist;
mod persist_future;
mod persistent_actor;
mod published_events;
mod recovery;
mod recovery_replies;
mod reply;
mod reply_to;
mod retention;
mod snapshot;
mod stash;
mod stash_policy;
mod state;
mod store_response;
mod stored_as;
mod stored_state;
mod user_stash;

mod drain;
mod drain_signal;
mod driver;
mod environment;
mod live_ids;
mod plugin_ids;
mod read_only;
mod start;
mod stores;
mod take_over;
mod time_slice;
mod unfinished_actor;

mod error_chain;
mod panics;
mod patience;
mod persist_error;
mod recovery_error;
mod replay_issue;
mod serializer;

#[cfg(test)]
mod bare;

pub use context::PersistentContext;
pub use dead_letters::{DeadLetter, DeadLetterCause, DeadLetters};
pub use durable_state::DurableState;
pub use event::{Event, EventMeta};
pub use load_snapshot::{LoadSnapshotError, LoadedSnapshot};
pub use notifications::{Missed, Subscription};
pub use persist::{ManyEvents, NoEvent, OneEvent, Persist};
pub use persist_future::PersistFuture;
pub use persistent_actor::PersistentActor;
pub use published_events::{PublishedEvent, PublishedEvents};
pub use recovery::Recovery;
pub use recovery_replies::RecoveryReplies;
pub use reply::Reply;
pub use reply_to::ReplyTo;
pub use retention::Retention;
pub use snapshot::{NoSnapshot, Snapshot, SnapshotOffer};
pub use stash_policy::{FullStash, Overflow, OverflowReplies, OverflowStrategy, StashPolicy};
pub use state::State;
pub use store_response::{DeleteMessagesError, SaveSnapshotError, StoreResponse};
pub use stored_state::{StoredState, decode_state};
pub use user_stash::UserStash;

pub use drain::Drain;
pub use environment::{BackOffSettings, Environment};
pub use live_ids::{LiveIds, ReservedId};
pub use plugin_ids::PluginIds;
pub use read_only::{replay_actor, replay_events};
pub use start::{StartError, start, start_in, start_when_stopped};
pub use stores::Stores;
pub use take_over::{OnConflict, TakeOver};
pub use unfinished_actor::{UnfinishedActor, UnfinishedWork};

pub use error_chain::ErrorChain;
pub use persist_error::{FromPersistError, PersistError, RejectionCause};
pub use recovery_error::RecoveryError;
pub use replay_issue::{ReplayIssue, ReplayIssueKind};
pub use serializer::{
    DEFAULT_EVENT_LIMIT, DEFAULT_SNAPSHOT_LIMIT, DEFAULT_STATE_LIMIT, DecodeError, EncodeError,
    HARD_PAYLOAD_LIMIT, Serializer,
};
