//! The conditions of a selection, each by itself and together.

use actix_persistence_storage_api::{
    EventRecord, EventSelection, EventsQuery, Journal, PersistenceId,
};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::event_query_steps::{EventOfId, expect_events, of_id, store_events, store_one};
use crate::failure::{CaseResult, Failure};
use crate::odd_texts::ODD_TEXTS;
use crate::query_ids::{ids_of_types, odd_types};
use crate::query_steps::{id_of_slice, tck_id};
use crate::subject::Subject;
use crate::writer::Writer;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(give_events_of_one_entity_type_as_it_is, ["E-EVENTS-3"])
        .needing(Capability::EventQueries),
    case!(give_events_of_slices_with_both_ends, ["E-EVENTS-3"]).needing(Capability::EventQueries),
    case!(give_events_of_one_tag_byte_by_byte, ["E-EVENTS-3"])
        .needing(Capability::EventQueries)
        .needing(Capability::Tags),
    case!(give_events_of_one_manifest_byte_by_byte, ["E-EVENTS-3"])
        .needing(Capability::EventQueries),
    case!(
        give_events_for_which_every_condition_holds,
        ["E-EVENTS-3", "E-EVENTS-7"]
    )
    .needing(Capability::EventQueries)
    .needing(Capability::Tags),
];

async fn give_events_of_one_entity_type_as_it_is(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut stored = Vec::new();
    for id in ids_of_types() {
        let mut writer = Writer::holder_of(journal, &id).await?;
        writer.store(journal, 2).await?;
        stored.extend(of_id(&id, writer.events(1..=2)));
    }
    for entity_type in odd_types() {
        let of_type = |(id, _): &&EventOfId| id.entity_type() == entity_type;
        for limit in [1, 100] {
            let selection = EventSelection::all().of_entity_type(entity_type);
            let expected = stored.iter().filter(of_type);
            expect_events(journal, EventsQuery::new(selection, limit), expected).await?;
        }
    }
    Ok(())
}

async fn give_events_of_slices_with_both_ends(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut stored = Vec::new();
    for slice in [0, 1, 1023, 1022, 127, 128, 501, 500] {
        let id = id_of_slice(slice);
        stored.push(store_one(journal, &id, |event| event).await?);
    }
    for range in [
        0..=1023,
        1..=1022,
        0..=127,
        128..=500,
        501..=1023,
        0..=0,
        1023..=1023,
        2..=126,
    ] {
        let inside = stored.iter().filter(|(id, _)| range.contains(&id.slice()));
        let selection = EventSelection::all().of_slices(range.clone());
        expect_events(journal, EventsQuery::new(selection, 3), inside).await?;
    }
    Ok(())
}

/// Stores an event for each text and one before it without, and expects that of each text where it is asked for.
async fn expect_each_text(
    subject: Subject<dyn Journal>,
    of: impl Fn(EventRecord, &str) -> EventRecord,
    selecting: impl Fn(&str) -> EventSelection,
) -> CaseResult {
    let journal = subject.store();
    let writer = Writer::holder_of(journal, &tck_id(1)).await?;
    let texts: Vec<_> = ODD_TEXTS.iter().map(|text| (*text).to_owned()).collect();
    let longest = ["\u{20ac}".repeat(85), "x".repeat(255), "x".repeat(254)];
    let texts = [&texts[..], &longest].concat();
    let mut events = Vec::new();
    for (text, number) in texts.iter().zip((1..).step_by(2)) {
        events.push(writer.event(number));
        events.push(of(writer.event(number + 1), text));
    }
    let stored = store_events(journal, &writer, events).await?;
    let with_texts = stored.iter().skip(1).step_by(2);
    for (text, event) in texts.iter().zip(with_texts) {
        let query = EventsQuery::new(selecting(text), 2);
        let found = expect_events(journal, query, [event]).await;
        found.map_err(|failure| failure.within(format!("{text:?}")))?;
    }
    for other in ["cas", "case ", "%", "*", "x"] {
        let query = EventsQuery::new(selecting(other), 2);
        let found = expect_events(journal, query, []).await;
        found.map_err(|failure: Failure| failure.within(format!("{other:?}")))?;
    }
    Ok(())
}

async fn give_events_of_one_tag_byte_by_byte(subject: Subject<dyn Journal>) -> CaseResult {
    expect_each_text(
        subject,
        |event, text| event.with_tags(["first of all", text, "~ last"]),
        |text| EventSelection::all().with_tag(text),
    )
    .await
}

async fn give_events_of_one_manifest_byte_by_byte(subject: Subject<dyn Journal>) -> CaseResult {
    expect_each_text(
        subject,
        |mut event, text| {
            event.payload.manifest = text.into();
            event
        },
        |text| EventSelection::all().with_manifest(text),
    )
    .await
}

async fn give_events_for_which_every_condition_holds(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let mut stored = Vec::new();
    let manifests = ["tck.one:v1", "tck.two:v1"];
    let tags: [&[&str]; 4] = [&[], &["green"], &["green", "apple"], &["apple"]];
    for entity_type in ["Tck", "Tck2", "Tc"] {
        for number in 0..4 {
            let id = PersistenceId::of(entity_type, &number.to_string());
            let writer = Writer::holder_of(journal, &id).await?;
            let events = (1..).zip(manifests.iter().flat_map(|manifest| {
                let tags = tags.iter();
                tags.map(move |tags| (*manifest, *tags))
            }));
            let events = events.map(|(number, (manifest, tags))| {
                let mut event = writer.event(number).with_tags(tags.iter().copied());
                event.payload.manifest = manifest.into();
                event
            });
            stored.extend(store_events(journal, &writer, events.collect()).await?);
        }
    }
    for conditions in 0..16_u8 {
        let has = |bit: u8| conditions & (1 << bit) != 0;
        let mut selection = EventSelection::all();
        if has(0) {
            selection = selection.of_entity_type("Tck");
        }
        if has(1) {
            selection = selection.of_slices(0..=511);
        }
        if has(2) {
            selection = selection.with_tag("green");
        }
        if has(3) {
            selection = selection.with_manifest("tck.two:v1");
        }
        let holds = |(id, event): &&EventOfId| {
            (!has(0) || id.as_str().starts_with("Tck|"))
                && (!has(1) || id.slice() < 512)
                && (!has(2) || event.tags.iter().any(|tag| &**tag == "green"))
                && (!has(3) || &*event.payload.manifest == "tck.two:v1")
        };
        for limit in [1, 5, 1_000] {
            let query = EventsQuery::new(selection.clone(), limit);
            let expected = stored.iter().filter(holds);
            let found = expect_events(journal, query, expected).await;
            found.map_err(|failure| failure.within(format!("{selection:?}")))?;
        }
    }
    Ok(())
}
