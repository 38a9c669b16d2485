//! PostgreSQL by its driver alone.

use sqlx::{PgConnection, Row as _};

use super::server::ServerConnection;
use super::{Connection, looked_at, sql_connection};
use crate::row::{MANIFEST, Row, SERIALIZER_ID, TAGS, TIMESTAMP, Table, WRITER_UUID};

const EVENTS: &str = "INSERT INTO bare_event
    (persistence_id, sequence_nr, timestamp, serializer_id, manifest, payload, writer_uuid)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bytea[], $7::bytea[])";
const STATES: &str = "INSERT INTO bare_state
    (persistence_id, revision, timestamp, serializer_id, manifest, payload, tags)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bytea[], $7::text[])
    ON CONFLICT (persistence_id) DO UPDATE SET revision = excluded.revision, timestamp = excluded.timestamp,
    serializer_id = excluded.serializer_id, manifest = excluded.manifest, payload = excluded.payload,
    tags = excluded.tags";
const PAGE: &str = "SELECT sequence_nr, timestamp, writer_uuid, serializer_id, event_manifest, payload
    FROM event_journal WHERE persistence_id = $1 AND sequence_nr > $2 ORDER BY sequence_nr LIMIT 1000";

const LOG: &str = "SELECT ordering, timestamp, writer_uuid, serializer_id, event_manifest, payload, persistence_id, sequence_nr
    FROM event_journal WHERE (ordering, persistence_id, sequence_nr) > ($1, $2, $3)
    ORDER BY ordering, persistence_id, sequence_nr LIMIT 1000";

pub(crate) type Postgres = PgConnection;

impl ServerConnection for PgConnection {
    const KIND: &'static str = "postgres";
    const VARIABLE: &'static str = "ACTIX_PERSISTENCE_TEST_POSTGRES_URL";
    const TABLES: &'static str = "
        CREATE TABLE bare_event (
            ordering bigserial NOT NULL, persistence_id text NOT NULL, sequence_nr bigint NOT NULL,
            timestamp bigint NOT NULL, serializer_id bigint NOT NULL, manifest text NOT NULL, writer_uuid bytea NOT NULL,
            payload bytea NOT NULL, PRIMARY KEY (persistence_id, sequence_nr));
        CREATE TABLE bare_state (
            persistence_id text NOT NULL PRIMARY KEY, revision bigint NOT NULL, timestamp bigint NOT NULL,
            tags text NOT NULL, serializer_id bigint NOT NULL, manifest text NOT NULL, payload bytea NOT NULL);";
    const DROP: &'static str = "WITH (FORCE)";
    const SETTLE: Option<&'static str> = Some("VACUUM ANALYZE");
}

impl Connection for PgConnection {
    async fn connect(url: String) -> Self {
        <Self as sqlx::Connection>::connect(&url).await.unwrap()
    }

    async fn write(&mut self, table: Table, rows: Vec<Row>) {
        let count = rows.len();
        let statement = match table {
            Table::Events => EVENTS,
            Table::States => STATES,
        };
        let ids: Vec<_> = rows.iter().map(|row| row.id.as_str()).collect();
        let numbers: Vec<_> = rows.iter().map(|row| row.number).collect();
        let payloads: Vec<_> = rows.iter().map(|row| row.payload.as_slice()).collect();
        let query = sqlx::query(statement)
            .bind(ids)
            .bind(numbers)
            .bind(vec![TIMESTAMP; count])
            .bind(vec![SERIALIZER_ID; count])
            .bind(vec![MANIFEST; count])
            .bind(payloads);
        let query = match table {
            Table::Events => query.bind(vec![WRITER_UUID; count]),
            Table::States => query.bind(vec![TAGS; count]),
        };
        let done = query.execute(self).await.unwrap();
        assert_eq!(done.rows_affected(), count as u64);
    }
}

sql_connection!(PgConnection, |id| id, |nr| format!("${nr}"),
    added "ON CONFLICT (kind) DO UPDATE SET n = projected.n + excluded.n", log
    async fn log(&mut self, mut each: impl AsyncFnMut(&mut Self, Vec<Vec<u8>>)) -> usize {
        let (mut count, mut at) = (0, (0, String::new(), 0));
        loop {
            let query = sqlx::query(LOG).bind(at.0).bind(&at.1).bind(at.2);
            let rows = query.fetch_all(&mut *self).await.unwrap();
            let mut ids = Vec::with_capacity(rows.len());
            for row in &rows {
                let (ordering, id) = looked_at!(row, String);
                at = (ordering, row.get(6), row.get::<i64, _>(7));
                ids.push(id);
            }
            count += rows.len();
            if rows.is_empty() {
                return count;
            }
            each(self, ids).await;
        }
    }
);
