//! The stash: commands that wait, their largest number, and what happens to one too many.

pub use actix_persistence_persistent_actor::{
    NamedStash, Overflow, OverflowContext, OverflowReplies, OverflowStrategy, StashPolicy,
};
