//! The contents of the tables, and the rows that they refuse.

use actix_persistence_sql_tests::until_number;
use actix_persistence_storage_api::Journal;

use crate::place::{Place, id, store};

actix_persistence_sql_tests::test_rows!(Place::new());

#[tokio::test]
async fn ordering_follows_commits_and_is_never_used_again() {
    let place = Place::new();
    let journal = place.journal().await;
    store(&journal, &id("a"), 3).await;
    store(&journal, &id("b"), 2).await;
    let last = "SELECT max(ordering) FROM event_journal";
    assert_eq!(place.number(last).await, 5);
    journal
        .delete_messages_to(&id("b"), 2.into())
        .await
        .unwrap();
    until_number(&place, last, |number| number <= 3).await;
    drop(journal);
    let journal = place.journal().await;
    store(&journal, &id("a"), 1).await;
    assert_eq!(place.number(last).await, 6);
}
