//! Tests of what is checked when a store is opened.

use actix_persistence_sql::TableName;

use super::*;

fn names() -> SqlNames {
    let name = |text| TableName::parse(text).unwrap();
    SqlNames::new('"', Some(name("bank")))
        .table("event_table", &name("event"))
        .table("tag_table", &name("tag"))
        .table("removed_table", &name("gone"))
        .text("payload_type", "bytea")
}

fn message(error: SqlError) -> String {
    match error {
        SqlError::Refused { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn numbers_of_transactions_that_are_not_reached_are_refused_with_the_cure() {
    for newest in [None, Some(i64::MIN), Some(0), Some(99)] {
        assert!(
            check_ordering(newest, 100, &names(), LOWER_ORDERING).is_ok(),
            "{newest:?}"
        );
    }
    let message = message(check_ordering(Some(100), 100, &names(), LOWER_ORDERING).unwrap_err());
    assert!(
        message.contains("UPDATE \"bank\".\"event\" SET ordering = ordering - 1;"),
        "{message}"
    );
    assert!(message.contains("UPDATE \"bank\".\"tag\""), "{message}");
}

#[test]
fn another_type_of_payloads_is_refused() {
    assert!(check_payload_type(Some("bytea".to_owned()), &names()).is_ok());
    let message = message(check_payload_type(Some("json".to_owned()), &names()).unwrap_err());
    assert!(message.contains("'payload-column'"), "{message}");
}
