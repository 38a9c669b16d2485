//! Random commands, failures and crashes against what retention promises.

use actix_persistence_memory::MemoryStorage;
use proptest::prelude::*;

use crate::faulty_stores::Fate;
use crate::retaining_world::{Process, left};
use crate::tally::{AddAll, Get, Retaining};
use crate::world::run;

/// One process, until it dies or is given up.
#[derive(Clone, Debug)]
struct Life {
    /// The fates of its saves, deletes and loads, in their order.
    fates: Vec<Fate>,
    /// The numbers that each command adds, and whether to wait for retention before the next one.
    commands: Vec<(Vec<i64>, bool)>,
}

fn life() -> impl Strategy<Value = Life> {
    let fate = prop_oneof![
        8 => Just(Fate::Works),
        2 => Just(Fate::Fails),
        2 => Just(Fate::FailsUnknown),
        1 => Just(Fate::DiesBefore),
        1 => Just(Fate::DiesAfter),
    ];
    // All of them count, so that the sum shows whether a command was stored.
    let numbers = prop::collection::vec(1_i64..10, 1..8);
    (
        prop::collection::vec(fate, 0..12),
        prop::collection::vec((numbers, any::<bool>()), 0..12),
    )
        .prop_map(|(fates, commands)| Life { fates, commands })
}

fn retaining() -> impl Strategy<Value = Retaining> {
    (1_u64..8, 1_usize..5, any::<bool>(), 0_u64..3).prop_map(
        |(every, keep, delete_events, batches)| Retaining {
            every,
            keep,
            delete_events,
            batches,
        },
    )
}

/// The sum of the events, whatever was deleted.
#[derive(Clone, Copy, Default)]
struct Expected {
    sum: i64,
    events: u64,
}

impl Expected {
    fn add(&mut self, numbers: &[i64]) {
        self.sum += numbers.iter().sum::<i64>();
        self.events += numbers.len() as u64;
    }
}

/// Lives one life on what the ones before have left.
async fn live(storage: &MemoryStorage, retaining: Retaining, life: Life, expected: &mut Expected) {
    let process = Process::start(storage, retaining, &life.fates);
    let died = process.stores.died();
    tokio::pin!(died);
    let mut unanswered = None;
    tokio::select! {
        biased;
        () = &mut died => {}
        () = async {
            assert_eq!(process.tally.send(Get).await.unwrap(), expected.sum);
            for (numbers, settle) in life.commands {
                let stored = process.tally.send(AddAll(numbers.clone()));
                unanswered = Some(numbers.clone());
                assert_eq!(stored.await.unwrap().unwrap(), expected.sum + numbers.iter().sum::<i64>());
                unanswered = None;
                expected.add(&numbers);
                if settle {
                    process.settle().await;
                }
            }
            process.settle().await;
        } => {}
    }
    process.stores.assert_covered();
    // The outcome is unknown of a command whose answer died with the process, but it is stored whole or not at all.
    if let Some(numbers) = unanswered {
        let next = Process::start(storage, retaining, &[]);
        if next.tally.send(Get).await.unwrap() != expected.sum {
            expected.add(&numbers);
        }
        assert_eq!(next.tally.send(Get).await.unwrap(), expected.sum);
    }
}

/// After one undisturbed round there are no more snapshots than promised, after as many as are kept just so many.
async fn quiesce(storage: &MemoryStorage, retaining: Retaining, expected: &mut Expected) {
    let process = Process::start(storage, retaining, &[]);
    assert_eq!(process.tally.send(Get).await.unwrap(), expected.sum);
    for round in 1..=retaining.keep {
        let numbers = vec![1; retaining.every as usize];
        process
            .tally
            .send(AddAll(numbers.clone()))
            .await
            .unwrap()
            .unwrap();
        expected.add(&numbers);
        assert!(process.settle().await);
        let (_, snapshots) = left(storage).await;
        assert!(
            snapshots.len() <= retaining.keep,
            "{snapshots:?} in round {round}"
        );
    }
    process.stores.assert_covered();
    let (events, snapshots) = left(storage).await;
    assert_eq!(snapshots.len(), retaining.keep);
    assert_eq!(snapshots.last(), Some(&expected.events));
    let deleted = match retaining.delete_events {
        true => snapshots[0].saturating_sub(retaining.batches * retaining.every),
        false => 0,
    };
    let kept: Vec<_> = (deleted + 1..=expected.events).collect();
    assert_eq!(events, kept);
    let last = Process::start(storage, retaining, &[]);
    assert_eq!(last.tally.send(Get).await.unwrap(), expected.sum);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_failure_and_no_crash_costs_state_and_the_next_round_cleans_up(
        retaining in retaining(),
        lives in prop::collection::vec(life(), 0..5),
    ) {
        run(move || async move {
            let (storage, mut expected) = (MemoryStorage::new(), Expected::default());
            for life in lives {
                live(&storage, retaining, life, &mut expected).await;
            }
            quiesce(&storage, retaining, &mut expected).await;
        });
    }
}
