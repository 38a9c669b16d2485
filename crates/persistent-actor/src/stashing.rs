//! Commands that wait inside an actor: their envelopes, the stashes, and the policy for those beyond the limit.

pub(crate) mod envelope;
mod named_stash;
pub(crate) mod stash;
mod stash_policy;

pub use named_stash::NamedStash;
pub use stash_policy::{Overflow, OverflowContext, OverflowReplies, OverflowStrategy, StashPolicy};
