//! Turns for calls about one id that must not overtake each other.

use std::sync::Arc;

use actix_persistence_storage_api::PersistenceId;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Some ids share a turn; that costs a wait now and then, and memory does not grow with ids.
const SHARES: usize = 1_024;

/// Lets calls about one id run one after the other, in the order in which they came.
///
/// A call goes on after its caller went away. On another connection a later one could be faster, and the earlier would
/// undo it: a recovery whose asker has gone would take the id from the one that came after it.
#[derive(Debug)]
pub(crate) struct Turns(Box<[Arc<Mutex<()>>]>);

/// The turns of some ids, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _guards: Vec<OwnedMutexGuard<()>>,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self((0..SHARES).map(|_| Arc::default()).collect())
    }

    /// Waits for the turns of all ids, in one order, so that two calls never wait for each other.
    pub(crate) async fn take<'i>(&self, ids: impl Iterator<Item = &'i PersistenceId>) -> Turn {
        let mut shares: Vec<usize> = ids.map(|id| usize::from(id.slice()) % SHARES).collect();
        shares.sort_unstable();
        shares.dedup();
        let mut guards = Vec::with_capacity(shares.len());
        for share in shares {
            guards.push(Arc::clone(&self.0[share]).lock_owned().await);
        }
        Turn { _guards: guards }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn calls_of_an_id_come_one_after_the_other_and_others_pass() {
        let turns = Turns::new();
        let [one, other] = ["1", "2"].map(|id| PersistenceId::of("Account", id));
        let first = turns.take([&one].into_iter()).await;
        let second = turns.take([&other, &one].into_iter());
        let mut second = std::pin::pin!(second);
        assert!((&mut second).now_or_never().is_none());
        drop(first);
        drop(second.await);
        assert!(
            turns
                .take([&one, &one].into_iter())
                .now_or_never()
                .is_some()
        );
    }
}
