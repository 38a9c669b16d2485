//! Cases of fields: every field of an event comes back as it was written; with case 21 of Pekko's JournalSpec.

use actix_persistence_storage_api::{
    EventRecord, Journal, Payload, SequenceNr, Timestamp, WriterId,
};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::journal_steps::{
    ALL, MAX, expect_highest, expect_records, expect_stored, page, replayed,
};
use crate::my_payload::MyPayload;
use crate::odd_texts::ODD_TEXTS;
use crate::subject::Subject;
use crate::take_over_one::TakeOverOne;
use crate::writer::{Writer, text};

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(serialize_events, ["J-WRITE-7"]).of_spec("JournalSpec 15"),
    case!(keep_the_bytes_of_an_event, ["J-WRITE-7"]),
    case!(keep_serializer_ids_and_manifests, ["J-WRITE-7"]),
    case!(keep_timestamps, ["J-WRITE-7"]),
    case!(keep_the_writer_of_every_event, ["J-WRITE-7"]),
    case!(return_metadata, ["J-WRITE-7"])
        .of_spec("JournalSpec 21")
        .needing(Capability::Metadata),
    case!(keep_all_parts_of_metadata, ["J-WRITE-7"]).needing(Capability::Metadata),
    case!(keep_tags, ["J-WRITE-7"]).needing(Capability::Tags),
];

/// Writes the events one by one in one call and expects them back, before and after a restart.
async fn expect_kept(
    subject: Subject<dyn Journal>,
    writer: &Writer,
    mut events: Vec<EventRecord>,
) -> CaseResult {
    let writes = events
        .iter()
        .map(|event| writer.write_of(vec![event.clone()]))
        .collect();
    expect_stored(subject.store(), writes).await?;
    sort_tags(&mut events);
    let mut found = replayed(subject.store(), &writer.id).await?;
    sort_tags(&mut found);
    expect_records(&found, &events)?;
    let subject = subject.restart().await?;
    let mut found = replayed(subject.store(), &writer.id).await?;
    sort_tags(&mut found);
    expect_records(&found, &events)
}

/// Tags have no order.
fn sort_tags(events: &mut [EventRecord]) {
    for event in events {
        event.tags.sort();
    }
}

/// Events 1, 2 and so on, each changed for one value.
fn events_with<T>(
    writer: &Writer,
    values: impl IntoIterator<Item = T>,
    change: impl Fn(&mut EventRecord, T),
) -> Vec<EventRecord> {
    let numbers: std::ops::RangeFrom<SequenceNr> = 1..;
    numbers
        .zip(values)
        .map(|(number, value)| {
            let mut event = writer.event(number);
            change(&mut event, value);
            event
        })
        .collect()
}

async fn serialize_events(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut writer = subject.five_events().await?;
    let mut event = writer.event(6);
    event.payload = MyPayload::new("serialized").encode(MyPayload::V1);
    writer.next = 7;
    expect_stored(journal, vec![writer.write_of(vec![event.clone()])]).await?;
    let found = page(journal, &writer.id, (6, MAX), ALL).await?;
    expect_records(&found.events, std::slice::from_ref(&event))?;
    let decoded = MyPayload::decode(&found.events[0].payload)?;
    expect_eq("payload", decoded, MyPayload::new("serialized"))?;
    expect_highest(journal, &writer.id, 6).await
}

async fn keep_the_bytes_of_an_event(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = Writer::of_fresh_id(subject.store()).await?;
    let every_byte: Vec<u8> = (0..=255).collect();
    let no_text = vec![0xff, 0xfe, 0x00, 0xc3, 0x28];
    let bytes = [Vec::new(), vec![0], every_byte, no_text];
    let events = events_with(&writer, bytes, |event, bytes| {
        event.payload = Payload::new(1_000, "tck.bytes:v1", bytes);
    });
    expect_kept(subject, &writer, events).await
}

async fn keep_serializer_ids_and_manifests(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = Writer::of_fresh_id(subject.store()).await?;
    let longest = ["m".repeat(255), "\u{20ac}".repeat(85)];
    let manifests = ODD_TEXTS
        .iter()
        .copied()
        .chain(longest.iter().map(String::as_str))
        .chain([""]);
    let ids = [0, 1, 2, 99, 1_000, 77_123, i32::MAX as u32, u32::MAX];
    let events = events_with(
        &writer,
        manifests.zip(ids.iter().cycle()),
        |event, (manifest, &id)| {
            event.payload = Payload::new(id, manifest, "x");
            // The event adapter's manifest is another one: one column for both loses it.
            event.adapter_manifest = match manifest {
                "" => "".into(),
                _ => manifest.chars().rev().collect::<String>().into(),
            };
        },
    );
    expect_kept(subject, &writer, events).await
}

async fn keep_timestamps(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = Writer::of_fresh_id(subject.store()).await?;
    // Not ascending: numbers order events, timestamps do not.
    let micros = [1_763_697_831_123_457, 0, 1, -1, 999_999, i64::MAX, i64::MIN];
    let events = events_with(&writer, micros, |event, micros| {
        event.timestamp = Timestamp::from_micros(micros);
    });
    expect_kept(subject, &writer, events).await
}

async fn keep_the_writer_of_every_event(subject: Subject<dyn Journal>) -> CaseResult {
    let mut first = subject.five_events().await?;
    let mut second = Writer::holder_of(subject.store(), &first.id).await?;
    second.store(subject.store(), 2).await?;
    // A writer that other tools left unknown.
    first.taken = subject
        .store()
        .take_over_one(&first.id, WriterId::NIL)
        .await?;
    let mut unknown = Writer {
        writer: WriterId::NIL,
        id: first.id.clone(),
        taken: first.taken,
        next: 8,
    };
    unknown.store(subject.store(), 1).await?;
    let expected = [
        first.events(1..=5),
        second.events(6..=7),
        unknown.events(8..=8),
    ]
    .concat();
    expect_records(&replayed(subject.store(), &first.id).await?, &expected)?;
    let subject = subject.restart().await?;
    expect_records(&replayed(subject.store(), &first.id).await?, &expected)
}

async fn return_metadata(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let writer = subject.five_events().await?;
    let event = writer.event(6).with_metadata(text("meta-data"));
    expect_stored(journal, vec![writer.write_of(vec![event.clone()])]).await?;
    let found = page(journal, &writer.id, (6, 6), 1).await?;
    expect_records(&found.events, &[event])?;
    expect_eq("more", found.more, false)?;
    expect_highest(journal, &writer.id, 6).await
}

async fn keep_all_parts_of_metadata(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = Writer::of_fresh_id(subject.store()).await?;
    let every_byte: Vec<u8> = (0..=255).collect();
    let values = [
        None,
        Some(Payload::new(0, "", "")),
        Some(Payload::new(u32::MAX, "", every_byte)),
        None,
        Some(Payload::new(1_001, "tck.m\u{e9}ta:v1", "m")),
    ];
    let events = events_with(&writer, values, |event, metadata| {
        event.metadata = metadata;
    });
    expect_kept(subject, &writer, events).await
}

async fn keep_tags(subject: Subject<dyn Journal>) -> CaseResult {
    let writer = Writer::of_fresh_id(subject.store()).await?;
    let values = [
        vec!["green"],
        vec![],
        vec!["green", "apple"],
        ODD_TEXTS.to_vec(),
        vec!["green"],
    ];
    let events = events_with(&writer, values, |event, tags| {
        *event = event.clone().with_tags(tags);
    });
    expect_kept(subject, &writer, events).await
}
