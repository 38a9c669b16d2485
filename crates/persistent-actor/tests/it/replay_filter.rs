//! Recovery from streams that two writers stored at the same time.

use actix::MailboxError;
use actix_persistence_journal_actor::{ReplayFilterMode, ReplayFilterSettings};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    RecoveryError, ReplayIssue, ReplayIssueKind, replay_actor, replay_events,
};
use actix_persistence_storage_api::{ReplayRange, StorageErrorKind};

use crate::foreign_journal::{ForeignJournal, record, writer};
use crate::logging::{collect, has_line, logged};
use crate::tally::{Added, Get, Log, Tally};
use crate::world::{World, run};

use ReplayFilterMode::{Fail, Off, RepairByDiscardOld, Warn};

fn world(journal: ForeignJournal, filter: impl FnOnce(&mut ReplayFilterSettings)) -> World {
    let storage = MemoryStorage::new();
    let snapshots = std::sync::Arc::new(storage.snapshot_store());
    let tune = |journal: &mut actix_persistence_journal_actor::JournalSettings, _: &mut _| {
        filter(&mut journal.replay_filter);
    };
    World::tuned(storage, journal.shared(), snapshots, tune, |_| {})
}

fn in_mode(journal: ForeignJournal, mode: ReplayFilterMode) -> World {
    world(journal, |filter| filter.mode = mode)
}

/// The numbers that are applied, or why the recovery failed; the same for a reader as for a writer.
async fn replayed(world: &World) -> Result<Vec<u64>, RecoveryError> {
    let log = Log::default();
    let read = replay_actor(Tally::new("1", &log), world.environment.clone()).await;
    let entries = log.take();

    let tally = world.start(Tally::factory("1", &log)).unwrap();
    let recovered = tally.send(Get).await;
    assert_eq!(recovered.is_ok(), read.is_ok());
    drop(tally);
    while !world.environment.live_ids.is_empty() {
        tokio::task::yield_now().await;
    }
    let as_writer = log.take();
    assert!(as_writer.starts_with(&entries), "{as_writer:?}");

    let number = |entry: &String| entry.strip_prefix("event ").unwrap().parse().unwrap();
    read.map(|_| entries.iter().map(number).collect())
}

const OVERLAP: &str = "A1 A2 A3 B2 B3 A4 B4";

#[test]
fn overlapping_writers_fail_the_recovery_unless_the_config_says_otherwise() {
    run(|| async {
        let error = replayed(&world(ForeignJournal::of(OVERLAP), |_| {}))
            .await
            .unwrap_err();
        let RecoveryError::WritersOverlap {
            persistence_id,
            issue,
        } = &error
        else {
            panic!("{error:?}");
        };
        assert_eq!(persistence_id.as_str(), "Tally|1");
        let ReplayIssue {
            kind,
            sequence_nr,
            writer: who,
            other_writer,
            ..
        } = issue;
        assert_eq!(
            (*kind, *sequence_nr, *who, *other_writer),
            (ReplayIssueKind::Overtaken, 2, writer('A'), writer('B'))
        );
        let text = error.to_string();
        for part in [
            "Tally|1",
            "event 2",
            &writer('A').to_string(),
            &writer('B').to_string(),
            "replay-filter.mode",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!error.is_transient());
    });
}

#[test]
fn a_failure_of_the_filter_is_lasting_so_commands_are_closed_at_once() {
    run(|| async {
        let (world, log) = (in_mode(ForeignJournal::of(OVERLAP), Fail), Log::default());
        let tally = world.start(Tally::factory("1", &log)).unwrap();
        assert!(matches!(tally.send(Get).await, Err(MailboxError::Closed)));
        assert!(log.take()[0].starts_with("recovery failed: two writers overlap"));
    });
}

#[test]
fn repair_discards_the_old_writers_events_with_a_warning_each() {
    run(|| async {
        collect();
        let world = in_mode(ForeignJournal::of(OVERLAP), RepairByDiscardOld);
        assert_eq!(replayed(&world).await.unwrap(), [1, 2, 3, 4]);
        let read = replay_events(
            &world.environment,
            Tally::new("1", &Log::default()).id,
            ReplayRange::ALL,
            0,
            |sum, _, event: Added| *sum += event.n,
        );
        assert_eq!(read.await.unwrap(), 10);
        for nr in ["event 2", "event 3", "event 4"] {
            let who = writer('A').to_string();
            has_line(&["WARN", "Tally|1", "discarded=true", nr, &who]);
        }
    });
}

#[test]
fn warn_applies_everything_with_a_warning_each_and_off_without() {
    run(|| async {
        collect();
        let world = in_mode(ForeignJournal::of(OVERLAP), Warn);
        let everything = [1, 2, 3, 2, 3, 4, 4];
        assert_eq!(replayed(&world).await.unwrap(), everything);
        has_line(&["WARN", "Tally|1", "discarded=false", "event 4"]);
        collect();
        let world = in_mode(ForeignJournal::of(OVERLAP), Off);
        assert_eq!(replayed(&world).await.unwrap(), everything);
        assert!(!logged().contains("overlap"));
    });
}

#[test]
fn events_without_a_writer_do_not_make_the_writer_before_them_an_old_one() {
    for mode in [RepairByDiscardOld, Fail] {
        run(move || async move {
            let world = in_mode(ForeignJournal::of("A1 -2 A3 -4 B5 -6 B7"), mode);
            assert_eq!(replayed(&world).await.unwrap(), [1, 2, 3, 4, 5, 6, 7]);
        });
    }
}

#[test]
fn a_lost_event_is_missed_whatever_the_filter_discards() {
    run(|| async {
        for text in ["A1 A2 A4 B2 B4", "A1 B1 A2 B4", "A2 B2"] {
            let world = in_mode(ForeignJournal::of(text), RepairByDiscardOld);
            let error = replayed(&world).await.unwrap_err();
            assert!(
                matches!(error, RecoveryError::EventMissing { .. }),
                "{error}"
            );
        }
    });
}

#[test]
fn deleted_events_are_no_loss_and_what_is_left_is_filtered() {
    run(|| async {
        let mut journal = ForeignJournal::of("A1 A2 A3 B3 B4");
        journal.deleted_to = 2;
        let world = in_mode(journal, RepairByDiscardOld);
        assert_eq!(replayed(&world).await.unwrap(), [3, 4]);
    });
}

#[test]
fn a_discarded_event_need_not_be_readable() {
    run(|| async {
        let mut journal = ForeignJournal::of("A1 A2 B2 B3");
        journal.records[1].payload =
            actix_persistence_storage_api::Payload::new(9, "other:v1", "?");
        let world = in_mode(journal, RepairByDiscardOld);
        assert_eq!(replayed(&world).await.unwrap(), [1, 2, 3]);
    });
}

#[test]
fn a_conflict_beyond_the_window_or_of_one_writer_with_itself_still_fails() {
    for mode in [RepairByDiscardOld, Fail] {
        run(move || async move {
            let beyond = world(ForeignJournal::of("A1 A2 A3 B2 B3"), |filter| {
                filter.mode = mode;
                filter.window_size = 1;
            });
            for world in [beyond, in_mode(ForeignJournal::of("A1 A2 A2"), mode)] {
                let error = replayed(&world).await.unwrap_err();
                let text = error.to_string();
                assert!(
                    matches!(error, RecoveryError::EventRepeated { sequence_nr: 2, .. }),
                    "{text}"
                );
                assert!(text.contains("window-size"), "{text}");
            }
        });
    }
}

#[test]
fn a_stream_longer_than_page_and_window_passes_whole_and_in_order() {
    run(|| async {
        let text: Vec<_> = (1..=2_345_u64)
            .map(|nr| format!("{}{nr}", (b'A' + (nr / 100) as u8) as char))
            .collect();
        let world = in_mode(ForeignJournal::of(&text.join(" ")), Fail);
        let expected: Vec<_> = (1..=2_345).collect();
        assert_eq!(replayed(&world).await.unwrap(), expected);
    });
}

#[test]
fn an_unrequested_event_or_an_empty_page_before_the_end_is_corrupt() {
    for mode in [Fail, Off] {
        run(move || async move {
            let mut intruded = ForeignJournal::of("A1 A2");
            intruded.intruder = Some(record("A9"));
            let mut empty = ForeignJournal::of("A1 A2");
            empty.empty_pages = true;
            for journal in [intruded, empty] {
                let error = replayed(&in_mode(journal, mode)).await.unwrap_err();
                let RecoveryError::Journal { source, .. } = &error else {
                    panic!("{error:?}");
                };
                assert_eq!(source.kind(), StorageErrorKind::Corrupt);
            }
        });
    }
}

#[test]
fn debug_logs_numbers_and_writers() {
    run(|| async {
        collect();
        let world = world(ForeignJournal::of("A1"), |filter| filter.debug = true);
        assert_eq!(replayed(&world).await.unwrap(), [1]);
        has_line(&[
            "DEBUG",
            "Tally|1",
            "sequence_nr=1",
            &writer('A').to_string(),
        ]);
    });
}
