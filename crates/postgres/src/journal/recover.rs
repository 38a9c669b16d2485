//! Taking over ids for recovering actors.

use std::collections::HashMap;

use actix_persistence_sql::{SqlError, get_epoch, get_key, get_number};
use actix_persistence_storage_api::{PersistenceId, Recovered, RecoveryRequest};
use sqlx::PgConnection;

use crate::Postgres;
use crate::queries::PostgresQueries;

/// Raises the epochs of all requests, in one statement.
pub(crate) async fn recover(
    connection: &mut PgConnection,
    queries: &PostgresQueries,
    requests: Vec<RecoveryRequest>,
) -> Result<Vec<Recovered>, SqlError> {
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
    let rows = sqlx::query(queries.recover.clone())
        .bind(ids)
        .bind(writers)
        .fetch_all(connection)
        .await?;
    let mut by_id = HashMap::with_capacity(rows.len());
    for row in &rows {
        let recovered = Recovered {
            highest_sequence_nr: get_number::<Postgres>(row, 1)?,
            deleted_to: get_number::<Postgres>(row, 2)?,
            epoch: get_epoch::<Postgres>(row, 3)?,
        };
        by_id.insert(get_key::<Postgres>(row, 0)?, recovered);
    }
    let answer = |id: &PersistenceId| {
        let recovered = by_id.get(id.as_str()).copied();
        recovered.ok_or_else(|| SqlError::corrupt(format!("PostgreSQL returned no row for {id:?}")))
    };
    let in_order = requests
        .iter()
        .map(|request| answer(&request.persistence_id));
    in_order.collect()
}
