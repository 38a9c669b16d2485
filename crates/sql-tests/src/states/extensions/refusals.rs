//! Values that a rule of the application's own refuses.

use std::sync::{Arc, Mutex};

use actix_persistence_storage_api::{
    SessionWork, Sql, SqlValue, StateDelete, StateExtensions, StorageErrorKind,
};

use super::NextValue;
use crate::Tables;
use crate::states::{id, revision_of, state, store};

/// A column, and a value that it does not take.
pub struct Refused {
    /// The type of the column, with whatever rules it has.
    pub column: &'static str,
    /// The value that it refuses.
    pub value: SqlValue,
}

/// A value that a column or a trigger refuses is reported as refused, certainly not stored, and no failure of the
/// store, however often; the state goes on. The statement makes a trigger that refuses every change of a row with the
/// revision 3.
///
/// # Panics
/// If that is not so.
pub async fn what_rules_refuse_is_told_as_that(
    tables: &dyn Tables,
    refused: Vec<Refused>,
    trigger: &[&str],
) {
    let plain = tables.open().await;
    for (number, Refused { column, value }) in refused.into_iter().enumerate() {
        let add = format!("ALTER TABLE durable_state ADD COLUMN odd {column}");
        tables.run(&add).await;
        let odd = NextValue::of("odd");
        let states = tables.open_with_handlers(&odd.extensions()).await;
        let name = number.to_string();
        odd.set(SqlValue::Null);
        store(&*states, state(&name, 1)).await;
        odd.set(value.clone());
        for _ in 0..2 {
            let error = states.upsert(state(&name, 2)).await;
            let error = error.expect_err(column);
            let kind = error.kind();
            assert_eq!(kind, StorageErrorKind::Constraint, "{column}: {error:?}");
            assert!(error.is_not_stored(), "{column}: {error:?}");
            assert!(!kind.counts_as_store_failure());
            if let SqlValue::Text(text) = &value {
                assert!(!format!("{error:?}").contains(&**text), "{error:?}");
            }
            assert_eq!(revision_of(&*plain, &name).await, 1);
        }
        odd.set(SqlValue::Null);
        store(&*states, state(&name, 2)).await;
        tables
            .run("ALTER TABLE durable_state DROP COLUMN odd")
            .await;
    }
    store(&*plain, state("triggered", 1)).await;
    for sql in trigger {
        tables.run(sql).await;
    }
    store(&*plain, state("triggered", 2)).await;
    for _ in 0..2 {
        for result in [
            plain.upsert(state("triggered", 3)).await,
            plain.delete(StateDelete::new(id("triggered"), 3)).await,
        ] {
            let error = result.expect_err("the trigger refuses it");
            assert_eq!(error.kind(), StorageErrorKind::Constraint, "{error:?}");
            assert!(error.is_not_stored(), "{error:?}");
        }
    }
}

/// Code of the application can know that a row of its own is there already, that a value is missing or does not fit;
/// the text of the value is nowhere in the error, but the key that is there already is, as the database names `key`.
///
/// # Panics
/// If it is otherwise.
pub async fn code_of_the_application_is_told_what_its_rules_refuse(
    tables: &dyn Tables,
    key: &'static str,
) {
    tables
        .run("CREATE TABLE things (name VARCHAR(30) PRIMARY KEY, n BIGINT NOT NULL CHECK (n < 9))")
        .await;
    let states = tables.open_with_handlers(&StateExtensions::default()).await;
    let table = tables.of_application("things");
    let secret = "the-secret-of-hunter2";
    for (first, values) in [
        (true, vec![secret.into(), 1_i64.into()]),
        (false, vec![secret.into(), 1_i64.into()]),
        (false, vec!["other".into(), SqlValue::Null]),
        (false, vec!["other".into(), 9_i64.into()]),
    ] {
        let is_duplicate = values[0] == secret.into();
        let insert = format!("INSERT INTO {table} (name, n) VALUES ($1, $2)");
        let told = Arc::new(Mutex::new(None));
        let out = Arc::clone(&told);
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                let done = session.execute(Sql::assert_safe(insert), values).await;
                *out.lock().expect("nobody panicked") = done.as_ref().err().cloned();
                done?;
                Ok(())
            })
        });
        let sql = states.sql().expect("it has SQL");
        let done = sql.transact(work).await;
        assert_eq!(done.is_ok(), first, "{done:?}");
        if let Err(error) = done {
            assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}");
            assert!(error.is_not_stored(), "{error:?}");
        }
        // Looked at out here: in there, a panic would be one more reason to refuse the transaction.
        let told = told.lock().expect("nobody panicked").take();
        assert_eq!(told.is_none(), first, "{told:?}");
        if let Some(error) = told {
            assert_eq!(error.kind(), StorageErrorKind::Constraint, "{error:?}");
            assert!(error.is_not_stored(), "{error:?}");
            let text = format!("{error:?}");
            assert!(!text.contains(secret), "{text}");
            assert_eq!(text.contains(key), is_duplicate, "{text}");
        }
    }
}
