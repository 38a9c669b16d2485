//! Writes while the server ends connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use actix_persistence_storage_api::{Revision, StateStore, StorageErrorKind};
use futures_util::future::join_all;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::OnServer;

use super::{id, state};

const STORES: usize = 2;
const WRITERS: usize = 8;
/// The number of times that all connections are ended, each time after some more states were stored.
const ROUNDS: usize = 15;
const STATES_PER_ROUND: usize = 10;
/// The longest time of a round on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The state that the writers share.
struct Course {
    is_over: AtomicBool,
    stored: watch::Sender<usize>,
    errors: AtomicUsize,
}

/// Writers store one revision of their ids after the other while all their connections are ended again and again: what was
/// confirmed is there, what is reported as not stored is not, and no revision is left out.
///
/// # Panics
/// If it is otherwise, or if no write fails.
pub async fn errors_say_what_is_certain_when_the_server_ends_sessions(tables: &dyn OnServer) {
    let course = Arc::new(Course {
        is_over: AtomicBool::new(false),
        stored: watch::Sender::new(0),
        errors: AtomicUsize::new(0),
    });
    let mut stores = Vec::new();
    for _ in 0..STORES {
        stores.push(tables.open().await);
    }
    let writers = (0..WRITERS).map(|number| {
        let store = Arc::clone(&stores[number % STORES]);
        // Every second one stores groups, of which nothing may be there in part.
        let ids = 1 + number % 4 / 2 * 6;
        let names = (0..ids).map(|id| format!("writer {number}, id {id}"));
        tokio::spawn(write(store, names.collect(), Arc::clone(&course)))
    });
    let writers: Vec<_> = writers.collect();
    let mut stored = course.stored.subscribe();
    for _ in 0..ROUNDS {
        let enough = *stored.borrow() + STATES_PER_ROUND;
        let reached = timeout(PATIENCE, stored.wait_for(|stored| *stored >= enough)).await;
        let reached = reached.expect("the writers go on").is_ok();
        assert!(reached, "the writers are there");
        tables.end_sessions().await;
    }
    course.is_over.store(true, Ordering::Relaxed);
    for written in join_all(writers).await {
        let (names, known) = written.expect("no writer fails");
        // The last sessions that were ended may still be dying.
        let found = look(&*stores[0], &names).await;
        assert!(
            known.contains(&found),
            "{names:?}: {found} is not one of {known:?}"
        );
    }
    assert!(course.errors.load(Ordering::Relaxed) > 0, "no write failed");
}

/// Returns the ids, and the revisions that they may have: one, or two if the outcome of the last write is unknown.
async fn write(
    store: Arc<dyn StateStore>,
    names: Vec<String>,
    course: Arc<Course>,
) -> (Vec<String>, Vec<Revision>) {
    let (mut known, mut unknown) = (0, None);
    while !course.is_over.load(Ordering::Relaxed) {
        let next = known + 1;
        let group = names.iter().map(|name| state(name, next).into());
        let written = store.write_group(group.collect()).await;
        let written = written.and_then(|outcomes| outcomes.into_iter().collect::<Result<(), _>>());
        let Err(error) = written else {
            (known, unknown) = (next, None);
            course.stored.send_modify(|stored| *stored += 1);
            continue;
        };
        if let Some(conflict) = error.revision_conflict() {
            // The write of unknown outcome was stored after somebody had looked.
            assert_eq!(Some(conflict.found), unknown, "{error:?}");
        } else {
            assert_ne!(error.kind(), StorageErrorKind::Corrupt, "{error:?}");
            course.errors.fetch_add(1, Ordering::Relaxed);
            if !error.is_not_stored() {
                unknown = Some(next);
            }
        }
        let found = look(&*store, &names).await;
        assert!(
            found == known || Some(found) == unknown,
            "{found} after {known}, {error:?}"
        );
        if Some(found) == unknown {
            unknown = None;
        }
        known = found;
    }
    (names, std::iter::once(known).chain(unknown).collect())
}

/// Returns the stored revision, which is the same for all ids, as soon as it can be read.
async fn look(store: &dyn StateStore, names: &[String]) -> Revision {
    loop {
        let all = names.iter().map(async |name| store.get(&id(name)).await);
        let all: Result<Vec<_>, _> = join_all(all).await.into_iter().collect();
        let Ok(all) = all else { continue };
        let mut revisions: Vec<_> = all.iter().map(|current| current.revision).collect();
        revisions.dedup();
        match revisions.as_slice() {
            &[revision] => return revision,
            // A write of unknown outcome may be stored while they are read one by one.
            several => assert_eq!(several.len(), 2, "{several:?}"),
        }
    }
}
