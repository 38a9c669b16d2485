//! The health of live queries.

use std::time::Duration;

use actix_persistence_query::{EventQuery, QuerySettings};
use actix_persistence_storage_api::{BoundHolder, EventSelection, StorageErrorKind};
use futures_util::{StreamExt, poll};
use tokio::time::timeout;

use super::fixture::{id, said, take};
use super::partitioned::{Partitioned, on_paused_clock};

const INTERVAL: Duration = Duration::from_secs(10);
/// Longer than a page takes.
const MOMENT: Duration = Duration::from_millis(100);

fn journal() -> Partitioned {
    let settings = QuerySettings::default().with_refresh_interval(INTERVAL);
    Partitioned::new(1, None, settings)
}

async fn last_cycle(queries: &EventQuery) -> Option<Duration> {
    queries.health().await.unwrap().last_cycle
}

#[test]
fn the_last_cycle_is_that_of_a_live_query_behind_or_at_the_tail() {
    on_paused_clock(async {
        let journal = journal();
        assert_eq!(last_cycle(&journal.queries).await, None);
        journal.store(&id("a"), said(1, "word")).await;
        let mut live = journal.live(EventSelection::all());
        take(&mut live, 1).await;
        assert!(last_cycle(&journal.queries).await.unwrap() < MOMENT);
        // It waits at the tail, looks by the clock, and finds nothing.
        for _ in 0..5 {
            assert!(timeout(INTERVAL, live.next()).await.is_err());
            assert!(last_cycle(&journal.queries).await.unwrap() <= INTERVAL + MOMENT);
        }
        // No one pulls.
        tokio::time::sleep(5 * INTERVAL).await;
        assert!(last_cycle(&journal.queries).await.unwrap() >= 5 * INTERVAL);
    });
}

/// A reader that cannot read is not taken for one that has nothing to read.
#[test]
fn the_last_cycle_stays_where_it_is_while_the_database_is_away() {
    on_paused_clock(async {
        let journal = journal();
        let mut live = journal.live(EventSelection::all());
        assert!(timeout(MOMENT, live.next()).await.is_err());
        journal.journal.script().errors = vec![StorageErrorKind::Unavailable; 1_000];
        assert!(timeout(6 * INTERVAL, live.next()).await.is_err());
        assert!(last_cycle(&journal.queries).await.unwrap() > 5 * INTERVAL);
        assert!(poll!(live.next()).is_pending());
    });
}

#[test]
fn the_age_of_the_bound_is_that_of_its_oldest_holder() {
    on_paused_clock(async {
        let journal = journal();
        let health = journal.queries.health().await.unwrap();
        assert_eq!(health.held_back_by, Some(Vec::new()));
        assert_eq!(health.bound_age(), Duration::ZERO);
        let holder = |session: &str, secs| {
            BoundHolder::new(session)
                .aged(secs)
                .in_state(Some("idle".to_owned()))
        };
        let holders = vec![
            holder("1", None),
            holder("2", Some(Duration::from_secs(3))),
            holder("3", Some(Duration::from_secs(8))),
        ];
        journal.journal.script().holders = Some(holders.clone());
        let health = journal.queries.health().await.unwrap();
        assert_eq!(health.held_back_by, Some(holders));
        assert_eq!(health.bound_age(), Duration::from_secs(8));
    });
}

/// The last look is worth as much without them.
#[test]
fn a_user_that_may_not_see_the_holders_has_the_rest_of_the_health() {
    on_paused_clock(async {
        let journal = journal();
        let mut live = journal.live(EventSelection::all());
        assert!(timeout(MOMENT, live.next()).await.is_err());
        journal.journal.script().holders = None;
        let health = journal.queries.health().await.unwrap();
        assert_eq!(health.held_back_by, None);
        assert_eq!(health.bound_age(), Duration::ZERO);
        assert!(health.last_cycle.is_some());
        assert!(journal.queries.bound_holders().await.is_err());
    });
}
