//! Queries over durable states, while their actors change them.

use std::collections::BTreeMap;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::query::{Changed, QueriesError, StateOffset, slice_ranges};
use futures_util::stream::select_all;
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

const COUNTERS: usize = 10;
const UPDATES: u64 = 100;

/// Counts, and forgets its count when it is told to.
struct Counter {
    number: usize,
    count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Count(u64);

impl State for Count {
    const MANIFEST: &'static str = "counter";
    const VERSION: u32 = 1;
}

impl Actor for Counter {
    type Context = PersistentContext<Self>;
}

impl DurableState for Counter {
    type State = Count;

    fn persistence_id(&self) -> PersistenceId {
        id(self.number)
    }

    fn on_state(&mut self, state: Option<&Count>) {
        self.count = state.map_or(0, |count| count.0);
    }
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Increment;

impl Handler<Increment> for Counter {
    type Result = Reply<Increment>;

    fn handle(&mut self, _: Increment, ctx: &mut Self::Context) -> Self::Result {
        ctx.persist(Count(self.count + 1))
            .reply(|counter| Ok(counter.count))
    }
}

fn id(number: usize) -> PersistenceId {
    PersistenceId::of("Counter", &number.to_string())
}

fn start(persistence: &Persistence, number: usize) -> Addr<Counter> {
    let counter = move || Counter { number, count: 0 };
    persistence.start(counter).unwrap()
}

async fn increment_all(persistence: &Persistence) {
    let counters: Vec<_> = (0..COUNTERS)
        .map(|number| start(persistence, number))
        .collect();
    for _ in 0..UPDATES {
        let increments = counters.iter().map(|counter| counter.send(Increment));
        for count in futures_util::future::join_all(increments).await {
            count.unwrap().unwrap();
        }
    }
}

/// Reads until every counter was given its last count.
async fn read_all(persistence: &Persistence) {
    let queries = persistence.state_queries(None).unwrap();
    // Shared out as between several readers.
    let ranges = slice_ranges(4).unwrap().into_iter();
    let mut changes =
        select_all(ranges.map(|slices| {
            queries.changes_by_slices::<Count>("Counter", slices, StateOffset::start())
        }));
    let mut last: BTreeMap<PersistenceId, u64> = BTreeMap::new();
    while last.len() < COUNTERS || last.values().any(|count| *count < UPDATES) {
        let change = changes.next().await.unwrap().unwrap();
        let Changed::Updated(updated) = change else {
            panic!("nothing was deleted: {change:?}")
        };
        assert_eq!(updated.state, Count(updated.revision));
        let before = last.insert(updated.persistence_id.clone(), updated.revision);
        assert!(
            before < Some(updated.revision),
            "{updated:?} after {before:?}"
        );
    }
}

async fn every_last_state_is_seen(persistence: Persistence) {
    futures_util::join!(increment_all(&persistence), read_all(&persistence));
    let queries = persistence.state_queries(None).unwrap();
    let ids: Vec<_> = queries
        .current_persistence_ids_of("Counter")
        .try_collect()
        .await
        .unwrap();
    assert_eq!(ids, (0..COUNTERS).map(id).collect::<Vec<_>>());
}

#[actix::test]
async fn a_live_query_in_memory_sees_every_last_state_while_actors_store() {
    every_last_state_is_seen(Persistence::memory().await.unwrap()).await;
}

#[actix::test]
async fn a_live_query_in_sqlite_sees_every_last_state_while_actors_store() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("counters.db");
    every_last_state_is_seen(Persistence::sqlite(&file).await.unwrap()).await;
}

#[actix::test]
async fn queries_of_a_store_that_is_not_there_are_refused_by_name() {
    let persistence = Persistence::memory().await.unwrap();
    let error = persistence.state_queries(Some("archive")).unwrap_err();
    assert!(matches!(error, QueriesError::UnknownStore(_)), "{error:?}");
    assert!(error.to_string().contains("archive"), "{error}");
}
