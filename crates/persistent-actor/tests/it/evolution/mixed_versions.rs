//! One stream with events of all versions.

use actix_persistence_persistent_actor::{Recovery, Serializer, replay_actor, replay_events};
use actix_persistence_storage_api::{Payload, ReplayRange};

use super::ledger::{Entered, Ledger, entered, id, json, store, with};
use crate::tally::Log;
use crate::world::{World, run};

/// An event of each form, each of which enters its number.
const ALL: [(&str, &str); 6] = [
    ("entered:v1", "1"),
    ("entered:v2", r#"{"amount":2}"#),
    ("ledger.entered:v1", "3"),
    ("ledger.entered:v2", r#"{"amount":4}"#),
    ("ledger.entered:v3", r#"{"cents":5}"#),
    ("ledger.entered:v4", r#"{"cents":6,"text":" today"}"#),
];

#[test]
fn events_of_all_versions_are_replayed_in_order() {
    run(|| async {
        let world = with(&ALL).await;
        let (entries, answer) = entered(&world, Ledger::new).await;
        assert_eq!(
            entries,
            [
                "1: 1",
                "2: 2",
                "3: 3",
                "4: 4",
                "5: 5",
                "6: 6 today",
                "recovered at 6",
                "7: 100 live"
            ]
        );
        assert_eq!(answer.unwrap(), (121, 7));
    });
}

#[test]
fn readers_see_the_events_that_the_actor_sees() {
    run(|| async {
        let world = with(&ALL).await;
        let replayed = replay_actor(Ledger::new(&Log::default()), world.environment.clone());
        let (ledger, last) = replayed.await.unwrap();
        assert_eq!((ledger.cents, last), (21, 6));
        let seen = replay_events(
            &world.environment,
            id(),
            ReplayRange::ALL,
            Vec::new(),
            |seen, meta, event: Entered| seen.push((meta.sequence_nr, event.cents)),
        );
        let expected: Vec<_> = (1..=6).map(|n| (n, n as i64)).collect();
        assert_eq!(seen.await.unwrap(), expected);
    });
}

#[test]
fn each_version_is_decoded_by_the_serializer_that_wrote_it() {
    run(|| async {
        let world = World::new();
        assert_eq!(world.environment.event_serializer, Serializer::MessagePack);
        let message_pack =
            |manifest, value| Payload::new(1, manifest, rmp_serde::to_vec_named(&value).unwrap());
        let payloads = vec![
            message_pack("ledger.entered:v1", 1),
            json("ledger.entered:v1", "2"),
            message_pack("entered:v1", 3),
        ];
        store(&world, payloads).await;
        let (entries, _) = entered(&world, Ledger::new).await;
        assert_eq!(entries[..3], ["1: 1", "2: 2", "3: 3"]);
    });
}

#[test]
fn what_an_actor_asks_for_is_counted_in_stored_events() {
    run(|| async {
        let world = with(&ALL).await;
        for (recovery, expected) in [
            (
                Recovery::default().with_to_sequence_nr(2),
                vec![(1, 1), (2, 2)],
            ),
            (
                Recovery::default().with_replay_max(3),
                vec![(1, 1), (2, 2), (3, 3)],
            ),
            (Recovery::only_last_event(), vec![(6, 6)]),
        ] {
            let log = Log::default();
            let ledger = Ledger {
                recovery,
                ..Ledger::new(&log)
            };
            let sum: i64 = expected.iter().map(|(_, cents)| cents).sum();
            let last = expected.last().unwrap().0;
            let (ledger, at) = replay_actor(ledger, world.environment.clone())
                .await
                .unwrap();
            assert_eq!((ledger.cents, at), (sum, last), "{recovery:?}");
        }
    });
}
