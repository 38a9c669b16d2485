//! Bugs of other projections, which are none of ours; docs/RELIABILITY.md has the list.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use actix_persistence::prelude::*;
use actix_persistence::projection::{AtLeastOnceHandler, ExtensionError, Projection};
use actix_persistence::query::{EventEnvelope, EventSelection};
use actix_persistence::storage_api::{NUMBER_OF_SLICES, Operation, StorageErrorKind};
use actix_persistence_testkit::Fault;
use async_trait::async_trait;
use sqlx::{Connection, SqliteConnection};
use tokio::sync::Semaphore;

use crate::projections::{Added, LONG, Place, add, newest, start, sum};
use crate::revived_projections::plugin;

/// The trouble that a handler makes.
type Trouble = Box<dyn Fn(&EventEnvelope<Added>) -> Result<(), ExtensionError> + Send + Sync>;

/// Notes what it has handled, unless there is trouble.
struct Noting {
    trouble: Trouble,
    handled: Mutex<Vec<(String, u64)>>,
}

impl Noting {
    fn with(
        trouble: impl Fn(&EventEnvelope<Added>) -> Result<(), ExtensionError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            trouble: Box::new(trouble),
            handled: Mutex::default(),
        })
    }

    fn handled(&self) -> Vec<(String, u64)> {
        self.handled.lock().unwrap().clone()
    }
}

/// A handler that the test looks at.
struct Shared(Arc<Noting>);

#[async_trait]
impl AtLeastOnceHandler<EventEnvelope<Added>> for Shared {
    async fn handle(&self, item: &EventEnvelope<Added>) -> Result<(), ExtensionError> {
        // Those of other ids come meanwhile.
        tokio::task::yield_now().await;
        (self.0.trouble)(item)?;
        let item = (item.persistence_id.to_string(), item.sequence_nr);
        self.0.handled.lock().unwrap().push(item);
        Ok(())
    }
}

/// A handler that handles as many events as the test lets it.
struct Let(Arc<Semaphore>);

#[async_trait]
impl AtLeastOnceHandler<EventEnvelope<Added>> for Let {
    async fn handle(&self, _: &EventEnvelope<Added>) -> Result<(), ExtensionError> {
        self.0.acquire().await?.forget();
        Ok(())
    }
}

fn noted(persistence: &Persistence, noting: &Arc<Noting>) -> Projection {
    handled_by(persistence, Shared(Arc::clone(noting)))
}

fn handled_by(
    persistence: &Persistence,
    handler: impl AtLeastOnceHandler<EventEnvelope<Added>>,
) -> Projection {
    let new = persistence.projection("noted");
    let new = new.of_events::<Added>(None, EventSelection::all().of_entity_type("Sum"));
    let new = new.unwrap().with(|settings| {
        settings.min_back_off = Duration::from_millis(1);
        settings.max_back_off = Duration::from_millis(5);
        settings.lease = Duration::from_millis(400);
        settings.concurrency = 4;
        settings.group_size = 10;
        settings.max_attempts = 1_000;
    });
    new.at_least_once(handler).unwrap()
}

async fn until(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.unwrap();
}

/// A daemon of others died after a short outage, and its health was good: it measured its lag against a mark that stood.
#[actix::test]
async fn a_projection_outlives_an_outage_and_is_not_healthy_meanwhile() {
    let place = Place::new("sqlite", "outage");
    let plugin = plugin("sqlite");
    let persistence = place.open_with(plugin.clone()).await;
    let noting = Noting::with(|_| Ok(()));
    let projection = noted(&persistence, &noting);
    add(&persistence, 2, 1..=3).await;
    let end = newest(&persistence).await;
    projection.applied(&end, LONG).await.unwrap();
    assert!(projection.status().is_healthy(LONG));

    let outage = plugin.offset_stores().on_every_call();
    let outage = outage.fail(Fault::new(StorageErrorKind::Unavailable));
    let short = Duration::from_millis(500);
    until(|| !projection.status().is_healthy(short)).await;
    assert!(projection.status().error.is_some());
    add(&persistence, 2, 4..=5).await;
    outage.end();
    let end = newest(&persistence).await;
    projection.applied(&end, LONG).await.unwrap();
    until(|| projection.status().error.is_none() && projection.status().is_healthy(LONG)).await;
    let handled: HashSet<_> = noting.handled().into_iter().collect();
    assert_eq!(handled.len(), 10);
    assert!(persistence.stop(LONG).await.is_complete());
}

/// A supervisor of others restarted a rebuild for ever, because it was behind.
#[actix::test]
async fn a_projection_that_is_far_behind_and_advances_is_healthy() {
    let persistence = Persistence::memory().await.unwrap();
    add(&persistence, 10, 1..=40).await;
    let end = newest(&persistence).await;
    let permits = Arc::new(Semaphore::new(0));
    let projection = handled_by(&persistence, Let(Arc::clone(&permits)));
    until(|| projection.status().since_last_look.is_some()).await;
    let mut looks = 0;
    while projection.applied(&end, Duration::ZERO).await.is_err() {
        let status = projection.status();
        assert!(status.is_healthy(LONG), "{status:?}");
        looks += 1;
        permits.add_permits(1);
    }
    assert!(looks >= 400, "after {looks} looks it was at the end");
    assert!(persistence.stop(LONG).await.is_complete());
}

/// Others skipped an event that failed, or acknowledged those after it, when ids were handled at the same time.
#[actix::test]
async fn an_event_that_fails_is_not_passed_by_later_ones_of_its_id() {
    let persistence = Persistence::memory().await.unwrap();
    add(&persistence, 4, 1..=8).await;
    let failures = AtomicUsize::new(0);
    let noting = Noting::with(move |item| {
        let is_it = item.persistence_id.as_str() == "Sum|1" && item.sequence_nr == 3;
        if is_it && failures.fetch_add(1, Ordering::SeqCst) < 3 {
            return Err("not yet".into());
        }
        Ok(())
    });
    let projection = noted(&persistence, &noting);
    let end = newest(&persistence).await;
    projection.applied(&end, LONG).await.unwrap();
    let mut last: HashMap<String, u64> = HashMap::new();
    for (id, number) in noting.handled() {
        let last = last.entry(id.clone()).or_default();
        assert!(number <= *last + 1, "{id} has {number} after {last}");
        *last = number.max(*last);
    }
    assert_eq!(last.len(), 4);
    assert!(last.values().all(|last| *last == 8), "{last:?}");
    assert!(persistence.stop(LONG).await.is_complete());
}

/// Instances of others that had other numbers than the rest crashed on each tick, and a part was never read.
#[actix::test]
async fn processes_with_other_numbers_of_shares_follow_the_stored_plan() {
    let place = Place::new("sqlite", "plan");
    let (first, second) = (place.open().await, place.open().await);
    place.make_tables(&first).await;
    let model = place.read_model();
    let one = start(&first, &model, |settings| settings.shares = 3);
    let other = start(&second, &model, |settings| settings.shares = 7);
    add(&first, 30, 1..=4).await;
    let end = newest(&first).await;
    one.applied(&end, LONG).await.unwrap();
    let record = other.record().await.unwrap().unwrap();
    assert!([3, 7].contains(&record.shares.len()), "{record:?}");
    let slices = record.shares.iter().map(|share| share.progress.slices());
    let slices: Vec<u16> = slices.flatten().collect();
    assert_eq!(slices, (0..NUMBER_OF_SLICES).collect::<Vec<_>>());
    assert_eq!(place.found(&first).await, (120, 120, 300));
    for persistence in [first, second] {
        assert!(persistence.stop(LONG).await.is_complete());
    }
}

/// A listener of others ended at its first error, and no one noticed.
#[actix::test]
async fn a_runner_ends_at_no_failure_and_shows_each() {
    let place = Place::new("sqlite", "failures");
    let plugin = plugin("sqlite");
    let persistence = place.open_with(plugin.clone()).await;
    let (kind, failing) = (Arc::new(AtomicUsize::new(0)), 2..=3);
    let noting = Noting::with({
        let kind = Arc::clone(&kind);
        move |_| match kind.load(Ordering::SeqCst) {
            2 => Err("the handler refused".into()),
            3 => panic!("the handler gave up"),
            _ => Ok(()),
        }
    });
    let projection = noted(&persistence, &noting);
    let shows = |text: &str| {
        let status = projection.status();
        let mut errors = status
            .shares
            .values()
            .filter_map(|share| share.error.clone());
        errors.any(|error| error.contains(text))
    };
    let offsets = plugin.offset_stores();
    let mut amount = 0;
    for trouble in 0..=4 {
        let rule =
            match trouble {
                0 => Some(offsets.on(Operation::CommitProgress).fail(
                    Fault::new(StorageErrorKind::Unavailable).with_message("the store is away"),
                )),
                1 => Some(offsets.on(Operation::CommitProgress).store_but_fail(
                    Fault::new(StorageErrorKind::Timeout).with_message("the reply is lost"),
                )),
                4 => Some(plugin.journals().on(Operation::QueryEvents).fail(
                    Fault::new(StorageErrorKind::Corrupt).with_message("the event is damaged"),
                )),
                _ => None,
            };
        kind.store(trouble, Ordering::SeqCst);
        amount += 1;
        add(&persistence, 1, amount..=amount).await;
        let text = match trouble {
            0 => "the store is away",
            2 => "the handler refused",
            3 => "the handler gave up",
            4 => "the event is damaged",
            _ => "",
        };
        if !text.is_empty() {
            until(|| shows(text)).await;
        }
        assert!(rule.is_some() || failing.contains(&trouble));
        if let Some(rule) = rule {
            until(|| rule.met() > 0).await;
            rule.end();
        }
        kind.store(0, Ordering::SeqCst);
        let end = newest(&persistence).await;
        projection.applied(&end, LONG).await.unwrap();
    }
    assert!(persistence.stop(LONG).await.is_complete());
}

/// The first event after a pause came late to readers of others, although they were told of it.
#[actix::test]
async fn the_first_event_after_a_pause_comes_without_a_look() {
    let place = Place::new("sqlite", "idle");
    let interval = "persistence.journal.test.query.refresh-interval";
    let config = place.config().with(interval, "1h");
    let persistence = Persistence::open(config).await.unwrap();
    let noting = Noting::with(|_| Ok(()));
    let projection = noted(&persistence, &noting);
    for amount in 1..=3 {
        add(&persistence, 1, amount..=amount).await;
        until(|| noting.handled().len() == amount as usize).await;
        let end = newest(&persistence).await;
        projection.applied(&end, LONG).await.unwrap();
    }
    assert!(persistence.stop(LONG).await.is_complete());
}

/// Gaps were guessed at by others: events were skipped, and a gap of thirty million took all memory.
#[actix::test]
async fn a_gap_of_thirty_million_numbers_costs_no_page() {
    let place = Place::new("sqlite", "gap");
    let plugin = plugin("sqlite");
    let persistence = place.open_with(plugin.clone()).await;
    add(&persistence, 1, 1..=1).await;
    let mut connection = SqliteConnection::connect(place.url()).await.unwrap();
    let gap = "UPDATE sqlite_sequence SET seq = seq + 30000000";
    sqlx::query(gap).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    // Both actors have numbers after the gap.
    let sums = [sum(&persistence, 1), sum(&persistence, 2)];
    for sum in &sums {
        sum.send(crate::projections::Add(1)).await.unwrap().unwrap();
    }
    let pages = plugin.journals().on(Operation::QueryEvents).record();
    let end = newest(&persistence).await;
    let mut places = end.positions().map(|(_, place)| place.ordering);
    assert!(places.all(|place| place > 30_000_000), "{end:?}");
    let calls = pages.calls().len();
    assert!(calls <= 4, "{calls} calls");
    let noting = Noting::with(|_| Ok(()));
    let projection = noted(&persistence, &noting);
    until(|| noting.handled().len() == 3).await;
    projection.stop().await;
    assert!(persistence.stop(LONG).await.is_complete());
}
