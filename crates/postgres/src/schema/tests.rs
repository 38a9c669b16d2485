//! Tests of what is checked when a store is opened.

use super::*;

fn message(error: SqlError) -> String {
    match error {
        SqlError::Refused { message, .. } => message,
        other => panic!("{other:?}"),
    }
}

fn found(newest: Option<i64>, next: i64, oldest: i64) -> Found {
    Found {
        payload_type: "bytea".to_owned(),
        newest,
        next,
        oldest,
    }
}

#[test]
fn the_base_is_raised_only_if_a_number_is_stored_that_is_not_reached() {
    for newest in [None, Some(i64::MIN), Some(0), Some(99)] {
        let found = found(newest, 100, 90);
        assert!(!found.base_is_too_low(), "{newest:?}");
        assert_eq!(found.to_add().unwrap(), None, "{newest:?}");
    }
    let found = found(Some(100), 100, 90);
    assert!(found.base_is_too_low());
    let by = found.to_add().unwrap().unwrap();
    assert!(
        90 + by > 100,
        "even the oldest transaction under way comes after all"
    );
}

#[test]
fn a_number_above_which_there_is_no_room_is_refused() {
    for newest in [i64::MAX, i64::MAX - MARGIN] {
        let found = found(Some(newest), 100, 90);
        let message = message(found.to_add().unwrap_err());
        assert!(message.contains(&newest.to_string()), "{message}");
    }
}

#[test]
fn another_type_of_payloads_is_refused() {
    let names = SqlNames::new('"', None).text("payload_type", "bytea");
    assert!(check_payload_type("bytea", &names).is_ok());
    let message = message(check_payload_type("json", &names).unwrap_err());
    assert!(message.contains("'payload-column'"), "{message}");
}
