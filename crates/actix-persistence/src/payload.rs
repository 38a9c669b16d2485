//! Payloads: their limits, their versions, and errors of reading and writing them.

pub use actix_persistence_persistent_actor::{
    DEFAULT_EVENT_LIMIT, DEFAULT_SNAPSHOT_LIMIT, DEFAULT_STATE_LIMIT, DecodeError, EncodeError,
    HARD_PAYLOAD_LIMIT, NoVersion, ToMany, ToOne, Versions, decode_state,
};
