//! The turns of snapshots, which leave connections to the events.

use tokio::sync::{Semaphore, SemaphorePermit};

/// The size above which a snapshot has its turn alone: two that are large keep the server, and so events, as long as both take.
const LARGE_BYTES: usize = 64 * 1024;

/// Turns for at most half of the connections that write, but for one at least.
#[derive(Debug)]
pub(super) struct SnapshotTurns {
    turns: Semaphore,
    all: u32,
}

impl SnapshotTurns {
    /// Returns the turns where there are so many connections that write.
    pub(super) fn new(writers: usize) -> Self {
        let all = u32::try_from(writers / 2).unwrap_or(u32::MAX).max(1);
        Self {
            turns: Semaphore::new(all as usize),
            all,
        }
    }

    /// Waits, in order, for the turn of a snapshot of this size; it lasts as long as the permit lives.
    ///
    /// # Cancel safety
    /// A call that is dropped has left the line.
    pub(super) async fn take(&self, bytes: usize) -> SemaphorePermit<'_> {
        let number = if bytes > LARGE_BYTES { self.all } else { 1 };
        let turn = self.turns.acquire_many(number).await;
        turn.expect("the semaphore is never closed")
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;
    use futures_util::poll;

    use super::*;

    #[test]
    fn small_snapshots_have_half_of_the_connections() {
        for (writers, turns) in [(1, 1), (2, 1), (4, 2), (9, 4)] {
            let snapshots = SnapshotTurns::new(writers);
            let taken: Vec<_> = (0..turns)
                .map(|_| snapshots.take(LARGE_BYTES).now_or_never().unwrap())
                .collect();
            assert!(snapshots.take(1).now_or_never().is_none(), "{writers}");
            drop(taken);
            assert!(snapshots.take(1).now_or_never().is_some(), "{writers}");
        }
    }

    #[tokio::test]
    async fn a_large_snapshot_has_its_turn_alone_and_in_order() {
        let snapshots = SnapshotTurns::new(4);
        let small = snapshots.take(1).await;
        let mut large = pin!(snapshots.take(LARGE_BYTES + 1));
        assert!(poll!(&mut large).is_pending());
        let mut later = pin!(snapshots.take(1));
        assert!(poll!(&mut later).is_pending(), "it passes the large one");
        drop(small);
        let large = large.await;
        assert!(
            poll!(&mut later).is_pending(),
            "it goes beside the large one"
        );
        drop(large);
        drop(later.await);
    }
}
