//! Statements of the application in transactions of a store.

use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use actix_persistence_storage_api::{
    FromSqlValue, RowError, SessionWork, Sql, SqlRow, SqlValue, StateStore, StorageError,
    StorageErrorKind,
};
use futures_util::FutureExt;

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::extension_steps::{
    ENDINGS, Site, end, expect_extension_refused, expect_truth, select, sql,
};
use crate::failure::{CaseResult, expect_eq};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn StateStore>] = &[
    case!(give_values_back_as_they_were_given, ["D-SELECT-1"]).needing(Capability::SqlSession),
    case!(take_values_by_their_numbers, ["D-SELECT-2"]).needing(Capability::SqlSession),
    case!(tell_how_many_rows_a_statement_changed, ["D-EXECUTE-2"]).needing(Capability::SqlSession),
    case!(store_what_a_transaction_did_or_nothing, ["D-TRANSACT-1"])
        .needing(Capability::SqlSession),
    case!(
        store_nothing_after_a_statement_that_failed,
        ["D-TRANSACT-2"]
    )
    .needing(Capability::SqlSession),
    case!(
        tell_the_truth_about_a_transaction_that_was_ended,
        ["D-EXECUTE-3"]
    )
    .needing(Capability::SqlSession),
    case!(tell_what_a_rule_refuses, ["D-EXECUTE-4"]).needing(Capability::SqlSession),
    case!(
        store_nothing_after_a_statement_that_was_given_up,
        ["D-EXECUTE-5"]
    )
    .needing(Capability::SqlSession),
];

async fn give_values_back_as_they_were_given(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open(|_| {}).await?;
    let table = site.values.clone();
    let create = SessionWork::new(move |session| {
        let is_postgres = session.database() == "postgres";
        let bytes = if is_postgres { "BYTEA" } else { "BLOB" };
        let columns = format!("i BIGINT, f DOUBLE PRECISION, t TEXT, b {bytes}");
        Box::pin(async move {
            let text = format!("CREATE TABLE {table} ({columns})");
            session.execute(Sql::assert_safe(text), []).await?;
            Ok(())
        })
    });
    sql(&*store)?.transact(create).await?;
    let rows = [
        // More than a float can hold.
        [
            9_007_199_254_740_993_i64.into(),
            0.5.into(),
            "text".into(),
            vec![0, 255].into(),
        ],
        [
            i64::MIN.into(),
            (-1e300).into(),
            "".into(),
            Vec::new().into(),
        ],
        [
            i64::MAX.into(),
            3.0.into(),
            "ü'\"\\".into(),
            vec![7; 5_000].into(),
        ],
        [
            SqlValue::Null,
            SqlValue::Null,
            SqlValue::Null,
            SqlValue::Null,
        ],
        [0_i64.into(), SqlValue::Null, "x".into(), SqlValue::Null],
    ];
    for row in rows.clone() {
        let insert = format!(
            "INSERT INTO {} (i, f, t, b) VALUES ($1, $2, $3, $4)",
            site.values
        );
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                session.execute(Sql::assert_safe(insert), row).await?;
                Ok(())
            })
        });
        sql(&*store)?.transact(work).await?;
    }
    for row in rows {
        let (condition, values) = match &row[0] {
            SqlValue::Null => ("i IS NULL", vec![]),
            value => ("i = $1", vec![value.clone()]),
        };
        let text = format!("SELECT i, f, t, b FROM {} WHERE {condition}", site.values);
        let found = select(&*store, text, values).await?;
        expect_eq("rows", found.len(), 1)?;
        let found = &found[0];
        let [i, f, t, b] = row;
        expect_value::<i64>(found, "i", i)?;
        expect_value::<f64>(found, "f", f)?;
        expect_value::<String>(found, "t", t)?;
        expect_value::<Vec<u8>>(found, "b", b)?;
    }
    Ok(())
}

/// Reads a value as what it was given as.
fn expect_value<T>(row: &SqlRow, column: &str, given: SqlValue) -> CaseResult
where
    T: FromSqlValue + PartialEq + Debug,
{
    let expected = Option::<T>::from_sql_value(given);
    expect_eq(column, Some(row.get::<Option<T>>(column)?), expected)
}

async fn take_values_by_their_numbers(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open(|_| {}).await?;
    let add = |text: &str| format!("INSERT INTO {} (name, n) VALUES ({text})", site.counts);
    for (text, values) in [
        ("'$1', $1", vec![1_i64.into()]),
        ("$2, $1", vec![2_i64.into(), "two".into()]),
        ("$1, $2 + $2", vec!["double".into(), 3_i64.into()]),
    ] {
        let insert = add(text);
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                session.execute(Sql::assert_safe(insert), values).await?;
                Ok(())
            })
        });
        sql(&*store)?.transact(work).await?;
    }
    let text = format!("SELECT name, n FROM {} WHERE n > 0 ORDER BY n", site.counts);
    let rows = select(&*store, text, Vec::new()).await?;
    let found = rows.iter().map(|row| Ok((row.get("name")?, row.get("n")?)));
    let found = found.collect::<Result<Vec<(String, i64)>, RowError>>()?;
    let row = |name: &str, n: i64| (name.to_owned(), n);
    let expected = vec![row("$1", 1), row("two", 2), row("double", 6)];
    expect_eq("rows", found, expected)
}

async fn tell_how_many_rows_a_statement_changed(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open(|_| {}).await?;
    let counts = site.counts.clone();
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            for (text, expected) in [
                ("INSERT INTO {} (name, n) VALUES ('a', 1), ('b', 2)", 2),
                ("UPDATE {} SET n = n + 1 WHERE n > 0", 2),
                // Found, although nothing is other than before.
                ("UPDATE {} SET n = n WHERE name = 'a'", 1),
                ("DELETE FROM {} WHERE name = 'c'", 0),
            ] {
                let text = text.replace("{}", &counts);
                let found = session.execute(Sql::assert_safe(text.clone()), []).await?;
                if found != expected {
                    return Err(format!("{text}: expected {expected}, found {found}").into());
                }
            }
            Ok(())
        })
    });
    sql(&*store)?.transact(work).await?;
    Ok(())
}

async fn store_what_a_transaction_did_or_nothing(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open(|_| {}).await?;
    for fails in [false, true] {
        let text = format!("UPDATE {} SET n = n + 1", site.counts);
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                session.execute(Sql::assert_safe(text), []).await?;
                if fails {
                    Err("not today".into())
                } else {
                    Ok(())
                }
            })
        });
        let result = sql(&*store)?.transact(work).await;
        if fails {
            expect_extension_refused(result)?;
        } else {
            result?;
        }
        site.expect_count(&*store, 1).await?;
    }
    Ok(())
}

async fn store_nothing_after_a_statement_that_failed(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open(|_| {}).await?;
    let text = format!("UPDATE {} SET n = n + 1", site.counts);
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            session.execute(Sql::assert_safe(text), []).await?;
            // Any answer of the store is right here.
            let _ = session
                .select("SELECT n FROM there_is_no_such_table", [])
                .await;
            Ok(())
        })
    });
    expect_extension_refused(sql(&*store)?.transact(work).await)?;
    site.expect_count(&*store, 0).await
}

async fn tell_the_truth_about_a_transaction_that_was_ended(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open(|_| {}).await?;
    for statements in ENDINGS {
        for fails in [false, true] {
            let before = site.count(&*store).await?;
            let text = format!("UPDATE {} SET n = n + 1", site.counts);
            let work = SessionWork::new(move |session| {
                Box::pin(async move {
                    session.execute(Sql::assert_safe(text), []).await?;
                    end(session, statements, fails).await
                })
            });
            let answer = sql(&*store)?.transact(work).await;
            let is_stored = site.count(&*store).await? == before + 1;
            expect_truth(&answer, is_stored, !is_stored)?;
        }
    }
    Ok(())
}

async fn tell_what_a_rule_refuses(subject: Subject<dyn StateStore>) -> CaseResult {
    let site = Site::make(subject).await?;
    let store = site.open(|_| {}).await?;
    for values in ["'all', 1", "'other', NULL"] {
        let text = format!("INSERT INTO {} (name, n) VALUES ({values})", site.counts);
        let kind = Arc::new(Mutex::new(None));
        let out = Arc::clone(&kind);
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                let refused = session.execute(Sql::assert_safe(text), []).await;
                let found = refused.as_ref().err().map(StorageError::kind);
                *out.lock().unwrap_or_else(PoisonError::into_inner) = found;
                refused?;
                Ok(())
            })
        });
        expect_extension_refused(sql(&*store)?.transact(work).await)?;
        let kind = *kind.lock().unwrap_or_else(PoisonError::into_inner);
        expect_eq("kind", kind, Some(StorageErrorKind::Constraint))?;
    }
    Ok(())
}

async fn store_nothing_after_a_statement_that_was_given_up(
    subject: Subject<dyn StateStore>,
) -> CaseResult {
    /// The number of attempts to give up a statement: one that has ended at the first look cannot be.
    const ATTEMPTS: usize = 200;
    let site = Site::make(subject).await?;
    let store = site.open(|_| {}).await?;
    let text = format!("UPDATE {} SET n = n + 1", site.counts);
    for _ in 0..ATTEMPTS {
        let text = text.clone();
        let given_up = Arc::new(AtomicBool::new(false));
        let out = Arc::clone(&given_up);
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                session.execute(Sql::assert_safe(text.clone()), []).await?;
                match session.execute(Sql::assert_safe(text), []).now_or_never() {
                    None => {
                        out.store(true, Ordering::Release);
                        Ok(())
                    }
                    Some(_) => Err("it took no time at all, so nothing was given up".into()),
                }
            })
        });
        expect_extension_refused(sql(&*store)?.transact(work).await)?;
        site.expect_count(&*store, 0).await?;
        if given_up.load(Ordering::Acquire) {
            break;
        }
    }
    Ok(())
}
