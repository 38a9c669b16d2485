//! The order of events for queries: docs/adr/0016-partitions-and-indexes.md.

use actix_persistence_storage_api::PersistenceId;
use sqlx::{AssertSqlSafe, Row};

use crate::place::{Place, store};

/// A rare type among others is found in the order of commits, and nothing is sorted.
#[tokio::test]
async fn events_of_a_type_are_found_in_their_order_by_an_index() {
    let place = Place::new();
    let journal = place.journal().await;
    for number in 0..20 {
        let id = PersistenceId::of(&format!("Type{number}"), "a");
        store(&journal, &id, 5).await;
    }
    let sql = "EXPLAIN QUERY PLAN SELECT ordering FROM event_journal WHERE entity_type = 'Type3' AND ordering > 7 \
               ORDER BY ordering LIMIT 10";
    for analysed in [false, true] {
        let mut connection = place.connection().await;
        if analysed {
            place.run("ANALYZE").await;
        }
        let plan = sqlx::query(AssertSqlSafe(sql.to_owned()));
        let plan = plan.fetch_all(&mut connection).await.unwrap();
        let plan: Vec<String> = plan.iter().map(|row| row.get("detail")).collect();
        let expected = "USING INDEX event_journal_typed (entity_type=? AND rowid>?)";
        assert!(plan.len() == 1 && plan[0].contains(expected), "{plan:?}");
    }
}
