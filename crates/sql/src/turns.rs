//! Turns for calls about one id that must not overtake each other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_persistence_storage_api::PersistenceId;
use tokio::sync::OwnedMutexGuard;

/// The calls of one id, in the order in which they came.
type Line = Arc<tokio::sync::Mutex<()>>;

/// Lets calls about one id run one after the other, in the order in which they came.
///
/// A call goes on after its caller went away. On another connection a later one could be faster, and the earlier would
/// undo it: a request whose asker has gone would take the id from the one that came after it.
///
/// Ids are kept only while calls about them run or wait.
#[derive(Debug, Default)]
pub(crate) struct Turns(Arc<Lines>);

#[derive(Debug, Default)]
struct Lines(Mutex<HashMap<PersistenceId, Line>>);

/// The turns of some ids, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    _places: Vec<Place>,
}

/// A place in the line of an id, or its turn.
#[derive(Debug)]
struct Place {
    id: PersistenceId,
    /// The handle of the line, dropped before the line is looked at.
    line: Option<Line>,
    turn: Option<OwnedMutexGuard<()>>,
    lines: Arc<Lines>,
}

impl Turns {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Waits for the turns of all ids, in one order, so that two calls never wait for each other.
    pub(crate) async fn take<'i>(&self, ids: impl Iterator<Item = &'i PersistenceId>) -> Turn {
        let mut ids: Vec<_> = ids.collect();
        ids.sort_unstable();
        ids.dedup();
        let mut places = Vec::with_capacity(ids.len());
        for id in ids {
            places.push(Place::wait(Arc::clone(&self.0), id).await);
        }
        Turn { _places: places }
    }
}

impl Place {
    async fn wait(lines: Arc<Lines>, id: &PersistenceId) -> Self {
        let line = Arc::clone(lines.lock().entry(id.clone()).or_default());
        // Leaves the line if it is dropped here.
        let mut place = Self {
            id: id.clone(),
            line: Some(Arc::clone(&line)),
            turn: None,
            lines,
        };
        place.turn = Some(line.lock_owned().await);
        place
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.turn = None;
        self.line = None;
        let mut lines = self.lines.lock();
        // Each that comes gets a share of the line under this lock.
        if lines
            .get(&self.id)
            .is_some_and(|line| Arc::strong_count(line) == 1)
        {
            lines.remove(&self.id);
        }
    }
}

impl Lines {
    fn lock(&self) -> MutexGuard<'_, HashMap<PersistenceId, Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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

    #[tokio::test]
    async fn ids_are_forgotten_when_nothing_of_them_runs_or_waits() {
        let turns = Turns::new();
        let [one, other] = ["1", "2"].map(|id| PersistenceId::of("Account", id));
        let first = turns.take([&one].into_iter()).await;
        {
            let waiting = turns.take([&one, &other].into_iter());
            let mut waiting = std::pin::pin!(waiting);
            assert!((&mut waiting).now_or_never().is_none());
            assert_eq!(turns.0.lock().len(), 1);
        }
        drop(turns.take([&other].into_iter()).await);
        assert_eq!(turns.0.lock().len(), 1);
        drop(first);
        assert!(turns.0.lock().is_empty());
    }
}
