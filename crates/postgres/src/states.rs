//! Storing several states in one statement.

use actix_persistence_sql::{
    ConnectionOf, Opening, SqlError, SqlNames, StateDialect, StateRow, StateRows, get_number,
};
use actix_persistence_storage_api::{Payload, PersistenceId, Revision};
use sqlx::SqlStr;
use sqlx::postgres::PgArguments;

use crate::Postgres;
use crate::journal::columns::Columns;

impl StateDialect for Postgres {
    type StateQueries = SqlStr;

    /// Returns the only one.
    fn state_queries(names: &SqlNames) -> SqlStr {
        crate::queries::store_states(names)
    }

    async fn store_states(
        connection: &mut ConnectionOf<Self>,
        queries: &SqlStr,
        rows: StateRows<'_>,
        _: Opening,
    ) -> Result<Vec<(PersistenceId, Revision)>, SqlError> {
        let found = sqlx::query_with(queries.clone(), arguments(&rows))
            .fetch_all(connection)
            .await?;
        let mut lost = Vec::with_capacity(found.len());
        for row in &found {
            let place = get_number::<Postgres>(row, 0)?;
            let of_place = usize::try_from(place)
                .ok()
                .and_then(|place| rows.all().nth(place.checked_sub(1)?));
            let of_place =
                of_place.ok_or_else(|| SqlError::corrupt(format!("there is no row {place}")))?;
            lost.push((of_place.id().clone(), get_number::<Postgres>(row, 1)?));
        }
        Ok(lost)
    }
}

/// Returns the values of the statement: an array for each column.
fn arguments(rows: &StateRows<'_>) -> PgArguments {
    let payload = StateRow::payload;
    let mut columns = Columns::default();
    columns.add(rows.all().map(|row| row.id().as_str()));
    columns.add(rows.all().map(|row| i64::from(row.id().slice())));
    columns.add(rows.all().map(StateRow::revision));
    columns.add(rows.all().map(|row| payload(row).is_none()));
    columns.add(rows.all().map(|row| row.timestamp().as_micros()));
    columns.add(rows.all().map(StateRow::tags_text));
    columns.add(
        rows.all()
            .map(|row| payload(row).map_or(0, |it| i64::from(it.serializer_id))),
    );
    columns.add(
        rows.all()
            .map(|row| payload(row).map_or("", |it| &*it.manifest)),
    );
    columns.add(rows.all().map(|row| payload(row).map(bytes)));
    columns.add(rows.all().map(StateRow::checksum));
    columns.0
}

fn bytes(payload: &Payload) -> &[u8] {
    &payload.bytes
}
