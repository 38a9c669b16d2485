//! Cases of the ids that a query returns.

use actix_persistence_storage_api::{EventDeletion, Journal, PersistenceIdsQuery, WriterId};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::journal_steps::{MAX, conflict_in, outcome_of, replayed};
use crate::query_ids::{
    HasIds, give_ids_above_one_that_need_not_be_there,
    give_ids_page_by_page_in_the_order_of_their_bytes, give_the_ids_of_one_entity_type_as_it_is,
    read_ids,
};
use crate::query_steps::{ENTITY_TYPE, tck_id};
use crate::subject::Subject;
use crate::writer::Writer;

use super::deletes::purge;

pub(super) const CASES: &[Case<dyn Journal>] = &[
    case!(
        give_ids_page_by_page_in_the_order_of_their_bytes,
        ["E-IDS-1"]
    )
    .needing(Capability::EventQueries),
    case!(give_ids_above_one_that_need_not_be_there, ["E-IDS-2"]).needing(Capability::EventQueries),
    case!(give_the_ids_of_one_entity_type_as_it_is, ["E-IDS-3"]).needing(Capability::EventQueries),
    case!(give_ids_without_events_when_asked_only, ["E-IDS-4"]).needing(Capability::EventQueries),
    case!(give_no_id_of_which_nothing_was_stored, ["E-IDS-5"]).needing(Capability::EventQueries),
    case!(give_no_id_that_was_purged, ["E-IDS-5"])
        .needing(Capability::EventQueries)
        .needing(Capability::Purge),
];

async fn give_ids_without_events_when_asked_only(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let ids = [1, 2, 3, 4].map(tck_id);
    let [whole, without_events, rest, again] = &ids;
    for id in &ids {
        let mut writer = Writer::holder_of(journal, id).await?;
        writer.store(journal, 3).await?;
        let deleted_to = match id {
            id if id == whole => continue,
            id if id == without_events => MAX,
            id if id == rest => 2,
            _ => 3,
        };
        journal
            .delete_messages_to(id, EventDeletion::up_to(deleted_to))
            .await?;
        if id == again {
            writer.store(journal, 1).await?;
        }
    }
    let with_events = [whole, rest, again].map(Clone::clone);
    for limit in [1, 10] {
        let query = PersistenceIdsQuery::new(limit);
        for query in [query.clone(), query.of_entity_type(ENTITY_TYPE)] {
            let found = read_ids(journal, query.clone()).await?;
            expect_eq("ids with events", &found[..], &with_events)?;
            let found = read_ids(journal, query.with_tombstones()).await?;
            expect_eq("all ids", &found[..], &ids)?;
        }
    }
    Ok(())
}

async fn give_no_id_of_which_nothing_was_stored(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let (read, taken_over, refused, stored) = (tck_id(1), tck_id(2), tck_id(3), tck_id(4));
    replayed(journal, &read).await?;
    journal.read_highest_sequence_nr(&read).await?;
    journal
        .delete_messages_to(&read, EventDeletion::up_to(MAX))
        .await?;
    Writer::holder_of(journal, &taken_over).await?;
    Writer::holder_of(journal, &refused).await?;
    let stranger = Writer::stranger(&refused, WriterId::random(), 0);
    conflict_in(&outcome_of(journal, stranger.single(1)).await?)?;
    journal.store_first(&stored).await?;
    let query = PersistenceIdsQuery::new(10);
    for query in [query.clone(), query.with_tombstones()] {
        let found = read_ids(journal, query).await?;
        expect_eq("ids", &found[..], std::slice::from_ref(&stored))?;
    }
    Ok(())
}

async fn give_no_id_that_was_purged(subject: Subject<dyn Journal>) -> CaseResult {
    let journal = subject.store();
    let (purged, without_events, taken_over, again) = (tck_id(1), tck_id(2), tck_id(3), tck_id(4));
    for id in [&purged, &without_events, &taken_over, &again] {
        let mut writer = Writer::holder_of(journal, id).await?;
        writer.store(journal, 2).await?;
    }
    journal
        .delete_messages_to(&without_events, EventDeletion::up_to(MAX))
        .await?;
    for id in [&purged, &without_events, &taken_over, &again] {
        purge(journal, id).await?;
    }
    Writer::holder_of(journal, &taken_over).await?;
    journal.store_first(&again).await?;
    let query = PersistenceIdsQuery::new(10);
    for query in [query.clone(), query.with_tombstones()] {
        let found = read_ids(journal, query).await?;
        expect_eq("ids", &found[..], std::slice::from_ref(&again))?;
    }
    Ok(())
}
