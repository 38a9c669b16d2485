//! Two owners of one file, as two processes would be.

use actix_persistence_sql_tests::Tables;
use actix_persistence_storage_api::{Journal, WriterId};
use actix_persistence_tck::TakeOverOne;

use crate::place::{Place, failure, id, write};

actix_persistence_sql_tests::test_two_writers!(Place::new());

#[tokio::test]
async fn an_event_from_another_tool_is_seen_by_the_fence() {
    let place = Place::new();
    let journal = place.journal().await;
    let (id, writer) = (id("a"), WriterId::random());
    let epoch = journal.take_over_one(&id, writer).await.unwrap().epoch;
    place.run(place.event_of_another_tool("Test|a", 1)).await;
    let write = write(&id, epoch, writer, 1..=1);
    let outcomes = journal.write_messages(vec![write]).await.unwrap();
    let conflict = *failure(&outcomes[0]).sequence_conflict().unwrap();
    assert_eq!(conflict.stored.sequence_nr, 1);
}
