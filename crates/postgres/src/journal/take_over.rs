//! Taking over ids.

use std::collections::HashMap;

use actix_persistence_sql::{SqlError, get_epoch, get_key, get_number};
use actix_persistence_storage_api::{PersistenceId, TakeOverRequest, TakenOver};
use sqlx::PgConnection;

use crate::Postgres;
use crate::queries::PostgresQueries;

/// Raises the epochs of all requests, in one statement.
pub(crate) async fn take_over(
    connection: &mut PgConnection,
    queries: &PostgresQueries,
    requests: Vec<TakeOverRequest>,
) -> Result<Vec<TakenOver>, SqlError> {
    // All writers take locks in the order of ids.
    let mut sorted: Vec<_> = requests.iter().collect();
    sorted.sort_unstable_by(|one, other| one.persistence_id.cmp(&other.persistence_id));
    let ids: Vec<&str> = sorted
        .iter()
        .map(|request| request.persistence_id.as_str())
        .collect();
    let writers: Vec<&[u8]> = sorted
        .iter()
        .map(|request| &request.writer.as_bytes()[..])
        .collect();
    let rows = sqlx::query(queries.raise_epochs.clone())
        .bind(ids)
        .bind(writers)
        .fetch_all(connection)
        .await?;
    let mut by_id = HashMap::with_capacity(rows.len());
    for row in &rows {
        let taken = TakenOver {
            highest_sequence_nr: get_number::<Postgres>(row, 1)?,
            deleted_to: get_number::<Postgres>(row, 2)?,
            epoch: get_epoch::<Postgres>(row, 3)?,
        };
        by_id.insert(get_key::<Postgres>(row, 0)?, taken);
    }
    let answer = |id: &PersistenceId| {
        let taken = by_id.get(id.as_str()).copied();
        taken.ok_or_else(|| SqlError::corrupt(format!("PostgreSQL returned no row for {id:?}")))
    };
    let in_order = requests
        .iter()
        .map(|request| answer(&request.persistence_id));
    in_order.collect()
}
