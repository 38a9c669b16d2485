//! The database of a test as the tests of every SQL database see it.

use std::sync::Arc;

use actix_persistence_sql_tests::Tables;
use actix_persistence_sqlite::SqlitePlugin;
use actix_persistence_storage_api::{Journal, Origin, Plugin, Section};
use async_trait::async_trait;
use sqlx::AssertSqlSafe;

use crate::place::Place;

fn section_of(url: &str) -> Section {
    let section = Section::new("test", Origin::code()).with("url", url);
    section.with("busy-timeout", "30s")
}

#[async_trait]
impl Tables for Place {
    fn plugin(&self) -> Box<dyn Plugin> {
        Box::new(SqlitePlugin::new())
    }

    fn section(&self) -> Section {
        section_of(&self.url())
    }

    fn url(&self) -> String {
        self.path.display().to_string()
    }

    fn journal_at(url: &str) -> Arc<dyn Journal> {
        SqlitePlugin::new().journal(&section_of(url)).unwrap()
    }

    fn section_of_handlers(&self) -> Section {
        let section = self.section().with("busy-timeout", "31s");
        section.with("handler-timeout", "60s")
    }

    fn section_of_crowd(&self) -> Section {
        let section = self.section().with("busy-timeout", "5s");
        section.with("handler-timeout", "2s")
    }

    fn key_of_tags(&self) -> &'static str {
        "ordering"
    }

    fn damages(&self) -> &'static [&'static str] {
        &[
            "writer_uuid = x'0102'",
            "event_manifest = CAST(x'ff' AS TEXT)",
            "metadata_payload = x'01'",
        ]
    }

    fn unreadable_rows(&self) -> &'static [&'static str] {
        &[
            "UPDATE event_journal SET timestamp = '2026-11-21'",
            "UPDATE event_journal SET sequence_nr = 'one'",
            "UPDATE event_journal SET sequence_nr = 1.5",
            "UPDATE event_journal SET payload = 'text'",
            "UPDATE event_journal SET event_manifest = x'00'",
            "UPDATE journal_metadata SET epoch = 'x'",
            "INSERT INTO snapshot (persistence_id, sequence_nr, slice, timestamp, serializer_id, manifest, payload) \
             VALUES ('a', 1, 0, '2026-11-21', 1, 'm', x'00')",
        ]
    }

    fn endless_query(&self) -> &'static str {
        "WITH RECURSIVE n (a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM n) SELECT COUNT(*) AS a FROM n"
    }

    async fn columns(&self) -> Vec<(String, String)> {
        let sql = "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_xinfo(t.name) AS c \
            WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND t.name NOT LIKE 'actix_persistence_%'";
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
        Place::number(self, sql).await
    }

    fn event_of_another_tool(&self, persistence_id: &str, _ordering: i64) -> String {
        format!(
            "INSERT INTO event_journal (persistence_id, sequence_nr, slice, timestamp, writer_uuid, \
             serializer_id, event_manifest, adapter_manifest, payload) \
             VALUES ('{persistence_id}', 1, 0, 0, zeroblob(16), 1, 'm', '', x'00')"
        )
    }

    fn stops_removal_at(&self, sequence_nr: u64) -> String {
        format!(
            "CREATE TRIGGER stop BEFORE DELETE ON event_journal WHEN old.sequence_nr = {sequence_nr}
             BEGIN SELECT RAISE(ABORT, 'scripted'); END"
        )
    }
}
