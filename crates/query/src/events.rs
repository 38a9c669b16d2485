//! Queries over events.

mod envelope;
mod event_query;
mod event_stream;
mod following;
mod health;
mod many_ids;
mod offset_at;
mod one_id;
mod place;
mod tail;

pub use envelope::{EventEnvelope, RecordEnvelope, Undecodable};
pub use event_query::EventQuery;
pub use event_stream::{EventStream, EventStreamWithUndecodable, RecordStream};
pub use health::EventQueryHealth;
pub use place::EventPlace;
pub use tail::EventTail;
