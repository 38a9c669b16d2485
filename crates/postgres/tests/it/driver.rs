//! The connection of sqlx in the hands of the application.

use std::sync::Arc;

use actix_persistence_postgres::PostgresSession;
use actix_persistence_sql_tests::Tables;
use actix_persistence_sql_tests::driver_of_sqlx;
use actix_persistence_sql_tests::states::extensions;
use actix_persistence_sql_tests::states::extensions::driver::{self, Act, Driver};
use actix_persistence_storage_api::{SessionWork, StorageErrorKind};
use sqlx::Connection;

use crate::place::Place;

driver_of_sqlx!(OfPostgres: postgres);

actix_persistence_sql_tests::test_driver!(server Place::new().await, OfPostgres);

const MORE: &[Act] = &[
    Act::Run("ROLLBACK AND CHAIN"),
    Act::Run("COMMIT AND CHAIN"),
    Act::Try("PREPARE TRANSACTION 'a'"),
    Act::Try("DO $$ BEGIN COMMIT; END $$"),
    Act::Run("COMMIT; BEGIN"),
    Act::Run("SET LOCAL synchronous_commit = off"),
    Act::Run("SET TRANSACTION READ ONLY"),
    Act::Try("SELECT 1 / 0"),
    Act::Try("COPY public.driven TO STDOUT"),
    Act::GiveUp("COPY public.driven TO STDOUT", 2),
    Act::GiveUp("COPY public.driven FROM STDIN", 2),
    Act::GiveUp("SELECT pg_sleep(0.01)", 2),
    Act::GiveUpPrepared("INSERT INTO driven (a) VALUES ($1)", 1),
    Act::GiveUpPrepared("INSERT INTO driven (a) VALUES ($1)", 3),
    Act::ReadOne("INSERT INTO driven (a) VALUES (1), (2) RETURNING a"),
    Act::Run("DEALLOCATE ALL"),
    Act::Run("LISTEN news"),
];

actix_persistence_sql_tests::test_answers_with_driver! {
    Place::new().await, |place: &Place| place.section().with("handler-timeout", "500ms"), OfPostgres, MORE
}

#[tokio::test]
async fn nothing_that_is_set_with_the_driver_stays() {
    let place = Place::new().await;
    let settings = [
        "SET synchronous_commit = off",
        "SET search_path = pg_catalog; SET statement_timeout = 0; SET TimeZone = 'Asia/Tokyo'",
        "SELECT pg_advisory_lock(7)",
        "CREATE TEMPORARY TABLE durable_state (a INTEGER)",
        "LISTEN news",
        "PREPARE mine AS SELECT 1",
        "DECLARE held CURSOR WITH HOLD FOR SELECT 1",
    ];
    let refused = [
        "SET row_security = on",
        "SET standard_conforming_strings = off",
        "SET client_encoding = 'LATIN1'",
    ];
    let look = "SELECT current_setting('synchronous_commit') AS a, current_setting('search_path') AS b,
                current_setting('statement_timeout') AS c, current_setting('TimeZone') AS d,
                (SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid())::text AS e,
                'durable_state'::regclass::text AS f, current_setting('row_security') AS g,
                (SELECT COUNT(*) FROM pg_listening_channels())::text AS h,
                (SELECT COUNT(*) FROM pg_prepared_statements WHERE name = 'mine')::text AS i,
                (SELECT COUNT(*) FROM pg_cursors WHERE name = 'held')::text AS j";
    let section = place.section_of_handlers().with("writers", 1);
    let driver = Arc::new(OfPostgres);
    driver::nothing_that_is_set_with_the_driver_stays(
        &place, section, driver, &settings, &refused, look,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_whose_handlers_deadlock_with_the_driver_are_counted_once() {
    let place = Place::new().await;
    let driver = Arc::new(OfPostgres);
    extensions::changes_whose_handlers_deadlock_with_the_driver_are_counted_once(&place, driver)
        .await;
}

#[tokio::test]
async fn a_statement_that_failed_and_was_passed_over_is_certainly_not_stored() {
    let place = Place::new().await;
    let states = place.open().await;
    let work = SessionWork::new(|session| {
        Box::pin(async move { OfPostgres.act(session, Act::Try("SELECT 1 / 0")).await })
    });
    let error = states.sql().unwrap().transact(work).await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}");
    assert!(error.is_not_stored(), "{error:?}");
    assert!(
        error.to_string().contains("left the transaction failed"),
        "{error}"
    );
}

#[tokio::test]
async fn a_copy_that_was_not_ended_stores_nothing() {
    let place = Place::new().await;
    place
        .run("CREATE TABLE things (a INTEGER); INSERT INTO things SELECT generate_series(1, 10000)")
        .await;
    let states = place.open().await;
    for copies_in in [false, true] {
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                let connection = session.postgres().await?;
                sqlx::query("INSERT INTO things VALUES (0)")
                    .execute(&mut *connection)
                    .await?;
                if copies_in {
                    let mut copy = connection.copy_in_raw("COPY things FROM STDIN").await?;
                    copy.send(&b"-1\n"[..]).await?;
                } else {
                    drop(connection.copy_out_raw("COPY things TO STDOUT").await?);
                }
                Ok(())
            })
        });
        let error = states.sql().unwrap().transact(work).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Extension, "{error:?}");
        assert_eq!(
            place
                .number("SELECT COUNT(*) FROM things WHERE a < 1")
                .await,
            0
        );
    }
}

#[tokio::test]
async fn a_copy_that_was_ended_is_stored_with_the_rest() {
    let place = Place::new().await;
    place.run("CREATE TABLE things (a INTEGER)").await;
    let states = place.open().await;
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            session.execute("INSERT INTO things VALUES (1)", []).await?;
            let connection = session.postgres().await?;
            let mut within = connection.begin().await?;
            let mut copy = within.copy_in_raw("COPY things FROM STDIN").await?;
            copy.send(&b"2\n3\n"[..]).await?;
            assert_eq!(copy.finish().await?, 2);
            within.commit().await?;
            session.execute("INSERT INTO things VALUES (4)", []).await?;
            Ok(())
        })
    });
    states.sql().unwrap().transact(work).await.unwrap();
    assert_eq!(place.number("SELECT SUM(a) FROM things").await, 10);
}
