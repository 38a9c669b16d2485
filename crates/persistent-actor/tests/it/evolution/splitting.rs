//! Stored events that are none or several today, and what is counted in stored events.

use actix_persistence_persistent_actor::{Recovery, replay_actor, replay_events};
use actix_persistence_storage_api::{
    Journal, PageLimit, ReplayRange, SnapshotCriteria, SnapshotStore,
};
use proptest::prelude::*;

use super::ledger::{Enter, Entered, Ledger, entered, id, json, save, store, with};
use crate::history::end;
use crate::tally::Log;
use crate::world::{World, run};

/// Two events in one, none, one that has no meaning any more, and one of today.
const EVENTS: [(&str, &str); 5] = [
    ("ledger.entered-at-once:v1", "[1,2]"),
    ("ledger.entered-at-once:v1", "[]"),
    ("ledger.entered:v1", "4"),
    ("ledger.looked-at:v7", "whatever"),
    ("ledger.entered-at-once:v1", "[8]"),
];

#[test]
fn all_that_is_made_of_a_stored_event_has_its_number() {
    run(|| async {
        let world = with(&EVENTS).await;
        let (entries, answer) = entered(&world, Ledger::new).await;
        assert_eq!(
            entries,
            [
                "1: 1",
                "1: 2",
                "3: 4",
                "5: 8",
                "recovered at 5",
                "6: 100 live"
            ]
        );
        assert_eq!(answer.unwrap(), (115, 6));
        let seen = replay_events(
            &world.environment,
            id(),
            ReplayRange::new(1, 5),
            Vec::new(),
            |seen, meta, event: Entered| seen.push((meta.sequence_nr, event.cents)),
        );
        assert_eq!(seen.await.unwrap(), [(1, 1), (1, 2), (3, 4), (5, 8)]);
    });
}

#[test]
fn a_stream_that_ends_with_retired_events_goes_on_after_them() {
    run(|| async {
        let retired = [("ledger.looked-at:v1", "{}"); 3];
        let world = with(&retired).await;
        let (entries, answer) = entered(&world, Ledger::new).await;
        assert_eq!(entries, ["recovered at 3", "4: 100 live"]);
        assert_eq!(answer.unwrap(), (100, 4));
    });
}

#[test]
fn a_snapshot_covers_all_that_is_made_of_the_event_at_its_number() {
    run(|| async {
        let world = with(&EVENTS).await;
        save(&world, 1, json("ledger.sum:v2", "3")).await;
        let (entries, _) = entered(&world, Ledger::new).await;
        assert_eq!(
            entries[..4],
            ["snapshot 1: 3", "3: 4", "5: 8", "recovered at 5"]
        );
        // One at the number of an event that is nothing today.
        save(&world, 4, json("ledger.sum:v2", "7")).await;
        let (entries, _) = entered(&world, Ledger::new).await;
        assert_eq!(entries[..3], ["snapshot 4: 7", "5: 8", "6: 100 live"]);
    });
}

#[test]
fn the_last_event_may_be_several_or_none() {
    run(|| async {
        let world = with(&EVENTS).await;
        for (to, expected, at) in [(1, 3, 1), (2, 0, 2), (4, 0, 4), (5, 8, 5)] {
            let recovery = Recovery::only_last_event().with_to_sequence_nr(to);
            let ledger = Ledger {
                recovery,
                ..Ledger::new(&Log::default())
            };
            let (ledger, last) = replay_actor(ledger, world.environment.clone())
                .await
                .unwrap();
            assert_eq!((ledger.cents, last), (expected, at));
        }
    });
}

/// Returns the numbers of the stored events, and of the youngest snapshot.
async fn kept(world: &World) -> (Vec<u64>, Option<u64>) {
    let (journal, id) = (world.storage.journal(), id());
    let page = journal.replay_messages(&id, ReplayRange::ALL, PageLimit::DEFAULT);
    let events = page.await.unwrap().events;
    let snapshots = world.storage.snapshot_store();
    let youngest = snapshots.load(&id, SnapshotCriteria::LATEST).await.unwrap();
    (
        events.iter().map(|event| event.sequence_nr).collect(),
        youngest.map(|snapshot| snapshot.metadata.sequence_nr),
    )
}

#[test]
fn retention_counts_stored_events_and_deletes_none_that_is_not_covered() {
    run(|| async {
        let world = with(&EVENTS).await;
        let log = Log::default();
        let shared = log.clone();
        let make = move || Ledger {
            retaining: Some(6),
            ..Ledger::new(&shared)
        };
        let ledger = world.start(make).unwrap();
        // The sixth stored event, though the actor has seen five.
        assert_eq!(ledger.send(Enter(100)).await.unwrap().unwrap(), (115, 6));
        end(&world, ledger).await;
        assert_eq!(kept(&world).await, (vec![], Some(6)));
        let (entries, answer) = entered(&world, Ledger::new).await;
        assert_eq!(
            entries,
            ["snapshot 6: 115", "recovered at 6", "7: 100 live"]
        );
        assert_eq!(answer.unwrap(), (215, 7));
    });
}

#[test]
fn a_panic_in_the_middle_of_a_stored_event_fails_the_recovery() {
    run(|| async {
        let events = [
            ("ledger.entered:v1", "1"),
            ("ledger.entered-at-once:v1", "[2,666,3]"),
        ];
        let world = with(&events).await;
        let (entries, answer) = entered(&world, Ledger::new).await;
        let told = "the actor of \"Ledger|1\" panicked in recovery after event 1: an amount that cannot be";
        assert_eq!(
            entries,
            ["1: 1", "2: 2", &format!("recovery failed: {told}")]
        );
        assert!(answer.unwrap_err().is_not_stored());
    });
}

/// The JSON of a stored event that enters these amounts.
fn stored(amounts: &Option<Vec<i64>>) -> (&'static str, String) {
    match amounts {
        None => ("ledger.looked-at:v1", String::new()),
        Some(amounts) => ("ledger.entered-at-once:v1", format!("{amounts:?}")),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn streams_of_any_length_come_back_page_by_page(
        amounts in prop::collection::vec(prop::option::weighted(0.8, prop::collection::vec(14_i64..99, 0..4)), 1..2_500),
    ) {
        run(move || async move {
            let world = World::new();
            let events = amounts.iter().map(stored).map(|(manifest, text)| json(manifest, &text));
            store(&world, events.collect()).await;
            let expected: Vec<_> = (1..)
                .zip(&amounts)
                .flat_map(|(nr, all)| all.iter().flatten().map(move |cents| (nr, *cents)))
                .collect();
            let seen = replay_events(
                &world.environment,
                id(),
                ReplayRange::ALL,
                Vec::new(),
                |seen, meta, event: Entered| seen.push((meta.sequence_nr, event.cents)),
            );
            assert_eq!(seen.await.unwrap(), expected);
            let sum: i64 = expected.iter().map(|(_, cents)| cents).sum();
            let next = amounts.len() as u64 + 1;
            let (_, answer) = entered(&world, Ledger::new).await;
            assert_eq!(answer.unwrap(), (sum + 100, next));
        });
    }
}
