//! MySQL and MariaDB by their driver alone.

use sqlx::{MySqlConnection, Row as _};

use super::server::ServerConnection;
use super::values::write_values;
use super::{Connection, looked_at, sql_connection};
use crate::row::{Row, Table};

const EVENTS: (&str, &str) = (
    "INSERT INTO bare_event
     (persistence_id, sequence_nr, timestamp, serializer_id, manifest, payload, writer_uuid)",
    "",
);
const STATES: (&str, &str) = (
    "INSERT INTO bare_state (persistence_id, revision, timestamp, serializer_id, manifest, payload, tags)",
    "ON DUPLICATE KEY UPDATE revision = VALUES(revision), timestamp = VALUES(timestamp),
     serializer_id = VALUES(serializer_id), manifest = VALUES(manifest), payload = VALUES(payload),
     tags = VALUES(tags)",
);
const PAGE: &str = "SELECT sequence_nr, timestamp, writer_uuid, serializer_id, event_manifest, payload
    FROM event_journal WHERE persistence_id = ? AND sequence_nr > ? ORDER BY sequence_nr LIMIT 1000";

const LOG: &str = "SELECT ordering, timestamp, writer_uuid, serializer_id, event_manifest, payload, persistence_id, sequence_nr
    FROM event_journal WHERE partition_nr = ? AND ordering > ? ORDER BY ordering LIMIT 1000";
const PARTITIONS: i64 = 8;

pub(crate) type MySql = MySqlConnection;

impl ServerConnection for MySqlConnection {
    const KIND: &'static str = "mysql";
    const VARIABLE: &'static str = "ACTIX_PERSISTENCE_TEST_MYSQL_URL";
    const TABLES: &'static str = "
        CREATE TABLE bare_event (
            persistence_id varbinary(255) NOT NULL, sequence_nr bigint NOT NULL, timestamp bigint NOT NULL,
            serializer_id bigint NOT NULL, manifest varchar(255) NOT NULL, writer_uuid varbinary(16) NOT NULL,
            payload longblob NOT NULL, PRIMARY KEY (persistence_id, sequence_nr));
        CREATE TABLE bare_state (
            persistence_id varbinary(255) NOT NULL PRIMARY KEY, revision bigint NOT NULL, timestamp bigint NOT NULL,
            tags text NOT NULL, serializer_id bigint NOT NULL, manifest varchar(255) NOT NULL,
            payload longblob NOT NULL);";
    const DROP: &'static str = "";
    const SETTLE: Option<&'static str> = Some("ANALYZE TABLE event_journal");
}

impl Connection for MySqlConnection {
    async fn connect(url: String) -> Self {
        <Self as sqlx::Connection>::connect(&url).await.unwrap()
    }

    /// A power of two: the server prepares a statement for each number of rows, which costs more than the rows.
    fn at_once(waiting: usize) -> usize {
        1 << waiting.ilog2()
    }

    async fn write(&mut self, table: Table, rows: Vec<Row>) {
        write_values!(self, table, rows, EVENTS, STATES);
    }
}

sql_connection!(MySqlConnection, |id| id.as_bytes(), |_nr| "?".to_owned(),
    added "ON DUPLICATE KEY UPDATE n = n + VALUES(n)", log
    async fn log(&mut self, mut each: impl AsyncFnMut(&mut Self, Vec<Vec<u8>>)) -> usize {
        let mut count = 0;
        for partition in 0..PARTITIONS {
            let mut at = 0;
            loop {
                let query = sqlx::query(LOG).bind(partition).bind(at);
                let rows = query.fetch_all(&mut *self).await.unwrap();
                let mut ids = Vec::with_capacity(rows.len());
                for row in &rows {
                    let (ordering, id) = looked_at!(row, Vec<u8>);
                    at = ordering;
                    ids.push(id);
                }
                count += rows.len();
                if rows.is_empty() {
                    break;
                }
                each(self, ids).await;
            }
        }
        count
    }
);
