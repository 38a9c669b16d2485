//! Commands that wait inside an actor: their envelopes, the stashes, and the policy for those beyond the limit.

pub(crate) mod envelope;
pub(crate) mod stash;
mod stash_policy;
mod user_stash;

pub use stash_policy::{FullStash, Overflow, OverflowReplies, OverflowStrategy, StashPolicy};
pub use user_stash::UserStash;
