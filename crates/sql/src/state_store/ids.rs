//! Reading ids.

use actix_persistence_storage_api::{PersistenceId, PersistenceIdsQuery};
use sqlx::SqlStr;

use crate::row::get_key;
use crate::values::Values;
use crate::{ConnectionOf, Dialect, Fault, Portable, StateStatements};

/// Above every id, which has at most 255 bytes.
const ABOVE_ALL: char = '\u{10ffff}';

/// Which ids a statement is to find, byte by byte.
#[derive(Clone, Debug)]
pub(super) struct IdRange {
    lowest: String,
    /// Exclusive, as `behind`.
    before: String,
    behind: String,
    without_type: bool,
    tombstones: bool,
    limit: usize,
}

impl IdRange {
    pub(super) fn of(query: &PersistenceIdsQuery) -> Self {
        let (lowest, behind) = match query.entity_type.as_deref() {
            None | Some("") => (String::new(), String::from(ABOVE_ALL).repeat(64)),
            // What begins with the type and its `|` stands before what has the next character in its place.
            Some(entity_type) => (format!("{entity_type}|"), format!("{entity_type}}}")),
        };
        let before = query.after.as_ref().map(PersistenceId::as_str);
        Self {
            lowest,
            before: before.unwrap_or_default().to_owned(),
            behind,
            without_type: query.entity_type.as_deref() == Some(""),
            tombstones: query.tombstones,
            limit: query.limit,
        }
    }

    pub(super) fn sql(&self, statements: &StateStatements) -> SqlStr {
        if self.without_type {
            statements.ids_without_type.clone()
        } else {
            statements.ids.clone()
        }
    }

    pub(super) fn values<D: Dialect>(&self) -> Values<D> {
        let mut values = Values::with_capacity(5);
        values.key(&self.lowest);
        values.key(&self.before);
        values.key(&self.behind);
        values.integer(i64::from(self.tombstones));
        values.integer(to_limit(self.limit));
        values
    }
}

/// The nearest limit that a database knows.
pub(super) fn to_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(super) async fn read_ids<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: SqlStr,
    values: Values<D>,
) -> Result<Vec<PersistenceId>, Fault> {
    let rows = D::Database::fetch_all(connection, sql, values.into_arguments()).await?;
    let ids = rows.iter().map(|row| get_key::<D>(row, 0));
    ids.map(|id| id.map(|id| PersistenceId::of_unique(&id)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ids_of_a_type_are_between_its_bounds_and_no_others() {
        let range = IdRange::of(&PersistenceIdsQuery::new(1).of_entity_type("Post"));
        let is_inside = |id: &str| *range.lowest <= *id && *id < *range.behind;
        for id in ["Post|", "Post|1", "Post||", "Post|\u{10ffff}"] {
            assert!(is_inside(id), "{id}");
        }
        for id in [
            "Post", "Post{", "Post{|1", "Post}", "Posts|1", "Pos|1", "post|1",
        ] {
            assert!(!is_inside(id), "{id}");
        }
        let range = IdRange::of(&PersistenceIdsQuery::new(1));
        let highest = String::from(ABOVE_ALL).repeat(63) + "\u{d7ff}";
        assert!(PersistenceId::try_of_unique(&highest).is_ok() && highest < range.behind);
    }
}
