//! The steps of which the cases for queries over states are made.

use std::collections::BTreeMap;
use std::time::Duration;

use actix_persistence_storage_api::{
    ChangedState, Offset, Partition, PersistenceId, Position, Revision, StateChangesPage,
    StateChangesQuery, StateQueries, StateStore, slice_of,
};

use crate::failure::{CaseResult, Failure, expect, expect_eq};

/// The entity type of ids that a case makes itself.
pub(crate) const ENTITY_TYPE: &str = "Tck";

/// Returns the queries of a store, or fails if it has none.
pub(crate) fn queries(store: &dyn StateStore) -> Result<&dyn StateQueries, Failure> {
    store
        .queries()
        .ok_or_else(|| Failure::new("expected queries, as when the store was opened before"))
}

/// Returns the id `Tck|<number>`; a case of queries has a fresh place, so others may use it, too.
pub(crate) fn tck_id(number: usize) -> PersistenceId {
    PersistenceId::of(ENTITY_TYPE, &number.to_string())
}

/// Returns an id of [`ENTITY_TYPE`] in a slice.
pub(crate) fn id_of_slice(slice: u16) -> PersistenceId {
    let mut numbers = 0..;
    loop {
        let id = PersistenceId::of(ENTITY_TYPE, &numbers.next().unwrap_or(0).to_string());
        if slice_of(id.as_str()) == slice {
            return id;
        }
    }
}

/// Returns all changes of [`ENTITY_TYPE`], in pages of this many.
pub(crate) fn of_tck(limit: usize) -> StateChangesQuery {
    StateChangesQuery::new(ENTITY_TYPE, limit)
}

/// Returns an offset for each number of partitions that a store may have: before everything in the last of them.
pub(crate) fn offsets_of_all_partitions<P: Position>(before_all: &P) -> Vec<(u16, Offset<P>)> {
    let counts = (0..).map(|power| 1 << power);
    let counts = counts.take_while(|of| *of <= Partition::MOST);
    counts
        .map(|of| {
            let last = Partition::new(of - 1, of).expect("a power of two");
            let mut offset = Offset::start();
            offset.advance(last, before_all.clone());
            (of, offset)
        })
        .collect()
}

/// Reads pages of changes and checks what is true of all of them.
pub(crate) struct Reader {
    pub(crate) query: StateChangesQuery,
    /// The changes that were returned, in order.
    pub(crate) given: Vec<ChangedState>,
    revisions: BTreeMap<PersistenceId, Revision>,
    said_more: bool,
    /// True if what a page has said is still true when the next one is read.
    alone: bool,
}

impl Reader {
    pub(crate) fn new(query: StateChangesQuery) -> Self {
        Self {
            query,
            given: Vec::new(),
            revisions: BTreeMap::new(),
            said_more: false,
            alone: true,
        }
    }

    /// Reads while others write: a state that was about to be returned may change, and is returned later then.
    pub(crate) fn beside_writers(query: StateChangesQuery) -> Self {
        Self {
            alone: false,
            ..Self::new(query)
        }
    }

    /// Reads the next page.
    pub(crate) async fn read(
        &mut self,
        store: &dyn StateStore,
    ) -> Result<StateChangesPage, Failure> {
        let page = queries(store)?.changes(self.query.clone()).await?;
        let number = page.changes.len();
        expect(
            number <= self.query.limit,
            format!("at most {} changes, found {number}", self.query.limit),
        )?;
        expect(
            number > 0 || !self.said_more || !self.alone,
            "changes after a page that said that there are more",
        )?;
        for change in &page.changes {
            let (id, revision) = (&change.persistence_id, change.current.revision);
            let before = self.revisions.insert(id.clone(), revision);
            expect(
                before.is_none_or(|before| before < revision),
                format!("a rising revision of {id:?}, found {revision} after {before:?}"),
            )?;
        }
        self.given.extend(page.changes.iter().cloned());
        self.query.after = page.offset.clone();
        self.said_more = page.more;
        Ok(page)
    }

    /// Reads on until this was given and there is no more.
    ///
    /// Changes may be held back for a while, by whatever else is written on the same server; but what was stored before
    /// this one must be there by then.
    pub(crate) async fn read_until(
        &mut self,
        store: &dyn StateStore,
        (id, revision): &(PersistenceId, Revision),
    ) -> CaseResult {
        loop {
            let page = self.read(store).await?;
            let given = self.revisions.get(id);
            if !page.more && given.is_some_and(|given| given >= revision) {
                return Ok(());
            }
            if page.changes.is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    }

    /// The revision of each id that was given last.
    pub(crate) fn revisions(&self) -> Vec<(PersistenceId, Revision)> {
        let revisions = self.revisions.iter();
        revisions
            .map(|(id, revision)| (id.clone(), *revision))
            .collect()
    }
}

/// Reads all changes, and expects these ids at these revisions, each once; returns them as they came.
///
/// The last of them was stored last.
pub(crate) async fn expect_changes(
    store: &dyn StateStore,
    query: StateChangesQuery,
    expected: &[(PersistenceId, Revision)],
) -> Result<Vec<ChangedState>, Failure> {
    let mut reader = Reader::new(query);
    match expected.last() {
        Some(last) => reader.read_until(store, last).await?,
        None => drop(reader.read(store).await?),
    }
    let mut expected = expected.to_vec();
    expected.sort();
    expect_eq("changed ids", reader.revisions(), expected)?;
    expect_eq("changes", reader.given.len(), reader.revisions.len())?;
    Ok(reader.given)
}
