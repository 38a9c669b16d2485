//! Cases of fields: every field of a snapshot comes back as it was saved.

use actix_persistence_storage_api::{Payload, SnapshotRecord, SnapshotStore, Timestamp};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::CaseResult;
use crate::my_payload::MyPayload;
use crate::odd_texts::ODD_TEXTS;
use crate::snapshot_steps::{expect_snapshots, fresh_snapshot, save};
use crate::subject::Subject;
use crate::writer::text;

pub(super) const CASES: &[Case<dyn SnapshotStore>] = &[
    case!(serialize_snapshots, ["S-SAVE-3"]).of_spec("SnapshotStoreSpec 14"),
    case!(store_metadata, ["S-SAVE-3"])
        .of_spec("SnapshotStoreSpec 15")
        .needing(Capability::Metadata),
    case!(keep_all_parts_of_metadata, ["S-SAVE-3", "S-SAVE-2"]).needing(Capability::Metadata),
    case!(keep_the_bytes_of_a_snapshot, ["S-SAVE-3"]),
    case!(keep_serializer_ids_and_manifests, ["S-SAVE-3"]),
    case!(keep_timestamps, ["S-SAVE-3"]),
];

/// Saves the snapshots, each of an id of its own, and expects them, before and after a restart.
async fn expect_kept(
    subject: Subject<dyn SnapshotStore>,
    snapshots: Vec<SnapshotRecord>,
) -> CaseResult {
    for snapshot in &snapshots {
        save(subject.store(), snapshot).await?;
    }
    for snapshot in &snapshots {
        let id = &snapshot.metadata.persistence_id;
        expect_snapshots(subject.store(), id, [snapshot]).await?;
    }
    let subject = subject.restart().await?;
    for snapshot in &snapshots {
        let id = &snapshot.metadata.persistence_id;
        expect_snapshots(subject.store(), id, [snapshot]).await?;
    }
    Ok(())
}

async fn serialize_snapshots(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let payload = MyPayload::unique("serialized").encode(MyPayload::V1);
    expect_kept(subject, vec![fresh_snapshot(100, payload)]).await
}

async fn store_metadata(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let mut snapshot = fresh_snapshot(100, text("s"));
    snapshot.metadata = snapshot.metadata.with_metadata(text("fictional metadata"));
    expect_kept(subject, vec![snapshot]).await
}

async fn keep_all_parts_of_metadata(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let every_byte: Vec<u8> = (0..=255).collect();
    let values = [
        None,
        Some(Payload::new(0, "", "")),
        Some(Payload::new(u32::MAX, "", every_byte)),
        Some(Payload::new(1_001, "tck.m\u{e9}ta:v1", "m")),
    ];
    let with = |metadata| {
        let mut snapshot = fresh_snapshot(7, text("s"));
        snapshot.metadata.metadata = metadata;
        snapshot
    };
    // The metadata is replaced together with the snapshot, even by nothing.
    let mut replaced = with(Some(text("first")));
    save(subject.store(), &replaced).await?;
    replaced.metadata.metadata = None;
    let mut snapshots: Vec<_> = values.into_iter().map(with).collect();
    snapshots.push(replaced);
    expect_kept(subject, snapshots).await
}

async fn keep_the_bytes_of_a_snapshot(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let every_byte: Vec<u8> = (0..=255).collect();
    let no_text = vec![0xff, 0xfe, 0x00, 0xc3, 0x28];
    let snapshots = [Vec::new(), vec![0], every_byte, no_text]
        .into_iter()
        .map(|bytes| fresh_snapshot(7, Payload::new(1_000, "tck.bytes:v1", bytes)));
    expect_kept(subject, snapshots.collect()).await
}

async fn keep_serializer_ids_and_manifests(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let longest = ["m".repeat(255), "\u{20ac}".repeat(85)];
    let manifests = ODD_TEXTS
        .iter()
        .copied()
        .chain(longest.iter().map(String::as_str))
        .chain([""]);
    let ids = [0, 1, 2, 99, 1_000, 77_123, i32::MAX as u32, u32::MAX];
    let snapshots = manifests
        .zip(ids.iter().cycle())
        .map(|(manifest, &id)| fresh_snapshot(7, Payload::new(id, manifest, "x")));
    let snapshots = snapshots.collect();
    expect_kept(subject, snapshots).await
}

async fn keep_timestamps(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let micros = [1_763_697_831_123_457, 0, 1, -1, 999_999, i64::MAX, i64::MIN];
    let snapshots = micros.map(|micros| {
        let mut snapshot = fresh_snapshot(7, text("s"));
        snapshot.metadata.timestamp = Timestamp::from_micros(micros);
        snapshot
    });
    expect_kept(subject, snapshots.into()).await
}
