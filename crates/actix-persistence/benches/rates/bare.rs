//! The driver without us: one connection or two, each with a statement after the other.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use crate::database::{Connection, Database};
use crate::row::{Row, Table};
use crate::series::rate;

/// The ids of the rows.
const IDS: usize = 1_000;

/// Connections to one database.
pub(crate) struct Bare<C>(Vec<C>);

impl<C: Connection> Bare<C> {
    /// Opens as many connections as are worth it.
    pub(crate) async fn open<D: Database<Connection = C>>(database: &D) -> Self {
        let connections = (0..D::CONNECTIONS).map(|_| C::connect(database.url()));
        Self(join_all(connections).await)
    }

    /// Writes on one connection, so many rows in a statement: rows per second.
    pub(crate) async fn on_one(&mut self, table: Table, rows: usize, time: Duration) -> f64 {
        write(&mut self.0[..1], table, rows, time).await
    }

    /// Writes on all connections at the same time, so many rows in a statement: rows per second.
    pub(crate) async fn on_all(&mut self, table: Table, rows: usize, time: Duration) -> f64 {
        write(&mut self.0, table, rows, time).await
    }

    /// Returns a connection for statements of another kind.
    pub(crate) fn first(&mut self) -> &mut C {
        &mut self.0[0]
    }
}

async fn write<C: Connection>(
    connections: &mut [C],
    table: Table,
    rows: usize,
    time: Duration,
) -> f64 {
    let start = Instant::now();
    let written = connections.iter_mut().map(async |connection| {
        let mut count = 0;
        while count == 0 || start.elapsed() < time {
            let next = (count..count + rows).map(|event| Row::next(event % IDS));
            connection.write(table, next.collect()).await;
            count += rows;
        }
        count
    });
    let count = join_all(written).await.into_iter().sum();
    rate(count, start.elapsed())
}
