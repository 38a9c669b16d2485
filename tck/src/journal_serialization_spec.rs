//! `journal_serialization_spec`: events of serializers that the journal has never heard of.

use actix_persistence_storage_api::{EventRecord, Journal};

use crate::capability::Capability;
use crate::case::{Case, Spec, case};
use crate::failure::{CaseResult, Failure, expect_eq};
use crate::journal_steps::{expect_highest, expect_records, expect_stored, replayed};
use crate::my_payload::{MyPayload, of_an_application};
use crate::subject::Subject;
use crate::writer::Writer;

/// The spec of what a journal keeps of payloads.
pub(crate) const SPEC: Spec<dyn Journal> = Spec {
    name: "journal_serialization_spec",
    groups: &[CASES],
};

const CASES: &[Case<dyn Journal>] = &[
    case!(serialize_persistent, ["J-WRITE-7", "J-WRITE-3"])
        .of_spec("JournalSerializationSpec serialize_Persistent"),
    case!(
        serialize_persistent_with_string_manifest,
        ["J-WRITE-7", "J-WRITE-3"]
    )
    .of_spec("JournalSerializationSpec serialize_Persistent_with_string_manifest"),
    case!(
        serialize_persistent_with_event_adapter_manifest,
        ["J-WRITE-7", "J-WRITE-3"]
    )
    .of_spec("JournalSerializationSpec serialize_Persistent_with_EventAdapter_manifest"),
    case!(serialize_formats_side_by_side, ["J-WRITE-7"]),
    case!(
        serialize_with_serializers_of_an_application,
        ["J-WRITE-7", "J-WRITE-3"]
    ),
    case!(serialize_metadata, ["J-WRITE-7"]).needing(Capability::Metadata),
];

/// Writes the events, and expects them and what they decode to, before and after a restart.
async fn expect_round_trip(
    subject: Subject<dyn Journal>,
    writer: &Writer,
    events: Vec<EventRecord>,
) -> CaseResult {
    let writes = events
        .iter()
        .map(|event| writer.write_of(vec![event.clone()]))
        .collect();
    expect_stored(subject.store(), writes).await?;
    expect_decoded(subject.store(), writer, &events).await?;
    let subject = subject.restart().await?;
    expect_decoded(subject.store(), writer, &events).await
}

async fn expect_decoded(
    journal: &dyn Journal,
    writer: &Writer,
    events: &[EventRecord],
) -> CaseResult {
    let found = replayed(journal, &writer.id).await?;
    expect_eq("decoded events", decoded(&found)?, decoded(events)?)?;
    expect_records(&found, events)?;
    expect_highest(journal, &writer.id, events.len() as u64).await
}

/// Returns the values in payloads and metadata.
fn decoded(events: &[EventRecord]) -> Result<Vec<MyPayload>, Failure> {
    events
        .iter()
        .flat_map(|event| [Some(&event.payload), event.metadata.as_ref()])
        .flatten()
        .map(MyPayload::decode)
        .collect()
}

async fn serialize_persistent(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = Writer::of_fresh_id(subject.store()).await?;
    let mut event = writer.event(1);
    event.payload = MyPayload::unique(".a.").encode(MyPayload::V1);
    expect_round_trip(subject, &writer, vec![event]).await
}

async fn serialize_persistent_with_string_manifest(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = Writer::of_fresh_id(subject.store()).await?;
    let mut event = writer.event(1);
    event.payload = MyPayload::unique(".b.").encode(MyPayload::V2);
    expect_round_trip(subject, &writer, vec![event]).await
}

async fn serialize_persistent_with_event_adapter_manifest(
    subject: Subject<dyn Journal>,
) -> CaseResult {
    let writer = Writer::of_fresh_id(subject.store()).await?;
    let mut event = writer.event(1).with_adapter_manifest("adapter-manifest");
    event.payload = MyPayload::unique(".item1.").encode(MyPayload::V2);
    expect_round_trip(subject, &writer, vec![event]).await
}

async fn serialize_formats_side_by_side(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = Writer::of_fresh_id(subject.store()).await?;
    let formats = [MyPayload::V1, MyPayload::V2].into_iter().cycle();
    let events = (1..=6).zip(formats).map(|(number, format)| {
        let mut event = writer.event(number);
        event.payload = MyPayload::unique("side by side").encode(format);
        event
    });
    let events = events.collect();
    expect_round_trip(subject, &writer, events).await
}

async fn serialize_with_serializers_of_an_application(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = Writer::of_fresh_id(subject.store()).await?;
    let payloads = of_an_application().into_iter();
    let events = (1..).zip(payloads).map(|(number, payload)| {
        let mut event = writer.event(number);
        event.payload = payload;
        event
    });
    let events: Vec<_> = events.collect();
    let writes = events
        .iter()
        .map(|event| writer.write_of(vec![event.clone()]))
        .collect();
    expect_stored(subject.store(), writes).await?;
    let found = replayed(subject.store(), &writer.id).await?;
    expect_records(&found, &events)?;
    let subject = subject.restart().await?;
    let found = replayed(subject.store(), &writer.id).await?;
    expect_records(&found, &events)
}

async fn serialize_metadata(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = Writer::of_fresh_id(subject.store()).await?;
    // Two serializers in one record.
    let mut event = writer
        .event(1)
        .with_metadata(MyPayload::unique("beside").encode(MyPayload::V2));
    event.payload = MyPayload::unique("event").encode(MyPayload::V1);
    expect_round_trip(subject, &writer, vec![event]).await
}
