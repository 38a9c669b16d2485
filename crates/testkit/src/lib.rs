#![doc = include_str!("../README.md")]

mod intercepted;
mod journal;
mod offset_store;
mod snapshot_store;
mod state_store;
mod store_kind;
mod transaction;

mod hook;
mod on;
mod rules;

mod fault;
mod verdict;

mod held;
mod recorded;
mod script;

mod plugin;

pub use intercepted::Intercepted;
pub use journal::{GivenOnce, JournalAnswer, JournalCall, Journals};
pub use offset_store::{OffsetAnswer, OffsetCall, OffsetStores};
pub use snapshot_store::{SnapshotAnswer, SnapshotCall, SnapshotStores};
pub use state_store::{StateAnswer, StateCall, StateStores};
pub use store_kind::{StoreCall, StoreKind};
pub use transaction::Transaction;

pub use hook::{Hook, Next};
pub use on::{On, Operations};
pub use rules::{Rule, Rules};

pub use fault::Fault;
pub use verdict::Verdict;

pub use held::{Held, HeldCall};
pub use recorded::Recorded;
pub use script::Script;

pub use plugin::InterceptedPlugin;
