//! The title beside each post.

use actix_persistence::{
    payload::decode_state,
    query::FindStates,
    sql::{AdditionalColumn, ColumnValue, ExtensionError, SqlValue, StateChange},
};

use crate::{BlogPost, Post};

/// Keeps the title of a post in a column, by which it is found.
pub struct Title;

impl AdditionalColumn for Title {
    fn column_name(&self) -> &str {
        "title"
    }

    fn sql_type(&self, _database: &str) -> Option<&str> {
        Some("TEXT")
    }

    fn bind(&self, change: &StateChange<'_>) -> Result<ColumnValue, ExtensionError> {
        match change.payload() {
            Some(payload) => Ok(decode_state::<Post>(payload)?.title.into()),
            // No title outlives its post.
            None => Ok(SqlValue::Null.into()),
        }
    }
}

/// The posts with this title, as many as `limit`.
pub fn with_title(title: &str, limit: usize) -> FindStates {
    FindStates::new(BlogPost::ENTITY_TYPE, "title = $1", [title.into()], limit)
}
