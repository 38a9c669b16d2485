//! Stored states come back unchanged.

use actix_persistence_storage_api::{Payload, StateStore};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, Failure, expect_eq};
use crate::my_payload::{MyPayload, of_an_application};
use crate::odd_texts::ODD_TEXTS;
use crate::state_steps::{expect_state, state, with_payload};
use crate::subject::Subject;
use crate::writer::fresh_id;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(keep_the_bytes_of_a_state, ["D-UPSERT-4"]),
    case!(keep_serializer_ids_and_manifests, ["D-UPSERT-4"]),
    case!(serialize_states, ["D-UPSERT-4"]).of_spec("DurableStateStoreSpec"),
    case!(serialize_with_serializers_of_an_application, ["D-UPSERT-4"]),
    case!(
        replace_tags_by_those_of_the_update,
        ["D-UPSERT-4", "D-GET-1"]
    )
    .needing(Capability::Tags),
];

async fn keep_the_bytes_of_a_state(subject: Subject<dyn StateStore>) -> CaseResult {
    let all: Vec<u8> = (0..=255).collect();
    for bytes in [vec![], vec![0], vec![0; 1_000], all.clone(), all.repeat(20)] {
        let update = with_payload(state(&fresh_id(), 1), Payload::new(1_000, "m", bytes));
        subject.store().upsert(update.clone()).await?;
        expect_state(subject.store(), &update).await?;
    }
    Ok(())
}

async fn keep_serializer_ids_and_manifests(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = fresh_id();
    let long = "m".repeat(255);
    let manifests = ODD_TEXTS.iter().copied().chain(["", long.as_str()]);
    let mut last = state(&id, 0);
    for (place, manifest) in manifests.enumerate() {
        let serializer = [0, 1, 1_000, u32::MAX][place % 4];
        let update = state(&id, place as u64 + 1);
        last = with_payload(update, Payload::new(serializer, manifest, vec![1]));
        subject.store().upsert(last.clone()).await?;
        expect_state(subject.store(), &last).await?;
    }
    let subject = subject.restart().await?;
    expect_state(subject.store(), &last).await
}

async fn serialize_states(subject: Subject<dyn StateStore>) -> CaseResult {
    for format in [MyPayload::V1, MyPayload::V2] {
        let value = MyPayload::unique(".s.");
        let update = with_payload(state(&fresh_id(), 1), value.encode(format));
        subject.store().upsert(update.clone()).await?;
        let found = subject.store().get(&update.persistence_id).await?.state;
        let found = found.ok_or_else(|| Failure::new("expected a state"))?;
        let expected = MyPayload::decode(&update.payload)?;
        expect_eq(
            "decoded state",
            MyPayload::decode(&found.payload)?,
            expected,
        )?;
    }
    Ok(())
}

async fn serialize_with_serializers_of_an_application(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let payloads = of_an_application().into_iter();
    let updates: Vec<_> = payloads
        .map(|payload| with_payload(state(&fresh_id(), 1), payload))
        .collect();
    for update in &updates {
        subject.store().upsert(update.clone()).await?;
    }
    let subject = subject.restart().await?;
    for update in &updates {
        expect_state(subject.store(), update).await?;
    }
    Ok(())
}

async fn replace_tags_by_those_of_the_update(subject: Subject<dyn StateStore>) -> CaseResult {
    let id = fresh_id();
    let several = [
        vec!["red", "blue"],
        vec!["blue", "Blue", "blue "],
        vec![],
        ODD_TEXTS.to_vec(),
        vec!["red"],
    ];
    for (place, tags) in several.into_iter().enumerate() {
        let update = state(&id, place as u64 + 1).with_tags(tags);
        subject.store().upsert(update.clone()).await?;
        expect_state(subject.store(), &update).await?;
    }
    let subject = subject.restart().await?;
    expect_state(subject.store(), &state(&id, 5).with_tags(["red"])).await
}
