//! Taking over ids, and their highest numbers.

use std::collections::HashMap;

use actix_persistence_storage_api::{PersistenceId, Recovered, RecoveryRequest, SequenceNr};
use sqlx::SqliteConnection;

use crate::error::Fault;
use crate::queries::{JournalQueries, chunk_sizes};
use crate::row::{Values, corrupt, get, get_number};

/// Raises the epochs of all requests, in the transaction of the caller.
pub(super) async fn recover(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    requests: &[RecoveryRequest],
) -> Result<Vec<Recovered>, Fault> {
    let mut by_id = HashMap::with_capacity(requests.len());
    let mut rest = requests;
    for size in chunk_sizes(requests.len()) {
        let (chunk, after) = rest.split_at(size);
        rest = after;
        let mut values = Values::with_capacity(2 * size);
        for request in chunk {
            values.text(request.persistence_id.as_str());
            values.writer(request.writer);
        }
        let sql = queries.recover.of(size);
        let rows = sqlx::query_with(sql, values.into_arguments())
            .fetch_all(&mut *connection)
            .await?;
        for row in &rows {
            let id: String = get(row, 0)?;
            let recovered = Recovered {
                highest_sequence_nr: get_number(row, 1)?,
                deleted_to: get_number(row, 2)?,
                epoch: get_number(row, 3)?,
            };
            by_id.insert(id, recovered);
        }
    }
    let in_order = requests.iter().map(|request| {
        let id = request.persistence_id.as_str();
        let recovered = by_id.get(id).copied();
        recovered.ok_or_else(|| corrupt(format!("SQLite gave no row for {id:?}")))
    });
    in_order.collect()
}

/// The highest number ever stored for an id.
pub(super) async fn highest(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    id: &PersistenceId,
) -> Result<SequenceNr, Fault> {
    let mut values = Values::with_capacity(1);
    values.text(id.as_str());
    let row = sqlx::query_with(queries.highest.clone(), values.into_arguments())
        .fetch_one(connection)
        .await?;
    get_number(&row, 0)
}
