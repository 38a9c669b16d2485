//! The writes that must be in a journal, from what their writers were answered, and the way a life must see them.

use std::collections::BTreeMap;

use crate::kinds::files::keeper::{RETAINING, SAVING, Writes};
use crate::kinds::files::program::persistence_id;
use crate::workers::lives::{Refusal, Said};
use crate::writers::id_of;
use crate::{Place, block_on};

/// The numbers at which an id stands, read by plain SQL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    highest: u64,
    deleted_to: u64,
    /// The newest snapshot, 0 for none.
    snapshot: u64,
}

/// The heads of all ids.
#[derive(Clone, Debug, Default)]
pub(super) struct Heads(BTreeMap<String, Head>);

impl Heads {
    /// Reads them from a journal and, if there is one, from a snapshot store; both may have no tables yet.
    pub(super) fn of(journal: &Place, snapshots: Option<&Place>) -> anyhow::Result<Self> {
        let mut heads = Self::default();
        let id = id_of(journal);
        if has_table(journal, "journal_metadata")? {
            let rows: Vec<(String, i64, i64)> = block_on(journal.rows(&format!(
                "SELECT {id}, t.highest, t.deleted_to FROM journal_metadata t"
            )))?;
            for (id, highest, deleted_to) in rows {
                let head = heads.0.entry(id).or_default();
                (head.highest, head.deleted_to) = (highest as u64, deleted_to as u64);
            }
            let rows: Vec<(String, i64)> = block_on(journal.rows(&format!(
                "SELECT {id}, MAX(t.sequence_nr) FROM event_journal t GROUP BY t.persistence_id"
            )))?;
            for (id, last) in rows {
                let head = heads.0.entry(id).or_default();
                head.highest = head.highest.max(last as u64);
            }
        }
        if let Some(place) = snapshots
            && has_table(place, "snapshot")?
        {
            let rows: Vec<(String, i64)> = block_on(place.rows(&format!(
                "SELECT {id}, MAX(t.sequence_nr) FROM snapshot t GROUP BY t.persistence_id"
            )))?;
            for (id, newest) in rows {
                heads.0.entry(id).or_default().snapshot = newest as u64;
            }
        }
        Ok(heads)
    }

    fn get(&self, id: &str) -> Head {
        let id = persistence_id(id).to_string();
        self.0.get(&id).copied().unwrap_or_default()
    }
}

fn has_table(place: &Place, table: &str) -> anyhow::Result<bool> {
    Ok(!block_on(place.columns(table))?.is_empty())
}

/// The way a life must see an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// The stores are not opened.
    NotOpened,
    /// The id recovers, and its actor is started unless it cannot do without a snapshot store.
    State {
        last: u64,
        writes: Writes,
        is_started: bool,
    },
    /// The id does not recover.
    Refused { why: Refusal, is_started: bool },
}

/// The writes of each id that were acknowledged, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct Model(BTreeMap<String, Writes>);

impl Model {
    fn of(&self, id: &str) -> Writes {
        self.0.get(id).cloned().unwrap_or_default()
    }

    /// Returns what must be seen of an id that stands there, with or without a snapshot store.
    pub(super) fn expected(&self, id: &str, heads: &Heads, no_store: bool) -> Expected {
        let (writes, head) = (self.of(id), heads.get(id));
        let last = writes.events();
        let is_retaining = id.starts_with(RETAINING);
        let is_started = !(no_store && id.starts_with([RETAINING, SAVING]));
        if head.snapshot > last {
            let why = Refusal::SnapshotAhead;
            return Expected::Refused { why, is_started };
        }
        if head.deleted_to > head.snapshot && is_retaining {
            let why = Refusal::SnapshotNeeded;
            return Expected::Refused { why, is_started };
        }
        // Deleted by hand, without a snapshot: those events are no part of the state any more.
        let gone = match head.deleted_to > head.snapshot {
            true => head.deleted_to,
            false => 0,
        };
        Expected::State {
            last,
            writes: after(&writes, gone),
            is_started,
        }
    }

    /// Compares a life with what was expected, and records what it has stored; returns the number of writes.
    ///
    /// # Errors
    /// A sentence if anything is otherwise.
    pub(super) fn judge(
        &mut self,
        id: &str,
        expected: &Expected,
        said: &[Said],
        (before, after): (&Heads, &Heads),
        is_killed: bool,
    ) -> Result<u64, String> {
        let mut writes = self.of(id);
        let (mut acknowledged, mut open) = (0, None);
        for said in said {
            match (said, expected) {
                (
                    Said::Recovered {
                        id: of,
                        last,
                        writes,
                    },
                    expected,
                ) if of == id => match expected {
                    Expected::State {
                        last: right,
                        writes: all,
                        ..
                    } if last == right && *writes == all.0 => {}
                    _ => {
                        return Err(format!(
                            "it recovers at {last} with {writes:?}, and not as {expected:?}"
                        ));
                    }
                },
                (Said::NotRecovered { id: of, why, error }, expected) if of == id => {
                    let is_right =
                        matches!(expected, Expected::Refused { why: right, .. } if why == right);
                    if !is_right || !error.contains(id) {
                        return Err(format!(
                            "it does not recover: {error}, and not {expected:?}"
                        ));
                    }
                }
                (
                    Said::NotStarted { id: of },
                    Expected::State { is_started, .. } | Expected::Refused { is_started, .. },
                ) if of == id && *is_started => {
                    return Err("its actor is not started".to_owned());
                }
                (
                    Said::Asked {
                        id: of,
                        uid,
                        events,
                    },
                    expected,
                ) if of == id => {
                    let is_started = match expected {
                        Expected::State { is_started, .. }
                        | Expected::Refused { is_started, .. } => *is_started,
                        Expected::NotOpened => false,
                    };
                    if !is_started {
                        return Err("its actor is started".to_owned());
                    }
                    open = Some((*uid, *events));
                }
                (Said::Stored { id: of, uid, last }, expected) if of == id => {
                    let Some((asked, events)) = open.take() else {
                        return Err(format!("write {uid} is answered and was not asked for"));
                    };
                    writes.0.push((asked, events));
                    let is_right = matches!(expected, Expected::State { .. });
                    if !is_right || writes.events() != *last {
                        return Err(format!(
                            "write {uid} is stored up to {last}, and it was to be {expected:?}"
                        ));
                    }
                    acknowledged += 1;
                }
                (Said::NotStored { id: of, uid }, expected) if of == id => {
                    open = None;
                    if matches!(expected, Expected::State { .. }) {
                        return Err(format!("write {uid} is refused, and it was {expected:?}"));
                    }
                }
                (Said::Unsure { id: of, uid }, _) if of == id => {
                    return Err(format!("nobody knows whether write {uid} is stored"));
                }
                _ => {}
            }
        }
        let head = after.get(id);
        // A process that was killed may have stored what it was asked last.
        if let Some((uid, events)) = open
            && is_killed
            && head.highest == writes.events() + u64::from(events)
        {
            writes.0.push((uid, events));
        }
        if head.highest != writes.events() {
            return Err(format!(
                "its last event is {}, and {} are known to be stored",
                head.highest,
                writes.events()
            ));
        }
        if !matches!(expected, Expected::State { .. }) && head != before.get(id) {
            return Err(format!(
                "it was refused, and went from {:?} to {head:?}",
                before.get(id)
            ));
        }
        self.0.insert(id.to_owned(), writes);
        Ok(acknowledged)
    }
}

/// Returns the writes without the first events of this number.
fn after(writes: &Writes, mut gone: u64) -> Writes {
    let mut left = Writes::default();
    for (uid, events) in &writes.0 {
        let kept = u64::from(*events).saturating_sub(gone);
        gone = gone.saturating_sub(u64::from(*events));
        if kept > 0 {
            left.0.push((*uid, kept as u32));
        }
    }
    left
}
