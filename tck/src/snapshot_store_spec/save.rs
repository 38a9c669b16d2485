//! Saving: durable, whole, and the later of two.

use actix_persistence_storage_api::{
    Effect, MAX_TEXT_BYTES, Payload, SnapshotCriteria, SnapshotRecord, SnapshotStore,
    StorageErrorKind, Timestamp,
};

use crate::bytes_like_random::bytes_like_random;
use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect_eq};
use crate::my_payload::MyPayload;
use crate::snapshot_steps::{SECOND, expect_loaded, expect_snapshots, fresh_snapshot, moved, save};
use crate::subject::Subject;
use crate::writer::text;

pub(super) const CASES: &[Case<dyn SnapshotStore>] = &[
    case!(
        save_and_overwrite_a_snapshot_with_the_same_sequence_number,
        ["S-SAVE-2"]
    )
    .of_spec("SnapshotStoreSpec 12"),
    case!(
        keep_the_later_of_two_saves_whatever_its_timestamp,
        ["S-SAVE-2"]
    ),
    case!(
        save_the_same_sequence_number_with_different_types,
        ["S-SAVE-2", "S-SAVE-3"]
    )
    .of_spec("SnapshotStoreSaveSnapshotSpec 3"),
    case!(
        keep_the_last_of_many_saves_with_the_same_sequence_number,
        ["S-SAVE-2"]
    ),
    case!(save_a_bigger_snapshot, ["S-SAVE-4"]).of_spec("SnapshotStoreSpec 13"),
    case!(
        save_a_snapshot_of_any_size_whole_or_refuse_it_as_too_large,
        ["S-SAVE-4"]
    ),
    case!(
        refuse_texts_that_not_every_snapshot_store_can_store,
        ["S-SAVE-6"]
    ),
    case!(keep_snapshots_over_a_restart, ["S-SAVE-1"]),
    case!(show_a_snapshot_to_every_instance, ["S-SAVE-1"]),
];

const LATEST: SnapshotCriteria = SnapshotCriteria::LATEST;

/// The largest snapshot that the kit makes in order to see it refused.
const LARGEST: usize = 64 * 1024 * 1024;

async fn refuse_texts_that_not_every_snapshot_store_can_store(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let store = subject.store();
    let longest = "ü".repeat(MAX_TEXT_BYTES / 2) + "x";
    for (text, is_fit) in [
        (longest.clone(), true),
        (longest + "x", false),
        ("x".repeat(5_000), false),
        ("a\0b".to_owned(), false),
    ] {
        let bytes = vec![1, 2, 3];
        let own = fresh_snapshot(1, Payload::new(1_000, text.as_str(), bytes.clone()));
        let mut beside = fresh_snapshot(1, crate::writer::text("s-1"));
        beside.metadata.metadata = Some(Payload::new(1_000, text, bytes));
        let kept = [true, store.capabilities().metadata];
        for (snapshot, kept) in [own, beside].into_iter().zip(kept) {
            let id = snapshot.metadata.persistence_id.clone();
            let saved = store
                .save(snapshot.metadata.clone(), snapshot.payload.clone())
                .await;
            if !is_fit {
                let error = saved
                    .err()
                    .ok_or_else(|| Failure::new("expected a refusal"))?;
                expect_eq("kind", error.kind(), StorageErrorKind::Unsupported)?;
                expect_eq("effect", error.effect(), Some(Effect::NotStored))?;
                expect_eq("snapshot", store.load(&id, LATEST).await?, None)?;
            } else if kept {
                saved?;
                expect_eq("snapshot", store.load(&id, LATEST).await?, Some(snapshot))?;
            }
        }
    }
    Ok(())
}

async fn save_and_overwrite_a_snapshot_with_the_same_sequence_number(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let mut snapshots = subject.five_snapshots().await?;
    let id = snapshots[4].metadata.persistence_id.clone();
    snapshots[4].payload = text("s-5-modified");
    save(subject.store(), &snapshots[4]).await?;
    expect_snapshots(subject.store(), &id, &snapshots).await
}

async fn keep_the_later_of_two_saves_whatever_its_timestamp(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let mut snapshots = subject.five_snapshots().await?;
    let id = snapshots[2].metadata.persistence_id.clone();
    let taken = snapshots[2].metadata.timestamp;
    for (text_, micros) in [
        ("older", -60 * SECOND),
        ("younger", SECOND),
        ("oldest", -90 * SECOND),
    ] {
        snapshots[2].metadata.timestamp = moved(taken, micros);
        snapshots[2].payload = text(text_);
        save(subject.store(), &snapshots[2]).await?;
        expect_snapshots(subject.store(), &id, &snapshots).await?;
    }
    // The timestamp that was replaced is gone: nothing is selected by it.
    let by_first_time = LATEST.with_max_timestamp(taken).with_min_timestamp(taken);
    expect_loaded(subject.store(), &id, by_first_time, None).await
}

async fn save_the_same_sequence_number_with_different_types(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let first = fresh_snapshot(3, text("a text"));
    let mut second = first.clone();
    second.metadata.timestamp = moved(first.metadata.timestamp, SECOND);
    second.payload = MyPayload::unique("a struct").encode(MyPayload::V2);
    let id = &first.metadata.persistence_id;
    for snapshot in [&first, &second] {
        save(subject.store(), snapshot).await?;
        expect_snapshots(subject.store(), id, [snapshot]).await?;
    }
    Ok(())
}

async fn keep_the_last_of_many_saves_with_the_same_sequence_number(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    // Zero is the number of a state before any event; two that of one after two.
    for sequence_nr in [0, 2] {
        for _ in 0..20 {
            let mut snapshot = fresh_snapshot(sequence_nr, text("0"));
            for state in 0..4 {
                snapshot.payload = text(state.to_string());
                save(subject.store(), &snapshot).await?;
            }
            let id = &snapshot.metadata.persistence_id;
            expect_snapshots(subject.store(), id, [&snapshot]).await?;
        }
    }
    Ok(())
}

async fn save_a_bigger_snapshot(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let bytes = Payload::new(1_000, "tck.bytes:v1", bytes_like_random(10_000));
    expect_whole(&subject, fresh_snapshot(100, bytes)).await
}

async fn expect_whole(
    subject: &Subject<dyn SnapshotStore>,
    snapshot: SnapshotRecord,
) -> CaseResult {
    save(subject.store(), &snapshot).await?;
    let id = &snapshot.metadata.persistence_id;
    expect_snapshots(subject.store(), id, [&snapshot]).await
}

async fn save_a_snapshot_of_any_size_whole_or_refuse_it_as_too_large(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let limit = subject.store().capabilities().max_snapshot_bytes;
    let mut sizes = vec![0, 1, 10_000, 1024 * 1024, 5 * 1024 * 1024];
    // Right at the limit, and right above it.
    sizes.extend(limit.filter(|&limit| limit < LARGEST));
    sizes.extend(
        limit
            .filter(|&limit| limit < LARGEST)
            .map(|limit| limit + 1),
    );
    for size in sizes {
        let bytes = Payload::new(1_000, "tck.bytes:v1", bytes_like_random(size));
        let snapshot = fresh_snapshot(1, bytes);
        if limit.is_none_or(|limit| size <= limit) {
            expect_whole(&subject, snapshot).await?;
        } else {
            expect_too_large(&subject, snapshot).await?;
        }
    }
    Ok(())
}

/// A snapshot that is refused leaves the one before as it was.
async fn expect_too_large(
    subject: &Subject<dyn SnapshotStore>,
    large: SnapshotRecord,
) -> CaseResult {
    let mut before = large.clone();
    before.payload = text("before");
    save(subject.store(), &before).await?;
    let (metadata, payload) = (large.metadata, large.payload);
    let error = match subject.store().save(metadata, payload).await {
        Ok(()) => {
            return Err(Failure::new(
                "expected a snapshot above the limit to be refused",
            ));
        }
        Err(error) => error,
    };
    expect_eq("kind", error.kind(), StorageErrorKind::TooLarge)?;
    expect_eq("not stored", error.is_not_stored(), true)?;
    let id = &before.metadata.persistence_id;
    expect_snapshots(subject.store(), id, [&before]).await
}

async fn keep_snapshots_over_a_restart(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let mut snapshots = subject.five_snapshots().await?;
    let id = snapshots[0].metadata.persistence_id.clone();
    snapshots[4].payload = text("s-5-modified");
    snapshots[4].metadata.timestamp = Timestamp::from_micros(5);
    save(subject.store(), &snapshots[4]).await?;
    let subject = subject.restart().await?;
    expect_snapshots(subject.store(), &id, &snapshots).await
}

async fn show_a_snapshot_to_every_instance(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let other = subject.another().await?;
    let mut snapshot = fresh_snapshot(1, text("0"));
    let id = snapshot.metadata.persistence_id.clone();
    for state in 0..3 {
        snapshot.payload = text(state.to_string());
        save(subject.store(), &snapshot).await?;
        expect_snapshots(&*other, &id, [&snapshot]).await?;
    }
    Ok(())
}
