//! Reading pages of ids.

use actix_persistence_storage_api::{PersistenceId, PersistenceIdsQuery};
use sqlx::SqlStr;

use crate::row::get_key;
use crate::values::Values;
use crate::{ConnectionOf, Dialect, SqlError, SqlxDatabase};

/// A character that, repeated, is above every id, which has at most 255 bytes.
const ABOVE_ALL: char = '\u{10ffff}';

/// The ids of one entity type, or of all of them, after an id: one range in the order of bytes, so that the primary key
/// finds its beginning.
#[derive(Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) lowest: String,
    /// The upper bound, exclusive.
    pub(crate) end: String,
    /// True if only those without a type are meant, which are between all others.
    pub(crate) without_type: bool,
}

impl Bounds {
    /// Returns the bounds of the ids; `None` if there can be no such ids.
    pub(crate) fn new(entity_type: Option<&str>, after: Option<&PersistenceId>) -> Option<Self> {
        let (lowest, end) = match entity_type {
            Some(entity_type) if entity_type.contains('|') => return None,
            None | Some("") => (String::new(), String::from(ABOVE_ALL).repeat(64)),
            // Ids that begin with the type and its `|` stand before those with the next character in its place.
            Some(entity_type) => (format!("{entity_type}|"), format!("{entity_type}}}")),
        };
        // No id holds NUL, so none is between an id and this.
        let next = after.map(|after| format!("{}\u{1}", after.as_str()));
        Some(Self {
            lowest: lowest.max(next.unwrap_or_default()),
            end,
            without_type: entity_type == Some(""),
        })
    }
}

/// The ids that a statement is to find.
#[derive(Clone, Debug)]
pub(crate) struct IdRange {
    bounds: Bounds,
    tombstones: bool,
    limit: usize,
}

impl IdRange {
    /// Returns the range of the ids; `None` if there can be no such ids.
    pub(crate) fn of(query: &PersistenceIdsQuery) -> Option<Self> {
        Some(Self {
            bounds: Bounds::new(query.entity_type.as_deref(), query.after.as_ref())?,
            tombstones: query.tombstones,
            limit: query.limit,
        })
    }

    /// Returns the statement for the range: that for any ids, or that for ids without an entity type.
    pub(crate) fn sql(&self, any: &SqlStr, without_type: &SqlStr) -> SqlStr {
        match self.bounds.without_type {
            true => without_type.clone(),
            false => any.clone(),
        }
    }

    pub(crate) fn values<D: Dialect>(&self) -> Values<D> {
        let mut values = Values::with_capacity(4);
        values.key(&self.bounds.lowest);
        values.key(&self.bounds.end);
        values.integer(i64::from(self.tombstones));
        values.integer(to_limit(self.limit));
        values
    }
}

/// The nearest limit that a database knows.
pub(crate) fn to_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

pub(crate) async fn read_ids<D: Dialect>(
    connection: &mut ConnectionOf<D>,
    sql: SqlStr,
    values: Values<D>,
) -> Result<Vec<PersistenceId>, SqlError> {
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
        let bounds = Bounds::new(Some("Post"), None).unwrap();
        let is_inside = |id: &str| *bounds.lowest <= *id && *id < *bounds.end;
        for id in ["Post|", "Post|1", "Post||", "Post|\u{10ffff}"] {
            assert!(is_inside(id), "{id}");
        }
        for id in [
            "Post", "Post{", "Post{|1", "Post}", "Posts|1", "Pos|1", "post|1",
        ] {
            assert!(!is_inside(id), "{id}");
        }
        let bounds = Bounds::new(None, None).unwrap();
        let highest = String::from(ABOVE_ALL).repeat(63) + "\u{d7ff}";
        assert!(PersistenceId::try_of_unique(&highest).is_ok() && highest < bounds.end);
        // The text before a `|` has none, so the ids of the type "Post" are not among these.
        assert!(Bounds::new(Some("Post|1"), None).is_none());
    }

    #[test]
    fn a_page_begins_after_the_last_id_of_the_one_before() {
        let lowest = |after: &str| {
            let after = PersistenceId::of_unique(after);
            Bounds::new(Some("Post"), Some(&after)).unwrap().lowest
        };
        assert!(lowest("Post|a").as_str() > "Post|a");
        for next in ["Post|a\u{1}", "Post|a\u{1}b", "Post|a ", "Post|b"] {
            assert!(*lowest("Post|a") <= *next, "{next:?}");
        }
        // An id of another type moves nothing that belongs to this one.
        assert_eq!(lowest("Apple|z"), "Post|");
        assert!(*lowest("Zebra|a") > *"Post}");
    }
}
