//! Queries over durable states.

mod changed;
mod changes;
mod durable_state_query;
mod offset_at;

pub use changed::{Changed, Deleted, Updated};
pub use changes::ChangesStream;
pub use durable_state_query::DurableStateQuery;
