//! Finding states by a condition of the application.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use actix_persistence_storage_api::{
    FindStates, FoundState, PersistenceId, SqlValue, StorageErrorKind,
};
use sqlx::SqlSafeStr;

use crate::ids::{Bounds, to_limit};
use crate::names::of_application;
use crate::placeholders::{Piece, pieces};
use crate::row::get_key;
use crate::values::Values;
use crate::{ConnectionOf, Dialect, RowOf, SqlError, SqlxDatabase};

use super::load::to_current;
use super::room::Room;
use super::state_table::StateTable;

/// Stands in the statement where the condition belongs: never what a name could be.
const CONDITION: &str = "/*condition*/";

/// The number of conditions that are remembered as valid.
const MOST_REMEMBERED: usize = 1_000;

/// The conditions of a table that the database has understood where nothing is around them, as texts with placeholders.
#[derive(Debug, Default)]
pub(super) struct Conditions(Mutex<HashSet<Box<str>>>);

/// Runs a query, for a page of at most this many bytes of payloads, but at least one state.
pub(super) async fn find<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    table: &StateTable<D>,
    query: FindStates,
    max_bytes: usize,
) -> Result<Vec<FoundState>, SqlError> {
    check_values::<D>(query.condition.as_str(), query.values.len())?;
    let Some(begin) = D::BEGIN_FINDING else {
        return read_page::<D>(connection, table, query, max_bytes).await;
    };
    // After an error the connection is closed, which ends the transaction.
    D::Database::run(connection, begin.into_sql_str()).await?;
    let page = read_page::<D>(connection, table, query, max_bytes).await?;
    D::Database::run(connection, D::COMMIT.into_sql_str()).await?;
    Ok(page)
}

async fn read_page<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    table: &StateTable<D>,
    query: FindStates,
    max_bytes: usize,
) -> Result<Vec<FoundState>, SqlError> {
    check_stands_alone::<D>(connection, table, &query).await?;
    let Some(bounds) = Bounds::new(Some(&query.entity_type), query.after.as_ref()) else {
        return Ok(Vec::new());
    };
    let template = match bounds.without_type {
        true => &table.statements.find_without_type,
        false => &table.statements.find,
    };
    let own = [
        ("lowest_at", SqlValue::from(bounds.lowest)),
        ("end_at", SqlValue::from(bounds.end)),
        ("limit_at", to_limit(query.limit).into()),
        ("bytes_at", to_limit(max_bytes).into()),
    ];
    let (mut text, mut values) = (template.as_str().to_owned(), query.values);
    for (name, value) in own {
        values.push(value);
        text = text.replace(&format!("${name}"), &format!("${}", values.len()));
    }
    let text = text.replace(CONDITION, &format!("({}\n)", query.condition.as_str()));
    let rows = run::<D>(connection, &text, values).await?;
    let mut room = Room::of(max_bytes);
    let mut page = Vec::with_capacity(rows.len());
    for row in &rows {
        let found = to_found::<D>(row)?;
        if !room.takes(Some(&found.state)) {
            break;
        }
        page.push(found);
    }
    Ok(page)
}

/// Fails if a condition has placeholders without a value, which would take those of the store, or values without one.
fn check_values<D: Dialect>(condition: &str, count: usize) -> Result<(), SqlError> {
    let mut is_used = vec![false; count];
    for piece in pieces(condition, D::QUOTING) {
        match piece {
            Piece::Placeholder(number) => {
                let place = number.checked_sub(1).and_then(|at| is_used.get_mut(at));
                *place.ok_or_else(|| {
                    refused(format!(
                        "the condition has ${number}, but there are {count} values"
                    ))
                })? = true;
            }
            // Some drivers run what follows.
            Piece::Other(";") => {
                return Err(refused("the condition has a ';', so it is none".to_owned()));
            }
            Piece::Other(_) | Piece::Quoted(_) => {}
        }
    }
    match is_used.iter().position(|is_used| !is_used) {
        Some(unused) => Err(refused(format!(
            "there are {count} values for the condition, but it has no ${}",
            unused + 1
        ))),
        None => Ok(()),
    }
}

fn refused(message: String) -> SqlError {
    SqlError::refused(StorageErrorKind::Extension, message)
}

/// Fails unless a condition is one where nothing is around it, too: whatever breaks out of its parentheses is none there.
///
/// The database says so, not this crate, which need not know what it takes for a quote or a comment.
async fn check_stands_alone<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    table: &StateTable<D>,
    query: &FindStates,
) -> Result<(), SqlError> {
    let condition = query.condition.as_str();
    let known = || {
        table
            .conditions
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    };
    if known().contains(condition) {
        return Ok(());
    }
    let text = table
        .statements
        .explain
        .as_str()
        .replace(CONDITION, condition);
    run::<D>(connection, &text, query.values.clone()).await?;
    let mut known = known();
    if known.len() >= MOST_REMEMBERED {
        known.clear();
    }
    known.insert(condition.into());
    Ok(())
}

async fn run<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    text: &str,
    values: Vec<SqlValue>,
) -> Result<Vec<RowOf<D>>, SqlError> {
    let (text, values) = D::placeholders(text, values).map_err(refused)?;
    let mut arguments = Values::<D>::with_capacity(values.len());
    for value in values {
        arguments.value(value);
    }
    let sql = of_application(text);
    Ok(D::Database::fetch_all(connection, sql, arguments.into_arguments()).await?)
}

fn to_found<D: Dialect>(row: &RowOf<D>) -> Result<FoundState, SqlError> {
    let id = get_key::<D>(row, 0)?;
    let id = PersistenceId::try_of_unique(&id)
        .map_err(|error| SqlError::corrupt(format!("a persistence id is invalid: {error}")))?;
    let current =
        to_current::<D>(row, 1, &id).map_err(|error| error.about(format_args!("{id:?}")))?;
    let Some(state) = current.state else {
        let message = format!("the deleted state of {id:?} was found");
        return Err(SqlError::corrupt(message));
    };
    Ok(FoundState::new(id, current.revision, state))
}
