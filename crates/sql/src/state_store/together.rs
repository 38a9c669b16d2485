//! The rows of a group that share statements.

use std::collections::{BTreeMap, HashMap};

use actix_persistence_storage_api::{PersistenceId, Revision};

use crate::connection::Opening;
use crate::{ConnectionOf, Dialect, SqlError, StateRows};

use super::guilty::Guilty;
use super::write::{Change, Written};

/// Returns the number of tables of changes that can share statements; `None` if some cannot.
///
/// Those of one id follow on each other, so each of them is a statement of its own.
pub(super) fn tables_of<D: Dialect>(changes: &[Change<D>]) -> Option<usize> {
    if changes.len() < 2 || changes.iter().any(|change| change.queries.is_none()) {
        return None;
    }
    let mut ids: Vec<&PersistenceId> = changes.iter().map(|change| &change.row.id).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        return None;
    }
    Some(by_table(changes).len())
}

/// Stores rows of different ids by few statements for each table, and assigns those that were stored their places in the order
/// of commits.
pub(super) async fn write_together<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    changes: &[Change<D>],
    mut opening: Opening,
    guilty: &Guilty,
) -> Result<Vec<Written>, SqlError> {
    guilty.forget();
    let mut lost: HashMap<PersistenceId, Revision> = HashMap::new();
    for of_table in by_table(changes).into_values() {
        let opening = std::mem::replace(&mut opening, Opening::Done);
        let Some(queries) = of_table.first().and_then(|change| change.queries.as_ref()) else {
            continue;
        };
        let rows = in_order(&of_table);
        let of_table = D::store_states(connection, queries, rows, opening).await;
        lost.extend(of_table.map_err(|error| guilty.note_any::<D>(error))?);
    }
    let written = changes.iter().map(|change| match lost.get(&change.row.id) {
        None => Written::Stored,
        Some(&found) => Written::Conflict { found },
    });
    Ok(written.collect())
}

/// All writers take the tables in one order.
fn by_table<D: Dialect>(changes: &[Change<D>]) -> BTreeMap<&str, Vec<&Change<D>>> {
    let mut tables: BTreeMap<&str, Vec<&Change<D>>> = BTreeMap::new();
    for change in changes {
        let table = change.statements.revision.as_str();
        tables.entry(table).or_default().push(change);
    }
    tables
}

fn in_order<'c, D: Dialect>(changes: &[&'c Change<D>]) -> StateRows<'c> {
    let mut rows: Vec<_> = changes.iter().map(|change| &change.row).collect();
    rows.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let (first, next) = rows.into_iter().partition(|row| row.revision == 1);
    StateRows { next, first }
}
