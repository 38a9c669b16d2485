//! The section `internal-stash`: the number of messages that wait in an actor, and what happens to further ones.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use actix_persistence_persistent_actor::{
    Overflow, OverflowReplies, OverflowStrategy, StashPolicy,
};
use actix_persistence_storage_api::SectionReader;

use super::numbers::positive_count;

/// The code that the application has registered for the key `overflow` to choose.
#[derive(Clone, Default)]
pub(crate) struct OverflowChoices {
    /// The answers for the choice `reply`.
    pub(crate) replies: OverflowReplies,
    /// The strategies, by the name that chooses them.
    pub(crate) strategies: BTreeMap<String, Arc<dyn OverflowStrategy>>,
}

#[derive(Clone, Copy)]
enum Choice<'a> {
    Wait,
    Fail,
    Drop,
    Reply,
    Custom(&'a Arc<dyn OverflowStrategy>),
}

pub(super) fn read_stash_policy(
    persistence: &mut SectionReader<'_>,
    known: &OverflowChoices,
) -> StashPolicy {
    let Some(section) = persistence.section("internal-stash") else {
        return StashPolicy::default();
    };
    let mut reader = section.reader();
    let capacity = positive_count(&mut reader, "capacity", StashPolicy::DEFAULT_CAPACITY);
    let mut choices = vec![
        ("wait", Choice::Wait),
        ("fail", Choice::Fail),
        ("drop", Choice::Drop),
        ("reply", Choice::Reply),
    ];
    let custom = known
        .strategies
        .iter()
        .map(|(name, strategy)| (&**name, Choice::Custom(strategy)));
    choices.extend(custom);
    let choice = reader.choice_or("overflow", &choices, Choice::Drop);
    if matches!(choice, Choice::Reply) && known.replies.is_empty() {
        reader.reject(
            "overflow",
            "needs answers by type of message: register them with 'Builder::overflow_replies'",
        );
    }
    persistence.absorb(reader.finish());
    match choice {
        Choice::Wait => StashPolicy::new(capacity, Overflow::Wait),
        Choice::Fail => StashPolicy::new(capacity, Overflow::Fail),
        Choice::Drop => StashPolicy::new(capacity, Overflow::Drop),
        Choice::Reply => StashPolicy::new(capacity, Overflow::Reply(known.replies.clone())),
        Choice::Custom(strategy) => StashPolicy::custom(capacity, Arc::clone(strategy)),
    }
}

impl fmt::Debug for OverflowChoices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OverflowChoices")
            .field("replies", &self.replies)
            .field("strategies", &self.strategies.keys())
            .finish()
    }
}
