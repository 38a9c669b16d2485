//! The ids that a query selects.

use std::collections::BTreeSet;

/// The ids that a query selects; all of them by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selected<'h> {
    ids: Option<BTreeSet<&'h str>>,
    prefix: &'h str,
}

impl<'h> Selected<'h> {
    /// Selects those of `ids`, or of all ids for `None`, that begin with `prefix`.
    pub(crate) fn new(ids: Option<&'h [String]>, prefix: &'h str) -> Self {
        let ids = ids.map(|ids| ids.iter().map(String::as_str).collect());
        Self { ids, prefix }
    }

    /// Returns those of all ids that are selected; takes no longer than there are named ones, if they are named.
    pub(crate) fn of_all(
        &self,
        all: impl Iterator<Item = &'h str>,
    ) -> impl Iterator<Item = &'h str> {
        let named = self.ids.iter().flatten().copied();
        let others = self.ids.is_none().then_some(all).into_iter().flatten();
        named.chain(others).filter(|id| id.starts_with(self.prefix))
    }

    pub(crate) fn contains(&self, id: &str) -> bool {
        id.starts_with(self.prefix) && self.ids.as_ref().is_none_or(|ids| ids.contains(id))
    }
}
