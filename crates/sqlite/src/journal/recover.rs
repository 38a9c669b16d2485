//! Taking over ids for recovering actors.

use std::collections::HashMap;

use actix_persistence_sql::{SqlError, Values, get_epoch, get_key, get_number};
use actix_persistence_storage_api::{Recovered, RecoveryRequest};
use sqlx::SqliteConnection;

use crate::Sqlite;
use crate::queries::{JournalQueries, chunk_sizes};

/// Raises the epochs of all requests, in the transaction of the caller.
pub(crate) async fn recover(
    connection: &mut SqliteConnection,
    queries: &JournalQueries,
    requests: &[RecoveryRequest],
) -> Result<Vec<Recovered>, SqlError> {
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
        let sql = queries.recover.of(size);
        let rows = sqlx::query_with(sql, values.into_arguments())
            .fetch_all(&mut *connection)
            .await?;
        for row in &rows {
            let id = get_key::<Sqlite>(row, 0)?;
            let recovered = Recovered {
                highest_sequence_nr: get_number::<Sqlite>(row, 1)?,
                deleted_to: get_number::<Sqlite>(row, 2)?,
                epoch: get_epoch::<Sqlite>(row, 3)?,
            };
            by_id.insert(id, recovered);
        }
    }
    let in_order = requests.iter().map(|request| {
        let id = request.persistence_id.as_str();
        let recovered = by_id.get(id).copied();
        recovered.ok_or_else(|| SqlError::corrupt(format!("SQLite returned no row for {id:?}")))
    });
    in_order.collect()
}
