//! Taking over ids.

use std::collections::HashMap;

use actix_persistence_sql::{SqlError, Values, get_epoch, get_key, get_number};
use actix_persistence_storage_api::{TakeOverRequest, TakenOver};
use sqlx::MySqlConnection;

use crate::Mysql;
use crate::queries::{JournalQueries, chunk_sizes};

/// Raises the epochs of all requests, in the transaction of the caller.
pub(crate) async fn take_over(
    connection: &mut MySqlConnection,
    queries: &JournalQueries,
    requests: Vec<TakeOverRequest>,
) -> Result<Vec<TakenOver>, SqlError> {
    // All writers take locks in the order of ids.
    let mut sorted: Vec<_> = requests.iter().collect();
    sorted.sort_unstable_by(|one, other| one.persistence_id.cmp(&other.persistence_id));
    let mut by_id = HashMap::with_capacity(requests.len());
    let mut rest = sorted.as_slice();
    for size in chunk_sizes(sorted.len()) {
        let (chunk, after) = rest.split_at(size);
        rest = after;
        let mut values = Values::<Mysql>::with_capacity(3 * size);
        let mut ids = Values::<Mysql>::with_capacity(size);
        for request in chunk {
            values.id(&request.persistence_id);
            values.id(&request.persistence_id);
            values.writer(request.writer);
            ids.id(&request.persistence_id);
        }
        sqlx::query_with(queries.raise_epochs.of(size), values.into_arguments())
            .execute(&mut *connection)
            .await?;
        let rows = sqlx::query_with(queries.raised.of(size), ids.into_arguments())
            .fetch_all(&mut *connection)
            .await?;
        for row in &rows {
            let taken = TakenOver {
                highest_sequence_nr: get_number::<Mysql>(row, 1)?,
                deleted_to: get_number::<Mysql>(row, 2)?,
                epoch: get_epoch::<Mysql>(row, 3)?,
            };
            by_id.insert(get_key::<Mysql>(row, 0)?, taken);
        }
    }
    let in_order = requests.iter().map(|request| {
        let id = request.persistence_id.as_str();
        let taken = by_id.get(id).copied();
        taken.ok_or_else(|| SqlError::corrupt(format!("the database returned no row for {id:?}")))
    });
    in_order.collect()
}
