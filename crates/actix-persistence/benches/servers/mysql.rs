//! MySQL and MariaDB by their driver alone.

use std::time::Instant;

use sqlx::{AssertSqlSafe, Connection, MySqlConnection, Row};

use super::bare::{BATCH, Bare, database, place, with_database};
use crate::notebook::PAYLOAD;
use crate::rates::rate;

const TABLE: &str = "CREATE TABLE bare_event (
    persistence_id varbinary(255) NOT NULL, sequence_nr bigint NOT NULL, timestamp bigint NOT NULL,
    serializer_id bigint NOT NULL, manifest varchar(255) NOT NULL, writer_uuid varbinary(16) NOT NULL,
    payload longblob NOT NULL, PRIMARY KEY (persistence_id, sequence_nr))";
const INSERT: &str = "INSERT INTO bare_event
    (persistence_id, sequence_nr, timestamp, serializer_id, manifest, writer_uuid, payload) VALUES ";
const ROW: &str = "(?, ?, ?, ?, ?, ?, ?)";
const PAGE: &str = "SELECT sequence_nr, timestamp, serializer_id, event_manifest, writer_uuid, payload
    FROM event_journal WHERE persistence_id = ? AND sequence_nr > ? ORDER BY sequence_nr LIMIT 1000";

pub(crate) struct MySql {
    admin: MySqlConnection,
    url: String,
    connections: [MySqlConnection; 2],
    next: usize,
}

impl Bare for MySql {
    const NAME: &'static str = "mysql";
    const VARIABLE: &'static str = "ACTIX_PERSISTENCE_TEST_MYSQL_URL";

    async fn open(url: &str) -> Self {
        let mut admin = MySqlConnection::connect(url).await.unwrap();
        let create = format!("CREATE DATABASE {}", database());
        sqlx::raw_sql(AssertSqlSafe(create))
            .execute(&mut admin)
            .await
            .unwrap();
        let url = with_database(url, &database());
        let mut first = MySqlConnection::connect(&url).await.unwrap();
        sqlx::raw_sql(TABLE).execute(&mut first).await.unwrap();
        let second = MySqlConnection::connect(&url).await.unwrap();
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
        let many = async |connection: &mut MySqlConnection, first: usize| {
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
            let query = sqlx::query(PAGE).bind(id.as_bytes()).bind(last);
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
        let drop = format!("DROP DATABASE {}", database());
        sqlx::raw_sql(AssertSqlSafe(drop))
            .execute(&mut self.admin)
            .await
            .unwrap();
    }
}

async fn insert(connection: &mut MySqlConnection, events: std::ops::Range<usize>) {
    let count = events.len();
    let text = format!("{INSERT}{}", vec![ROW; count].join(", "));
    let mut query = sqlx::query(AssertSqlSafe(text));
    for (id, number) in events.map(place) {
        query = query
            .bind(id.into_bytes())
            .bind(number)
            .bind(1_700_000_000_000_000_i64)
            .bind(1_i64)
            .bind("bench.noted:v1")
            .bind(vec![7_u8; 16])
            .bind(vec![b'x'; PAYLOAD + 12]);
    }
    let done = query.execute(connection).await.unwrap();
    assert_eq!(done.rows_affected(), count as u64);
}
