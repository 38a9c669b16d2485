//! A page of the tail.

use std::collections::VecDeque;

use actix_persistence_storage_api::{
    EventOffset, EventPosition, EventSelection, EventsPage, EventsQuery, Operation, Partition,
    SelectedEvent, StorageError, StorageErrorKind,
};

use super::super::RecordEnvelope;
use super::selections::{has_any, is_part, places_of_slices};

/// The events of a selection from one offset to another, for every stream that asks for a part of them.
#[derive(Debug)]
pub(super) struct TailPage {
    selection: EventSelection,
    /// The offset after which it was read.
    start: EventOffset,
    events: Vec<PlacedEvent>,
    end: EventOffset,
    /// The bytes of its payloads.
    bytes: usize,
}

/// An event with its own place.
#[derive(Debug)]
struct PlacedEvent {
    event: SelectedEvent,
    partition: Partition,
    position: EventPosition,
}

impl TailPage {
    /// Fails if an event has no place in the partition of its slice, so that streams cannot tell whether they had it.
    pub(super) fn new(query: EventsQuery, page: EventsPage) -> Result<Self, StorageError> {
        let events = page.events.into_iter().map(PlacedEvent::new);
        let events = events.collect::<Result<Vec<_>, _>>()?;
        let bytes = events.iter().map(|placed| placed.event.event.size()).sum();
        Ok(Self {
            selection: query.selection,
            start: query.after,
            events,
            end: page.offset,
            bytes,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns whether a stream of this selection that is at this offset gets each of its events up to the end of the page
    /// from the page.
    pub(super) fn goes_on_from(&self, selection: &EventSelection, at: &EventOffset) -> bool {
        is_part(selection, &self.selection)
            && at.has_reached(&places_of_slices(&self.start, &selection.slices))
    }

    /// Returns the events of a selection that follow an offset, and moves the offset on to the end of the page.
    ///
    /// The page must [go on from](Self::goes_on_from) there.
    pub(super) fn after(
        &self,
        selection: &EventSelection,
        at: &mut EventOffset,
    ) -> VecDeque<RecordEnvelope> {
        let mut records = VecDeque::new();
        for placed in &self.events {
            let PlacedEvent {
                event:
                    SelectedEvent {
                        persistence_id,
                        event,
                        ..
                    },
                partition,
                position,
            } = placed;
            if moves_on(at, *partition, position, selection)
                && selection.selects(persistence_id, event)
            {
                let (id, event) = (persistence_id.clone(), event.clone());
                records.push_back(RecordEnvelope::new(id, event, at.clone()));
            }
        }
        self.pass(selection, at);
        records
    }

    /// Moves the offset of a stream of a selection on to the end of the page.
    pub(super) fn pass(&self, selection: &EventSelection, at: &mut EventOffset) {
        for (partition, position) in self.end.positions() {
            moves_on(at, partition, position, selection);
        }
    }
}

/// Moves an offset on to a place; returns false if it had reached that, or if its selection reads nothing of the partition.
fn moves_on(
    at: &mut EventOffset,
    partition: Partition,
    position: &EventPosition,
    selection: &EventSelection,
) -> bool {
    let moves = has_any(partition, &selection.slices)
        && at.position(partition).is_none_or(|at| at < position);
    if moves {
        at.advance(partition, position.clone());
    }
    moves
}

impl PlacedEvent {
    fn new(event: SelectedEvent) -> Result<Self, StorageError> {
        let any = event.offset.positions().next();
        let of = any.map(|(partition, _)| partition.of());
        let partition = of.and_then(|of| Partition::of_slice(event.persistence_id.slice(), of));
        let place = partition
            .and_then(|partition| Some((partition, event.offset.position(partition)?.clone())));
        let Some((partition, position)) = place else {
            let error = StorageError::new(StorageErrorKind::Corrupt, Operation::QueryEvents)
                .with_persistence_id(event.persistence_id)
                .with_message("the offset of an event has no place in the partition of its id");
            return Err(error);
        };
        Ok(Self {
            event,
            partition,
            position,
        })
    }
}
