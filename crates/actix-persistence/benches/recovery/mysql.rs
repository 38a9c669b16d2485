//! MySQL and MariaDB by their driver alone.

use actix_persistence::Config;
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, Row};

use super::bare::{Bare, config, counted, database, with_database};

const PAGE: &str = "SELECT sequence_nr, timestamp, writer_uuid, serializer_id, event_manifest, payload
    FROM event_journal WHERE persistence_id = ? AND sequence_nr > ? ORDER BY sequence_nr LIMIT 1000";

pub(crate) struct MySql {
    admin: MySqlConnection,
    url: String,
    connection: Option<MySqlConnection>,
}

impl Bare for MySql {
    const NAME: &'static str = "mysql";
    const VARIABLE: &'static str = "ACTIX_PERSISTENCE_TEST_MYSQL_URL";
    const AT_LEAST_ONE_LOG: f64 = 0.4;
    const AT_LEAST_MANY_LOGS: f64 = 0.4;

    async fn make() -> Option<Self> {
        let url = std::env::var(Self::VARIABLE).ok()?;
        let mut admin = MySqlConnection::connect(&url).await.unwrap();
        let create = format!("CREATE DATABASE {}", database());
        let created = sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut admin);
        created.await.unwrap();
        Some(Self {
            admin,
            url: with_database(&url, &database()),
            connection: None,
        })
    }

    fn config(&self) -> Config {
        config(Self::NAME, &self.url)
    }

    async fn open(&mut self) {
        self.connection = Some(MySqlConnection::connect(&self.url).await.unwrap());
    }

    async fn page(&mut self, id: &str, after: i64) -> (usize, i64) {
        let connection = self.connection.as_mut().unwrap();
        let rows = sqlx::query(PAGE)
            .bind(id.as_bytes())
            .bind(after)
            .fetch_all(connection);
        let rows = rows.await.unwrap();
        counted!(rows, after)
    }

    async fn close(mut self) {
        drop(self.connection);
        let drop = format!("DROP DATABASE {}", database());
        let dropped = sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut self.admin);
        dropped.await.unwrap();
    }
}
