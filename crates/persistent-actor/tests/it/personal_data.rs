//! Events, snapshots and states that are encrypted with the key of a data subject, and recoveries without the key.

mod destroyed_keys;
mod diary;
mod encrypted_states;
mod keys;
mod storing;
