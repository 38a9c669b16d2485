//! The database of a test as the tests of every SQL database see it.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_postgres::PostgresPlugin;
use actix_persistence_sql_tests::{OnServer, Tables, until_number};
use actix_persistence_storage_api::{Journal, Origin, Plugin, Section};
use async_trait::async_trait;
use sqlx::AssertSqlSafe;

use crate::database::{execute, try_connect};
use crate::place::Place;

fn section_of(url: &str) -> Section {
    Section::new("test", Origin::code())
        .with("url", url)
        .with("auto-initialize", true)
        .with("acquire-timeout", "60s")
        .with("connect-timeout", "60s")
        .with("statement-timeout", "60s")
        .with("lock-timeout", "30s")
}

#[async_trait]
impl Tables for Place {
    fn plugin(&self) -> Box<dyn Plugin> {
        Box::new(PostgresPlugin::new())
    }

    fn section(&self) -> Section {
        section_of(&self.url())
    }

    fn url(&self) -> String {
        self.database.url()
    }

    fn journal_at(url: &str) -> Arc<dyn Journal> {
        PostgresPlugin::new().journal(&section_of(url)).unwrap()
    }

    fn damages(&self) -> &'static [&'static str] {
        &["writer_uuid = '\\x0102'", "tag_count = 1"]
    }

    fn endless_query(&self) -> &'static str {
        "SELECT pg_sleep(60)::text AS a"
    }

    async fn columns(&self) -> Vec<(String, String)> {
        let sql = "SELECT table_name::text, column_name::text FROM information_schema.columns \
            WHERE table_schema = current_schema() AND table_name <> 'actix_persistence_schema'";
        let mut connection = self.connection().await;
        let rows = sqlx::query_as(sql).fetch_all(&mut connection).await;
        rows.unwrap()
    }

    async fn try_run(&self, sql: &str) -> Result<(), String> {
        let connected = try_connect(&self.url()).await;
        let mut connection = connected.map_err(|error| error.to_string())?;
        let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        let done = sql.execute(&mut connection).await;
        done.map(drop).map_err(|error| error.to_string())
    }

    async fn number(&self, sql: &str) -> i64 {
        Place::number(self, sql).await
    }

    fn event_of_another_tool(&self, persistence_id: &str, _ordering: i64) -> String {
        format!(
            "INSERT INTO event_journal (persistence_id, sequence_nr, ordering, slice, timestamp, writer_uuid, \
             serializer_id, event_manifest, adapter_manifest, tag_count, payload) \
             SELECT '{persistence_id}', 1, base + pg_current_xact_id()::text::bigint, 0, 0, \
                    decode(repeat('00', 16), 'hex'), 1, 'm', '', 0, '\\x00' FROM event_journal_ordering"
        )
    }

    fn stops_removal_at(&self, sequence_nr: u64) -> String {
        format!(
            "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'scripted'; END $$;
             CREATE TRIGGER stop BEFORE DELETE ON event_journal FOR EACH ROW WHEN (old.sequence_nr = {sequence_nr})
             EXECUTE FUNCTION refuse()"
        )
    }

    fn of_application(&self, table: &str) -> String {
        format!("public.{table}")
    }

    fn lets_removal_go_on(&self) -> &'static str {
        "DROP TRIGGER stop ON event_journal"
    }
}

#[async_trait]
impl OnServer for Place {
    fn name(&self) -> &str {
        self.database.name()
    }

    fn application_url(&self) -> String {
        self.database.application_url()
    }

    async fn hold(&self, table: &str, persistence_id: &str) -> Box<dyn Any + Send> {
        let mut other = self.connection().await;
        let sql = format!(
            "BEGIN; SELECT * FROM {table} WHERE persistence_id = '{persistence_id}' FOR UPDATE"
        );
        execute(&mut other, sql).await;
        Box::new(other)
    }

    async fn until_waiting(&self, calls: i64) {
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
            AND application_name = 'actix-persistence' AND wait_event_type = 'Lock'";
        until_number(self, waiting, |number| number >= calls).await;
    }

    async fn end_sessions(&self) {
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        self.run(end).await;
    }

    fn locks_for(&self, table: &str, time: Duration) -> String {
        let seconds = time.as_secs_f64();
        format!("BEGIN; LOCK TABLE {table}; SELECT pg_sleep({seconds}); COMMIT")
    }

    fn counts_transactions_and_locks(&self) -> &'static str {
        "SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                 AND application_name = 'actix-persistence' AND xact_start IS NOT NULL) \
              + (SELECT count(*) FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database \
                 WHERE d.datname = current_database() AND l.locktype = 'advisory')"
    }

    fn sleeps_a_second(&self) -> &'static str {
        "SELECT pg_sleep(1)"
    }

    fn slows_inserts(&self, table: &str, seconds: f64) -> String {
        format!(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS \
                 $$ BEGIN PERFORM pg_sleep({seconds}); RETURN NEW; END $$;
             CREATE TRIGGER slow BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION slow()"
        )
    }

    fn text_in_json(&self, column: &str, key: &str) -> String {
        format!("{column} ->> '{key}'")
    }
}
