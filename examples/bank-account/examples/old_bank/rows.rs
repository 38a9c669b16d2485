//! Prints the rows of a server, as statements that put them into the tables of another one.

use actix_persistence_test_servers::Database;
use sqlx::{Connection, MySqlConnection, PgConnection};

/// The statements select one text for each row, with the columns that hold what was stored; others have defaults.
const POSTGRES: &str = include_str!("rows_postgres.sql");
const MYSQL: &str = include_str!("rows_mysql.sql");

pub(crate) async fn print(database: Database, url: &str) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    match database {
        Database::Postgres => {
            let mut connection = PgConnection::connect(url).await?;
            for statement in statements(POSTGRES) {
                let rows = sqlx::query_scalar::<_, String>(statement);
                lines.extend(rows.fetch_all(&mut connection).await?);
            }
        }
        _ => {
            let mut connection = MySqlConnection::connect(url).await?;
            for statement in statements(MYSQL) {
                let rows = sqlx::query_scalar::<_, String>(statement);
                lines.extend(rows.fetch_all(&mut connection).await?);
            }
        }
    }
    lines.iter().for_each(|line| println!("{line}"));
    Ok(())
}

fn statements(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split(';')
        .map(str::trim)
        .filter(|statement| !statement.is_empty())
}
