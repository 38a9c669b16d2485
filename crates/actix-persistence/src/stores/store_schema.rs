//! The schema that a store needs in its database.

/// The statements that make what one store needs, as [`Builder::schema`](crate::Builder::schema) returns them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreSchema {
    /// The sort of the store: `journal`, `snapshot store` or `state store`.
    pub sort: &'static str,
    /// The plugin id of the store.
    pub plugin_id: String,
    /// The statements, each ended by a semicolon; none if its plugin makes nothing in a database.
    pub sql: Option<String>,
}

impl StoreSchema {
    pub(crate) fn new(sort: &'static str, plugin_id: &str, sql: Option<String>) -> Self {
        let plugin_id = plugin_id.to_owned();
        Self {
            sort,
            plugin_id,
            sql,
        }
    }
}
