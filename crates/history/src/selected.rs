//! The ids that a query selects.

use std::collections::HashSet;

/// The ids that a query selects; all of them by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selected<'h> {
    ids: Option<HashSet<&'h str>>,
    prefix: &'h str,
}

impl<'h> Selected<'h> {
    /// Selects those of `ids`, or of all ids for `None`, that begin with `prefix`.
    pub(crate) fn new(ids: Option<&'h [String]>, prefix: &'h str) -> Self {
        let ids = ids.map(|ids| ids.iter().map(String::as_str).collect());
        Self { ids, prefix }
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        id.starts_with(self.prefix) && self.ids.as_ref().is_none_or(|ids| ids.contains(id))
    }
}
