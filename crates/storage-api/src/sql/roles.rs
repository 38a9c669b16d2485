//! The database roles: one owns the tables, one uses them.

/// The two accounts of a database server: the one that owns the tables, and the one with which the application logs in.
///
/// The application's account then needs no right to change the schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    /// The account that owns the tables.
    pub owner: String,
    /// Reads and writes them.
    pub application: String,
}
