//! Parked ids as they are kept in memory.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Bound, RangeInclusive};

use actix_persistence_storage_api::{
    ParkedId, ParkedItem, ParkedRequest, PersistenceId, Unparked, kept_text,
};

/// The parked ids of a projection.
#[derive(Default)]
pub(super) struct ParkedRows(BTreeMap<PersistenceId, ParkedRow>);

/// A parked id with its items, of which there is at least one.
struct ParkedRow {
    items: VecDeque<ParkedItem>,
    /// The parts that are shown of it, but for the first item and what follows from it.
    shown: ParkedId,
    /// The request, and the place of the item that was the first when it was asked for.
    request: Option<(ParkedRequest, u64)>,
}

impl ParkedRows {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn page(
        &self,
        slices: &RangeInclusive<u16>,
        after: Option<&PersistenceId>,
        limit: usize,
    ) -> Vec<ParkedId> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        let found = self.0.range((after, Bound::Unbounded));
        let found = found.filter(|(id, _)| slices.contains(&id.slice()));
        found.take(limit).map(|(_, row)| row.shown()).collect()
    }

    pub(super) fn items(&self, id: &PersistenceId, limit: usize) -> Vec<ParkedItem> {
        let items = self.0.get(id).into_iter().flat_map(|row| &row.items);
        items.take(limit).cloned().collect()
    }

    /// Returns whether these are the first items of their id.
    pub(super) fn begin_with(&self, unparked: &Unparked) -> bool {
        let (first, last) = (unparked.places.start(), unparked.places.end());
        self.0
            .get(&unparked.persistence_id)
            .is_some_and(|row| row.first_place() == *first && first <= last && row.has_place(*last))
    }

    /// Removes items that are the first ones of their id.
    pub(super) fn remove(&mut self, unparked: &Unparked) {
        if let Some(row) = self.0.get_mut(&unparked.persistence_id) {
            let last = *unparked.places.end();
            row.items.retain(|item| item.place > last);
            if row.items.is_empty() {
                self.0.remove(&unparked.persistence_id);
            }
        }
    }

    pub(super) fn add(&mut self, mut item: ParkedItem) {
        item.item = kept_text(&item.item).into_owned();
        item.reason = item.reason.map(|reason| kept_text(&reason).into_owned());
        let row = self.0.get_mut(&item.persistence_id);
        item.place = row.as_deref().map_or(1, ParkedRow::next_place);
        match row {
            Some(row) => row.items.push_back(item),
            None => {
                let row = ParkedRow {
                    shown: ParkedId::new(&item, 1),
                    items: [item.clone()].into(),
                    request: None,
                };
                self.0.insert(item.persistence_id, row);
            }
        }
    }

    /// Counts a retry; `None` if the id is not parked.
    pub(super) fn begin_retry(&mut self, id: &PersistenceId) -> Option<u32> {
        let row = self.0.get_mut(id)?;
        if row.request() == Some(ParkedRequest::Retry) {
            row.request = None;
        }
        row.shown.attempts += 1;
        Some(row.shown.attempts)
    }

    /// Sets the reason; `None` if the id is not parked.
    pub(super) fn note(&mut self, id: &PersistenceId, reason: &str) -> Option<()> {
        let row = self.0.get_mut(id)?;
        row.shown.reason = kept_text(reason).into_owned();
        Some(())
    }

    /// Asks for a retry of an id that is parked and has no request.
    pub(super) fn retry_again(&mut self, id: &PersistenceId) {
        let row = self.0.get_mut(id);
        if let Some(row) = row.filter(|row| row.request.is_none()) {
            row.set_request(ParkedRequest::Retry);
        }
    }

    /// Sets the request of one id or of all; returns whether there was the one.
    pub(super) fn request(&mut self, id: Option<&PersistenceId>, request: ParkedRequest) -> bool {
        match id {
            Some(id) => self
                .0
                .get_mut(id)
                .map(|row| row.set_request(request))
                .is_some(),
            None => {
                self.0.values_mut().for_each(|row| row.set_request(request));
                true
            }
        }
    }
}

impl ParkedRow {
    fn shown(&self) -> ParkedId {
        let mut shown = self.shown.clone();
        let first = self.first();
        shown.number = first.number;
        shown.item.clone_from(&first.item);
        shown.waiting = self.items.len() as u64;
        shown.request = self.request();
        shown
    }

    fn first(&self) -> &ParkedItem {
        self.items.front().expect("a parked id has an item")
    }

    fn first_place(&self) -> u64 {
        self.first().place
    }

    fn next_place(&self) -> u64 {
        self.first_place() + self.items.len() as u64
    }

    fn has_place(&self, place: u64) -> bool {
        (self.first_place()..self.next_place()).contains(&place)
    }

    fn request(&self) -> Option<ParkedRequest> {
        let (request, place) = self.request?;
        let is_gone = request == ParkedRequest::DropFirst && place != self.first_place();
        Some(if is_gone {
            ParkedRequest::Retry
        } else {
            request
        })
    }

    fn set_request(&mut self, request: ParkedRequest) {
        self.request = Some((request, self.first_place()));
    }
}
