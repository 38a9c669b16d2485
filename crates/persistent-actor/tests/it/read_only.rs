//! Reading a stream disturbs no writer.

use actix_persistence_persistent_actor::{replay_actor, replay_events};
use actix_persistence_storage_api::{PersistenceId, ReplayRange};

use crate::tally::{Add, Added, Log, Tally};
use crate::world::{World, run};

#[test]
fn a_read_only_replay_gives_the_state_and_leaves_the_writer_alone() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        for n in [1, 2, 3] {
            tally.send(Add(n)).await.unwrap().unwrap();
        }
        let (copy, last) = replay_actor(Tally::new("1", &log), world.environment.clone())
            .await
            .unwrap();
        assert_eq!((copy.sum, last), (6, 3));
        assert_eq!(
            tally.send(Add(4)).await.unwrap().unwrap(),
            10,
            "its epoch is still the highest"
        );
    });
}

#[test]
fn an_id_never_seen_reads_as_nothing() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let (fresh, last) = replay_actor(Tally::new("1", &log), world.environment)
            .await
            .unwrap();
        assert_eq!((fresh.sum, last), (0, 0));
    });
}

#[test]
fn events_are_folded_with_their_numbers() {
    run(|| async {
        let (world, log) = (World::new(), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        for n in [10, 20, 30] {
            tally.send(Add(n)).await.unwrap().unwrap();
        }
        let id = PersistenceId::of("Tally", "1");
        let range = ReplayRange::new(2, 99);
        let seen = replay_events(
            &world.environment,
            id,
            range,
            Vec::new(),
            |seen, meta, event: Added| {
                seen.push((meta.sequence_nr, event.n));
            },
        );
        assert_eq!(seen.await.unwrap(), [(2, 20), (3, 30)]);
    });
}
