//! Queries over the events that actors store.

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::query::{EventOffset, EventSelection, QueriesError, ReplayRange};
use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Added(u64);

impl Event for Added {
    const MANIFEST: &'static str = "test.added";
    const VERSION: u32 = 1;
}

struct Sum {
    name: &'static str,
    sum: u64,
}

impl Actor for Sum {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Sum {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Sum", self.name)
    }

    fn on_event(&mut self, event: &Added) {
        self.sum += event.0;
    }
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Add(u64);

impl Handler<Add> for Sum {
    type Result = Reply<Add>;

    fn handle(&mut self, Add(amount): Add, ctx: &mut Self::Context) -> Self::Result {
        let even = (amount % 2 == 0).then_some("even");
        ctx.tagged(even)
            .persist(Added(amount))
            .reply(|sum| Ok(sum.sum))
    }
}

#[actix::test]
async fn a_live_query_gets_each_event_that_actors_store_once_in_order() {
    let persistence = Persistence::memory().await.unwrap();
    let start = |name| persistence.start(move || Sum { name, sum: 0 }).unwrap();
    let (a, b) = (start("a"), start("b"));
    let queries = persistence.event_queries(None).unwrap();
    let mut live = queries.events::<Added>(EventSelection::all(), EventOffset::start());
    for amount in 1..=50 {
        for sum in [&a, &b] {
            sum.send(Add(amount)).await.unwrap().unwrap();
            let envelope = live.next().await.unwrap().unwrap();
            assert_eq!(envelope.sequence_nr, amount);
            assert_eq!(envelope.events.as_slice(), [Added(amount)]);
        }
    }
    // An offset that is kept as text goes on there.
    let kept = live.offset().to_string();
    b.send(Add(51)).await.unwrap().unwrap();
    let rest = queries.current_events::<Added>(EventSelection::all(), kept.parse().unwrap());
    let rest: Vec<_> = rest.try_collect().await.unwrap();
    assert_eq!(rest.len(), 1);
    let even = queries.current_events_by_tag::<Added>("even", EventOffset::start());
    assert_eq!(even.count().await, 50);
    let of_b =
        queries.current_events_of::<Added>(&rest[0].persistence_id, ReplayRange::new(50, 60));
    assert_eq!(of_b.count().await, 2);
    let error = persistence.event_queries(Some("other")).unwrap_err();
    assert!(matches!(error, QueriesError::UnknownStore(_)), "{error:?}");
}
