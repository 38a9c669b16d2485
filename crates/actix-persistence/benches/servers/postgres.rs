//! PostgreSQL by its driver alone.

use std::time::Instant;

use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use super::bare::{BATCH, Bare, database, place, with_database};
use crate::notebook::PAYLOAD;
use crate::rates::rate;

const TABLE: &str = "CREATE TABLE bare_event (
    ordering bigserial NOT NULL, persistence_id text NOT NULL, sequence_nr bigint NOT NULL, timestamp bigint NOT NULL,
    serializer_id bigint NOT NULL, manifest text NOT NULL, writer_uuid bytea NOT NULL, payload bytea NOT NULL,
    PRIMARY KEY (persistence_id, sequence_nr))";
const INSERT: &str = "INSERT INTO bare_event
    (persistence_id, sequence_nr, timestamp, serializer_id, manifest, writer_uuid, payload)
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bytea[], $7::bytea[])";
const PAGE: &str = "SELECT sequence_nr, timestamp, serializer_id, event_manifest, writer_uuid, payload
    FROM event_journal WHERE persistence_id = $1 AND sequence_nr > $2 ORDER BY sequence_nr LIMIT 1000";

pub(crate) struct Postgres {
    admin: PgConnection,
    url: String,
    connections: [PgConnection; 2],
    next: usize,
}

impl Bare for Postgres {
    const NAME: &'static str = "postgres";
    const VARIABLE: &'static str = "ACTIX_PERSISTENCE_TEST_POSTGRES_URL";

    async fn open(url: &str) -> Self {
        let mut admin = PgConnection::connect(url).await.unwrap();
        let create = format!("CREATE DATABASE {}", database());
        sqlx::raw_sql(AssertSqlSafe(create))
            .execute(&mut admin)
            .await
            .unwrap();
        let url = with_database(url, &database());
        let mut first = PgConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(TABLE).execute(&mut first).await.unwrap();
        let second = PgConnection::connect(&url).await.unwrap();
        Self {
            admin,
            url,
            connections: [first, second],
            next: 0,
        }
    }

    fn url(&self) -> String {
        self.url.clone()
    }

    async fn singles(&mut self, events: usize) -> f64 {
        let start = Instant::now();
        for _ in 0..events {
            insert(&mut self.connections[0], self.next..self.next + 1).await;
            self.next += 1;
        }
        rate(events, start.elapsed())
    }

    async fn batches(&mut self, events: usize) -> f64 {
        let each = events / BATCH / 2;
        let start = Instant::now();
        let [one, other] = &mut self.connections;
        let first = self.next;
        let many = async |connection: &mut PgConnection, first: usize| {
            for batch in 0..each {
                let from = first + batch * BATCH;
                insert(connection, from..from + BATCH).await;
            }
        };
        tokio::join!(many(one, first), many(other, first + each * BATCH));
        self.next += 2 * each * BATCH;
        rate(2 * each * BATCH, start.elapsed())
    }

    async fn replay(&mut self, id: &str, events: usize) -> f64 {
        let start = Instant::now();
        let (mut count, mut last) = (0, 0_i64);
        loop {
            let query = sqlx::query(PAGE).bind(id).bind(last);
            let rows = query.fetch_all(&mut self.connections[0]).await.unwrap();
            let Some(row) = rows.last() else { break };
            last = row.get(0);
            count += rows
                .iter()
                .map(|row| row.get::<&[u8], _>(5).len().min(1))
                .sum::<usize>();
        }
        assert_eq!(count, events / BATCH * BATCH);
        rate(count, start.elapsed())
    }

    async fn close(mut self) {
        for connection in self.connections {
            connection.close().await.unwrap();
        }
        let drop = format!("DROP DATABASE {} WITH (FORCE)", database());
        sqlx::raw_sql(AssertSqlSafe(drop))
            .execute(&mut self.admin)
            .await
            .unwrap();
    }
}

async fn insert(connection: &mut PgConnection, events: std::ops::Range<usize>) {
    let count = events.len();
    let (ids, numbers): (Vec<_>, Vec<_>) = events.map(place).unzip();
    let done = sqlx::query(INSERT)
        .bind(ids)
        .bind(numbers)
        .bind(vec![1_700_000_000_000_000_i64; count])
        .bind(vec![1_i64; count])
        .bind(vec!["bench.noted:v1"; count])
        .bind(vec![vec![7_u8; 16]; count])
        .bind(vec![vec![b'x'; PAYLOAD + 12]; count])
        .execute(connection)
        .await
        .unwrap();
    assert_eq!(done.rows_affected(), count as u64);
}
