//! The stores that a command opens.

/// The reason why commands do not make stores that the application would make: an empty database in the wrong place would
/// hide the right one.
pub(crate) const NOTHING_MADE: &str = "could not open the stores; this program makes no database and no table, so check the config, and \
    the directory from which its relative paths go";
