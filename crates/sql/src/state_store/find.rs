//! Finding states by a condition of the application.

use actix_persistence_storage_api::{
    FindStates, FoundState, PersistenceId, SqlValue, StorageErrorKind,
};
use sqlx::SqlStr;

use crate::names::of_application;
use crate::row::get_key;
use crate::values::Values;
use crate::{ConnectionOf, Dialect, Fault, Portable, RowOf};

use super::load::to_current;

/// Stands in the statement where the condition belongs: never what a name could be.
pub(crate) const CONDITION: &str = "/*condition*/";

/// Runs a query. The text has `$type_at` and so on in the place of the numbers behind those of the condition.
pub(super) async fn find<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    template: &SqlStr,
    query: FindStates,
) -> Result<Vec<FoundState>, Fault> {
    let mut values = query.values;
    let first = values.len() + 1;
    let after = query.after.as_ref().map_or("", PersistenceId::as_str);
    let own = ["type_at", "after_at", "limit_at"].into_iter().zip(first..);
    let mut text = template.as_str().to_owned();
    for (name, number) in own {
        text = text.replace(&format!("${name}"), &format!("${number}"));
    }
    let text = text.replace(CONDITION, &format!("({}\n)", query.condition.as_str()));
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    values.extend([key(&query.entity_type), key(after), limit.into()]);
    let (text, values) = D::placeholders(&text, values)
        .map_err(|message| Fault::refused(StorageErrorKind::Extension, message))?;
    let mut arguments = Values::<D>::with_capacity(values.len());
    for value in values {
        arguments.value(value);
    }
    let sql = of_application(text);
    let rows = D::Database::fetch_all(connection, sql, arguments.into_arguments()).await?;
    rows.iter().map(to_found::<D>).collect()
}

fn key(text: &str) -> SqlValue {
    SqlValue::from(text)
}

fn to_found<D: Dialect>(row: &RowOf<D>) -> Result<FoundState, Fault> {
    let id = get_key::<D>(row, 0)?;
    let id = PersistenceId::try_of_unique(&id)
        .map_err(|error| Fault::corrupt(format!("a persistence id is invalid: {error}")))?;
    let current =
        to_current::<D>(row, 1, &id).map_err(|fault| fault.about(format_args!("{id:?}")))?;
    Ok(FoundState::new(id, current))
}
