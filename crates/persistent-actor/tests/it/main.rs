//! What a persistent actor guarantees, on the memory plugin behind the real store actors.
#![allow(clippy::unwrap_used)]

mod actix_facts;
mod dead_letters;
mod deleting_messages;
mod failures;
mod faulty_stores;
mod foreign_journal;
mod fussy;
mod history;
mod lifecycle;
mod loading_snapshots;
mod logging;
mod model;
mod optional_snapshots;
mod persist_async;
mod persisting;
mod published_events;
mod read_only;
mod recovery;
mod recovery_options;
mod recovery_permits;
mod recovery_states;
mod recovery_timeouts;
mod replay_filter;
mod replying;
mod retaining_world;
mod retention;
mod retention_model;
mod scripted_journal;
mod scripted_snapshots;
mod snapshots;
mod stalling_journal;
mod stashing;
mod tally;
mod world;
