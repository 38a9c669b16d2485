//! The database of a test as the tests of every SQL database see it.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_mysql::MysqlPlugin;
use actix_persistence_sql_tests::{OnServer, Tables};
use actix_persistence_storage_api::{Journal, Origin, Plugin, Section};
use async_trait::async_trait;
use sqlx::AssertSqlSafe;

use crate::database::{end_sessions, execute, fresh, try_connect};
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
        Box::new(MysqlPlugin::new())
    }

    fn section(&self) -> Section {
        section_of(&self.url())
    }

    fn url(&self) -> String {
        self.database.url()
    }

    fn journal_at(url: &str) -> Arc<dyn Journal> {
        MysqlPlugin::new().journal(&section_of(url)).unwrap()
    }

    fn damages(&self) -> &'static [&'static str] {
        &["tag_count = 1"]
    }

    fn endless_query(&self) -> &'static str {
        "SELECT SLEEP(60) AS a"
    }

    async fn columns(&self) -> Vec<(String, String)> {
        let sql = "SELECT CAST(table_name AS CHAR), CAST(column_name AS CHAR) FROM information_schema.columns \
            WHERE table_schema = DATABASE() AND table_name <> 'actix_persistence_schema'";
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

    fn event_of_another_tool(&self, persistence_id: &str, ordering: i64) -> String {
        format!(
            "INSERT INTO event_journal (persistence_id, sequence_nr, slice, partition_nr, timestamp, writer_uuid, \
             serializer_id, event_manifest, adapter_manifest, tag_count, bytes, ordering, payload) \
             VALUES ('{persistence_id}', 1, 0, 0, 0, REPEAT('0', 16), 1, 'm', '', 0, 1, {ordering}, X'00')"
        )
    }

    fn key_of_tags(&self) -> &'static str {
        "partition_nr, ordering, slice"
    }

    fn columns_of_slice(&self) -> &'static str {
        "slice, partition_nr"
    }

    fn stops_removal_at(&self, sequence_nr: u64) -> String {
        format!(
            "CREATE TRIGGER stop BEFORE DELETE ON event_journal FOR EACH ROW \
             IF OLD.sequence_nr = {sequence_nr} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'scripted'; END IF"
        )
    }

    fn indexed_text(&self) -> &'static str {
        "VARCHAR(50)"
    }

    fn quoted(&self, name: &str) -> String {
        format!("`{name}`")
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
            "START TRANSACTION; SELECT * FROM {table} WHERE persistence_id = '{persistence_id}' FOR UPDATE"
        );
        execute(&mut other, sql).await;
        Box::new(other)
    }

    async fn until_waiting(&self, calls: i64) {
        let waiting = "SELECT COUNT(*) FROM information_schema.innodb_trx AS t JOIN information_schema.processlist AS p \
            ON p.id = t.trx_mysql_thread_id WHERE p.db = DATABASE() AND t.trx_state = 'LOCK WAIT'";
        let until_so = async { while fresh(self.number(waiting)).await < calls {} };
        // One that has waited for as long as it may has given up, and is never seen.
        let seen = tokio::time::timeout(Duration::from_secs(60), until_so).await;
        seen.expect("a call waits until it is seen");
    }

    async fn end_sessions(&self) {
        let mut connection = self.connection().await;
        end_sessions(&mut connection, self.database.name()).await;
    }

    fn locks_for(&self, table: &str, time: Duration) -> String {
        let seconds = time.as_secs_f64();
        format!("LOCK TABLES {table} WRITE; DO SLEEP({seconds}); UNLOCK TABLES")
    }

    fn counts_transactions_and_locks(&self) -> &'static str {
        "SELECT (SELECT COUNT(*) FROM information_schema.innodb_trx AS t JOIN information_schema.processlist AS p \
                 ON p.id = t.trx_mysql_thread_id WHERE p.db = DATABASE()) \
              + (IS_USED_LOCK(CONCAT('actix_persistence.', MD5(DATABASE()))) IS NOT NULL)"
    }

    fn sleeps_a_second(&self) -> &'static str {
        "DO SLEEP(1)"
    }

    fn slows_inserts(&self, table: &str, seconds: f64) -> String {
        format!("CREATE TRIGGER slow BEFORE INSERT ON {table} FOR EACH ROW DO SLEEP({seconds})")
    }

    fn text_in_json(&self, column: &str, key: &str) -> String {
        format!("JSON_UNQUOTE(JSON_EXTRACT({column}, '$.{key}'))")
    }
}
