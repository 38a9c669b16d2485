//! Taking over ids.

use std::collections::HashMap;

use actix_persistence_sql::{SqlError, Values, get_epoch, get_key, get_number};
use actix_persistence_storage_api::{TakeOverRequest, TakenOver};
use sqlx::SqliteConnection;

use crate::Sqlite;
use crate::queries::{JournalQueries, chunk_sizes};

/// Raises the epochs of all requests, in the transaction of the caller.
pub(crate) async fn take_over(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    requests: &[TakeOverRequest],
) -> Result<Vec<TakenOver>, SqlError> {
    let mut by_id = HashMap::with_capacity(requests.len());
    let mut rest = requests;
    for size in chunk_sizes(requests.len()) {
        let (chunk, after) = rest.split_at(size);
        rest = after;
        let mut values = Values::<Sqlite>::with_capacity(2 * size);
        for request in chunk {
            values.id(&request.persistence_id);
            values.writer(request.writer);
        }
        let sql = queries.raise_epochs.of(size);
        let rows = sqlx::query_with(sql, values.into_arguments())
            .fetch_all(&mut *connection)
            .await?;
        for row in &rows {
            let id = get_key::<Sqlite>(row, 0)?;
            let taken = TakenOver {
                highest_sequence_nr: get_number::<Sqlite>(row, 1)?,
                deleted_to: get_number::<Sqlite>(row, 2)?,
                epoch: get_epoch::<Sqlite>(row, 3)?,
            };
            by_id.insert(id, taken);
        }
    }
    let in_order = requests.iter().map(|request| {
        let id = request.persistence_id.as_str();
        let taken = by_id.get(id).copied();
        taken.ok_or_else(|| SqlError::corrupt(format!("SQLite returned no row for {id:?}")))
    });
    in_order.collect()
}
