//! The events that this journal stored last, for those who read the tail.
//!
//! They are a copy of what the database was told, and say nothing of what it has now: a page is made of them only if the
//! database confirms that these and no others are there.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_persistence_storage_api::Partition;
use tokio::time::Instant;

use crate::{EventRow, Group};

/// The most events that are kept.
const MOST_EVENTS: usize = 4_096;
/// The most bytes of payloads that are kept.
const MOST_BYTES: usize = 4 << 20;

/// The time after which a reader that has not come again is taken for gone.
const GONE: Duration = Duration::from_secs(10);

/// The most pages that are read without a question after pages that were not confirmed: others write, too, or delete.
const MOST_PAGES_WITHOUT: u32 = 63;

/// The events that this journal stored last, while a reader is at the tail: without one nothing is kept.
#[derive(Debug, Default)]
pub(super) struct Recent {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The time at which a reader had last read everything.
    read: Option<Instant>,
    /// In the order in which they were stored.
    events: VecDeque<Kept>,
    bytes: usize,
    /// The number of pages that are to be read without a question.
    without: u32,
    /// That number after the next page that is not confirmed.
    next_without: u32,
    /// The number of groups that are to be kept, and are still being stored, by the partitions of their events.
    under_way: HashMap<Partition, usize>,
}

/// A group whose events are kept once they are stored.
pub(super) struct ToKeep<'r> {
    recent: &'r Recent,
    events: Vec<(Partition, EventRow)>,
    /// Those of the events.
    partitions: HashSet<Partition>,
}

/// An event that was stored, and its place.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) partition: Partition,
    pub(super) ordering: i64,
    /// Shared, because readers take copies under the lock.
    pub(super) row: Arc<EventRow>,
}

impl Recent {
    /// Notes that a reader has read everything.
    pub(super) fn is_read(&self) {
        self.lock().read = Some(Instant::now());
    }

    /// Takes copies of the events of a group that is to be stored, if they are to be kept; then the group asks for their
    /// numbers.
    pub(super) fn begin(
        &self,
        group: &mut Group,
        partition_of: impl Fn(u16) -> Option<Partition>,
    ) -> Option<ToKeep<'_>> {
        let mut state = self.lock();
        if !state.has_reader() {
            state.forget_all();
            return None;
        }
        drop(state);
        if group.events.len() > MOST_EVENTS || group.bytes() > MOST_BYTES {
            return None;
        }
        let partition_of = |row: &EventRow| partition_of(row.slice);
        let events = group.events.iter();
        let events = events.map(|row| Some((partition_of(row)?, row.clone())));
        let events: Vec<_> = events.collect::<Option<_>>()?;
        let partitions: HashSet<_> = events.iter().map(|(partition, _)| *partition).collect();
        group.asks_numbers = true;
        let mut state = self.lock();
        for partition in &partitions {
            *state.under_way.entry(*partition).or_default() += 1;
        }
        drop(state);
        Some(ToKeep {
            recent: self,
            events,
            partitions,
        })
    }

    /// Returns the partitions in which there may be events of this journal that are not kept yet.
    pub(super) fn under_way(&self) -> HashSet<Partition> {
        self.lock().under_way.keys().copied().collect()
    }

    /// Returns whether it is worth while to ask whether what is kept is all there is.
    pub(super) fn may_be_asked_for(&self) -> bool {
        let mut state = self.lock();
        if state.events.is_empty() {
            return false;
        }
        match state.without.checked_sub(1) {
            Some(left) => {
                state.without = left;
                false
            }
            None => true,
        }
    }

    /// Returns the events of a partition from this number on, in the order of their places.
    pub(super) fn of(&self, partition: Partition, first: i64) -> Vec<Kept> {
        let state = self.lock();
        let events = state.events.iter();
        let events = events.filter(|kept| kept.partition == partition && first <= kept.ordering);
        let mut events: Vec<_> = events.cloned().collect();
        drop(state);
        events.sort_unstable_by(|one, other| one.place().cmp(&other.place()));
        events
    }

    /// Forgets the events of a partition up to this number, which were read.
    pub(super) fn forget(&self, partition: Partition, up_to: i64) {
        let mut state = self.lock();
        let mut bytes = state.bytes;
        state.events.retain(|kept| {
            let is_left = kept.partition != partition || kept.ordering > up_to;
            if !is_left {
                bytes -= kept.row.event.size();
            }
            is_left
        });
        state.bytes = bytes;
    }

    /// Notes whether the database has confirmed that what is kept is all there is.
    pub(super) fn was_confirmed(&self, is_confirmed: bool) {
        let mut state = self.lock();
        if is_confirmed {
            state.next_without = 0;
        } else {
            state.without = state.next_without;
            state.next_without = (2 * state.next_without + 1).min(MOST_PAGES_WITHOUT);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ToKeep<'_> {
    /// Keeps the events, which are certainly stored, under these numbers in the order of commits; nothing without one for each.
    pub(super) fn keep(mut self, numbers: &[i64]) {
        let events = std::mem::take(&mut self.events);
        if events.len() != numbers.len() {
            return;
        }
        let mut state = self.recent.lock();
        for ((partition, row), number) in events.into_iter().zip(numbers) {
            state.bytes += row.event.size();
            state.events.push_back(Kept {
                partition,
                ordering: *number,
                row: Arc::new(row),
            });
        }
        while state.events.len() > MOST_EVENTS || state.bytes > MOST_BYTES {
            let Some(oldest) = state.events.pop_front() else {
                break;
            };
            state.bytes -= oldest.row.event.size();
        }
    }
}

/// The group is no longer under way: after its events are kept, so that no look takes them for those of others.
impl Drop for ToKeep<'_> {
    fn drop(&mut self) {
        let mut state = self.recent.lock();
        for partition in &self.partitions {
            if let Some(groups) = state.under_way.get_mut(partition) {
                *groups -= 1;
                if *groups == 0 {
                    state.under_way.remove(partition);
                }
            }
        }
    }
}

impl State {
    fn has_reader(&self) -> bool {
        self.read.is_some_and(|read| read.elapsed() < GONE)
    }

    fn forget_all(&mut self) {
        self.events = VecDeque::new();
        self.bytes = 0;
    }
}

impl Kept {
    /// Returns what the events of a partition are ordered by.
    fn place(&self) -> (i64, &[u8], i64) {
        let row = &self.row;
        (self.ordering, row.id.as_str().as_bytes(), row.sequence_nr())
    }
}

#[cfg(test)]
mod tests;
