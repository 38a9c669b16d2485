//! `snapshot_store_serialization_spec`: snapshots of serializers that the store has never heard of.

use actix_persistence_storage_api::{Payload, SnapshotCriteria, SnapshotRecord, SnapshotStore};

use crate::capability::Capability;
use crate::case::{Case, Spec, case};
use crate::failure::{CaseResult, Failure, expect_eq};
use crate::my_payload::{MyPayload, of_an_application};
use crate::snapshot_steps::{expect_snapshots, fresh_snapshot, save};
use crate::subject::Subject;

/// The spec of what a snapshot store keeps of payloads.
pub(crate) const SPEC: Spec<dyn SnapshotStore> = Spec {
    name: "snapshot_store_serialization_spec",
    groups: &[CASES],
};

const CASES: &[Case<dyn SnapshotStore>] = &[
    case!(serialize_payload, ["S-SAVE-3", "S-SAVE-1"])
        .of_spec("SnapshotStoreSerializationSpec serialize_Payload"),
    case!(
        serialize_payload_with_string_manifest,
        ["S-SAVE-3", "S-SAVE-1"]
    )
    .of_spec("SnapshotStoreSerializationSpec serialize_Payload_with_string_manifest"),
    case!(serialize_formats_side_by_side, ["S-SAVE-3", "S-SAVE-2"]),
    case!(
        serialize_with_serializers_of_an_application,
        ["S-SAVE-3", "S-SAVE-1"]
    ),
    case!(serialize_metadata, ["S-SAVE-3"]).needing(Capability::Metadata),
];

/// Saves the snapshot, and expects it and what it decodes to, before and after a restart.
async fn expect_round_trip(
    subject: Subject<dyn SnapshotStore>,
    snapshot: SnapshotRecord,
) -> CaseResult {
    save(subject.store(), &snapshot).await?;
    expect_decoded(subject.store(), &snapshot).await?;
    let subject = subject.restart().await?;
    expect_decoded(subject.store(), &snapshot).await
}

async fn expect_decoded(store: &dyn SnapshotStore, snapshot: &SnapshotRecord) -> CaseResult {
    let id = &snapshot.metadata.persistence_id;
    let found = store.load(id, SnapshotCriteria::LATEST).await?;
    let found = found.ok_or_else(|| Failure::new("expected a snapshot"))?;
    expect_eq("decoded snapshot", decoded(&found)?, decoded(snapshot)?)?;
    expect_snapshots(store, id, [snapshot]).await
}

/// Returns the values in payload and metadata.
fn decoded(snapshot: &SnapshotRecord) -> Result<Vec<MyPayload>, Failure> {
    let payloads: [Option<&Payload>; 2] =
        [Some(&snapshot.payload), snapshot.metadata.metadata.as_ref()];
    payloads
        .into_iter()
        .flatten()
        .map(MyPayload::decode)
        .collect()
}

async fn serialize_payload(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let payload = MyPayload::unique(".a.").encode(MyPayload::V1);
    expect_round_trip(subject, fresh_snapshot(1, payload)).await
}

async fn serialize_payload_with_string_manifest(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let payload = MyPayload::unique(".a.").encode(MyPayload::V2);
    expect_round_trip(subject, fresh_snapshot(1, payload)).await
}

async fn serialize_formats_side_by_side(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    // One replaces the other: nothing of the first may stay, neither id nor manifest.
    let mut snapshot = fresh_snapshot(1, MyPayload::unique("first").encode(MyPayload::V1));
    save(subject.store(), &snapshot).await?;
    expect_decoded(subject.store(), &snapshot).await?;
    snapshot.payload = MyPayload::unique("second").encode(MyPayload::V2);
    expect_round_trip(subject, snapshot).await
}

async fn serialize_with_serializers_of_an_application(
    subject: Subject<dyn SnapshotStore>,
) -> CaseResult {
    let payloads = of_an_application().into_iter();
    let snapshots: Vec<_> = payloads.map(|payload| fresh_snapshot(1, payload)).collect();
    for snapshot in &snapshots {
        save(subject.store(), snapshot).await?;
    }
    let subject = subject.restart().await?;
    for snapshot in &snapshots {
        let id = &snapshot.metadata.persistence_id;
        expect_snapshots(subject.store(), id, [snapshot]).await?;
    }
    Ok(())
}

async fn serialize_metadata(subject: Subject<dyn SnapshotStore>) -> CaseResult {
    let payload = MyPayload::unique("state").encode(MyPayload::V1);
    let mut snapshot = fresh_snapshot(1, payload);
    let beside = MyPayload::unique("beside").encode(MyPayload::V2);
    snapshot.metadata = snapshot.metadata.with_metadata(beside);
    expect_round_trip(subject, snapshot).await
}
