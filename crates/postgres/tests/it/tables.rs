//! The database of a test as the tests of every SQL database see it.

use actix_persistence_postgres::PostgresPlugin;
use actix_persistence_sql_tests::Tables;
use actix_persistence_storage_api::{Origin, Plugin, Section};
use async_trait::async_trait;
use sqlx::AssertSqlSafe;

use crate::place::Place;

#[async_trait]
impl Tables for Place {
    fn plugin(&self) -> Box<dyn Plugin> {
        Box::new(PostgresPlugin::new())
    }

    fn section(&self) -> Section {
        Section::new("test", Origin::code())
            .with("url", self.database.url())
            .with("auto-initialize", true)
            .with("acquire-timeout", "60s")
            .with("connect-timeout", "60s")
            .with("statement-timeout", "60s")
            .with("lock-timeout", "30s")
    }

    async fn columns(&self) -> Vec<(String, String)> {
        let sql = "SELECT table_name::text, column_name::text FROM information_schema.columns \
            WHERE table_schema = current_schema() AND table_name <> 'actix_persistence_schema'";
        let mut connection = self.connection().await;
        let rows = sqlx::query_as(sql).fetch_all(&mut connection).await;
        rows.unwrap()
    }

    async fn try_run(&self, sql: &str) -> Result<(), String> {
        let sql = sqlx::raw_sql(AssertSqlSafe(sql.to_owned()));
        let done = sql.execute(&mut self.connection().await).await;
        done.map(drop).map_err(|error| error.to_string())
    }

    async fn number(&self, sql: &str) -> i64 {
        sqlx::query_scalar(AssertSqlSafe(sql.to_owned()))
            .fetch_one(&mut self.connection().await)
            .await
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn event_of_another_tool(&self, persistence_id: &str, _ordering: i64) -> String {
        format!(
            "INSERT INTO event_journal (persistence_id, sequence_nr, slice, timestamp, writer_uuid, \
             serializer_id, event_manifest, adapter_manifest, tag_count, payload) \
             VALUES ('{persistence_id}', 1, 0, 0, decode(repeat('00', 16), 'hex'), 1, 'm', '', 0, '\\x00')"
        )
    }

    fn stops_removal_at(&self, sequence_nr: u64) -> String {
        format!(
            "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'scripted'; END $$;
             CREATE TRIGGER stop BEFORE DELETE ON event_journal FOR EACH ROW WHEN (old.sequence_nr = {sequence_nr})
             EXECUTE FUNCTION refuse()"
        )
    }

    fn lets_removal_go_on(&self) -> &'static str {
        "DROP TRIGGER stop ON event_journal"
    }
}
