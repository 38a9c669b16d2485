//! The part of its past that an actor asks for, and its callbacks when it is back.

use actix::Actor;
use actix_persistence_persistent_actor::{
    NoSnapshot, PersistError, PersistentActor, PersistentContext, Recovery, replay_actor,
};
use actix_persistence_storage_api::{PersistenceId, SnapshotCriteria, Timestamp};

use crate::history::{delete_events, end, id, recovered, save_snapshot, sum, with_events};
use crate::tally::{Add, Added, Get, Log, Run, Sum, Tally, persist};
use crate::world::{World, run};

#[test]
fn the_default_is_the_latest_snapshot_and_every_event_after_it() {
    run(|| async {
        let (world, log) = with_events(5).await;
        save_snapshot(&world, 2, sum(3)).await;
        save_snapshot(&world, 4, sum(10)).await;
        let (entries, _) = recovered(&world, &log, Recovery::default()).await;
        assert_eq!(entries, ["snapshot 4", "event 5", "recovered at 5"]);
    });
}

#[test]
fn snapshot_criteria_choose_an_older_snapshot_or_none() {
    run(|| async {
        let (world, log) = with_events(5).await;
        save_snapshot(&world, 2, sum(3)).await;
        save_snapshot(&world, 4, sum(10)).await;
        let from = |criteria| Recovery::default().with_from_snapshot(criteria);
        let cases = [
            (SnapshotCriteria::up_to(3), "snapshot 2"),
            (SnapshotCriteria::up_to(4), "snapshot 4"),
            (SnapshotCriteria::up_to(1), "event 1"),
            (SnapshotCriteria::LATEST.with_min_sequence_nr(5), "event 1"),
            (
                SnapshotCriteria::LATEST.with_max_timestamp(Timestamp::MIN),
                "event 1",
            ),
            (SnapshotCriteria::NONE, "event 1"),
        ];
        for (criteria, first) in cases {
            let (entries, sum) = recovered(&world, &log, from(criteria)).await;
            assert_eq!((entries[0].as_str(), sum), (first, 15), "{criteria:?}");
        }
    });
}

#[test]
fn an_upper_bound_is_inclusive_and_passes_over_snapshots_above_it() {
    run(|| async {
        let (world, log) = with_events(5).await;
        save_snapshot(&world, 2, sum(3)).await;
        save_snapshot(&world, 4, sum(10)).await;
        let to = |nr| Recovery::default().with_to_sequence_nr(nr);
        let (entries, sum) = recovered(&world, &log, to(4)).await;
        assert_eq!(entries, ["snapshot 4", "recovered at 5"]);
        assert_eq!(sum, 10);
        let (entries, sum) = recovered(&world, &log, to(3)).await;
        assert_eq!(entries, ["snapshot 2", "event 3", "recovered at 5"]);
        assert_eq!(sum, 6);
        let (entries, sum) = recovered(&world, &log, to(1)).await;
        assert_eq!(entries, ["event 1", "recovered at 5"]);
        assert_eq!(sum, 1);
        let (entries, _) = recovered(&world, &log, to(99)).await;
        assert_eq!(entries, ["snapshot 4", "event 5", "recovered at 5"]);
    });
}

#[test]
fn new_events_after_a_bounded_recovery_follow_the_end_of_the_journal() {
    for bounded in [Recovery::default().with_to_sequence_nr(2), Recovery::none()] {
        run(move || async move {
            let (world, log) = with_events(4).await;
            let shared = log.clone();
            let tally = world
                .start(move || Tally {
                    recovery: bounded,
                    ..Tally::new("1", &shared)
                })
                .unwrap();
            tally.send(Add(5)).await.unwrap().unwrap();
            let check = Run::new(|_, ctx| assert_eq!(ctx.last_sequence_nr(), 5));
            tally.send(check).await.unwrap();
            end(&world, tally).await;
            log.take();
            let (entries, sum) = recovered(&world, &log, Recovery::default()).await;
            assert_eq!((entries.len(), sum), (6, 15));
        });
    }
}

#[test]
fn an_actor_that_went_back_in_time_saves_no_snapshot() {
    run(|| async {
        let (world, log) = with_events(4).await;
        let shared = log.clone();
        let tally = world
            .start(move || Tally {
                recovery: Recovery::default().with_to_sequence_nr(2),
                ..Tally::new("1", &shared)
            })
            .unwrap();
        let save = Run::new(|tally, ctx| ctx.save_snapshot(&Sum(tally.sum)));
        tally.send(save).await.unwrap();
        end(&world, tally).await;
        let entries = log.take();
        assert!(
            entries.contains(&"SaveSnapshotFailure".to_owned()),
            "{entries:?}"
        );
        let (entries, sum) = recovered(&world, &log, Recovery::default()).await;
        assert_eq!((entries.len(), sum), (5, 10), "every event, no snapshot");
    });
}

#[test]
fn recovery_none_replays_nothing_and_knows_the_highest_number() {
    run(|| async {
        let (world, log) = with_events(4).await;
        save_snapshot(&world, 3, sum(6)).await;
        let (entries, sum) = recovered(&world, &log, Recovery::none()).await;
        assert_eq!(entries, ["recovered at 4"]);
        assert_eq!(sum, 0);
        delete_events(&world, 4).await;
        let (entries, _) = recovered(&world, &log, Recovery::none()).await;
        assert_eq!(entries, ["recovered at 4"]);
    });
}

#[test]
fn a_replay_maximum_counts_events_over_all_pages_and_none_means_none() {
    run(|| async {
        let (world, log) = with_events(2_345).await;
        for max in [0, 1, 999, 1_000, 1_001, 2_344, 2_345, 2_346] {
            let recovery = Recovery::default().with_replay_max(max);
            let (entries, sum) = recovered(&world, &log, recovery).await;
            let events = max.min(2_345);
            assert_eq!(entries.len() as u64, events + 1, "{max}");
            assert_eq!(sum as u64, events * (events + 1) / 2, "{max}");
            assert_eq!(entries.last().unwrap(), "recovered at 2345");
        }
    });
}

#[test]
fn only_the_last_event_is_replayed_where_it_is_enough() {
    run(|| async {
        let (world, log) = with_events(5).await;
        save_snapshot(&world, 4, sum(10)).await;
        let last = Recovery::only_last_event();
        let (entries, _) = recovered(&world, &log, last).await;
        assert_eq!(entries, ["event 5", "recovered at 5"]);
        let (entries, _) = recovered(&world, &log, last.with_to_sequence_nr(3)).await;
        assert_eq!(entries, ["event 3", "recovered at 5"]);
        delete_events(&world, 5).await;
        let (entries, _) = recovered(&world, &log, last).await;
        assert_eq!(entries, ["recovered at 5"]);
        let fresh = Tally {
            recovery: last,
            ..Tally::new("2", &log)
        };
        let (_, number) = replay_actor(fresh, world.environment.clone())
            .await
            .unwrap();
        assert_eq!(number, 0);
    });
}

#[test]
fn completion_comes_exactly_once_and_last_also_for_an_id_never_seen() {
    run(|| async {
        for recovery in [
            Recovery::default(),
            Recovery::none(),
            Recovery::default().with_to_sequence_nr(7),
            Recovery::default().with_replay_max(0),
            Recovery::only_last_event(),
        ] {
            let (world, log) = (World::new(), Log::default());
            let (entries, _) = recovered(&world, &log, recovery).await;
            assert_eq!(entries, ["recovered at 0"], "{recovery:?}");
            let (world, log) = with_events(3).await;
            let (entries, _) = recovered(&world, &log, recovery).await;
            let is_completion = |entry: &&String| entry.starts_with("recovered");
            assert_eq!(entries.iter().filter(is_completion).count(), 1);
            assert_eq!(entries.last().unwrap(), "recovered at 3", "{recovery:?}");
        }
    });
}

/// Writes down whether it is recovering, wherever it is called with its context.
struct Curious(Log);

impl Curious {
    fn note(&self, place: &str, ctx: &PersistentContext<Self>) {
        let (recovering, finished) = (ctx.is_recovering(), ctx.is_recovery_finished());
        assert_ne!(recovering, finished);
        self.0.add(format!("{place} {recovering}"));
    }
}

impl Actor for Curious {
    type Context = PersistentContext<Self>;

    fn started(&mut self, ctx: &mut Self::Context) {
        self.note("started", ctx);
    }
}

impl PersistentActor for Curious {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, event: &Added) {
        self.0.add(format!("event {}", event.n));
    }

    fn on_recovery_completed(&mut self, ctx: &mut Self::Context) {
        self.note("completed", ctx);
        ctx.persist(Added {
            n: 9,
            ballast: String::new(),
        })
        .then(|curious, _, ctx| curious.note("persisted", ctx))
        .detach();
    }
}

impl actix::Handler<Get> for Curious {
    type Result = i64;

    fn handle(&mut self, _: Get, ctx: &mut Self::Context) -> i64 {
        self.note("command", ctx);
        0
    }
}

#[test]
fn the_completion_of_a_recovery_may_persist_before_the_first_command() {
    run(|| async {
        let (world, log) = with_events(1).await;
        let shared = log.clone();
        let curious = world.start(move || Curious(shared.clone())).unwrap();
        curious.send(Get).await.unwrap();
        assert_eq!(
            log.take(),
            [
                "started true",
                "event 1",
                "completed false",
                "event 9",
                "persisted false",
                "command false"
            ]
        );
    });
}

#[test]
fn completion_comes_once_per_incarnation_after_a_failure() {
    run(|| async {
        let (world, log) = with_events(2).await;
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        tally.send(Get).await.unwrap();
        let panicking = Run::new(|_, ctx| {
            persist(ctx, 3).detach();
            panic!("after it persisted");
        });
        tally.send(panicking).await.unwrap_err();
        tally.send(Get).await.unwrap();
        let entries = log.take();
        let completions: Vec<_> = entries
            .iter()
            .filter(|entry| entry.starts_with("recovered"))
            .collect();
        assert_eq!(completions.len(), 2, "{entries:?}");
    });
}

#[test]
fn no_write_follows_a_snapshot_that_is_ahead_of_its_journal() {
    run(|| async {
        let (world, log) = with_events(3).await;
        save_snapshot(&world, 9, sum(45)).await;
        let shared = log.clone();
        let tally = world
            .start(move || Tally {
                recovery: Recovery::default().with_allow_snapshot_ahead(),
                ..Tally::new("1", &shared)
            })
            .unwrap();
        assert_eq!(tally.send(Get).await.unwrap(), 45);
        let refused = tally.send(Add(1)).await.unwrap().unwrap_err();
        assert!(matches!(refused, PersistError::Conflict(_)), "{refused:?}");
    });
}
