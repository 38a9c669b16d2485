//! The data that is stored beside the events of a call.

use std::sync::Arc;

use crate::Metadata;
use crate::metadata::carried::Carried;

/// The tags of the events of one call, and the metadata; without any it takes the room of a pointer.
#[derive(Default)]
pub(crate) struct Beside(Option<Box<Data>>);

struct Data {
    /// The tags of each event, in the order of the events.
    tags: Vec<Vec<Arc<str>>>,
    /// The metadata under which the call was made, for what follows from it.
    carried: Carried,
    /// The metadata that is stored with the events; empty where the journal keeps none.
    stored: Metadata,
}

impl Beside {
    /// Makes it for a call whose events all have these tags.
    pub(crate) fn tagged(events: usize, tags: Vec<Arc<str>>) -> Self {
        let mut beside = Self::default();
        if !tags.is_empty() {
            beside.data().tags = vec![tags; events];
        }
        beside
    }

    /// Adds tags to the event with this index, of so many events.
    pub(crate) fn tag(&mut self, index: usize, events: usize, tags: Vec<String>) {
        let all = &mut self.data().tags;
        all.resize_with(events, Vec::new);
        let own = std::mem::take(&mut all[index]);
        all[index] = each_once(own.into_iter().chain(tags.into_iter().map(Into::into)));
    }

    /// Returns the tags of the event with this index.
    pub(crate) fn tags(&self, index: usize) -> &[Arc<str>] {
        let data = self.0.as_ref();
        data.and_then(|data| data.tags.get(index))
            .map_or(&[], Vec::as_slice)
    }

    /// Adds the metadata under which the call is made, to be stored with its events or not.
    pub(crate) fn carry(&mut self, carried: Carried, is_stored: bool) {
        if !carried.is_empty() {
            let data = self.data();
            if is_stored {
                data.stored = carried.metadata().clone();
            }
            data.carried = carried;
        }
    }

    /// Returns the metadata under which the call was made.
    pub(crate) fn carried(&self) -> Carried {
        let data = self.0.as_ref();
        data.map_or(Carried::NOTHING, |data| data.carried.clone())
    }

    /// Returns the metadata that is stored with each event.
    pub(crate) fn stored(&self) -> &Metadata {
        let data = self.0.as_ref();
        data.map_or(&Metadata::NOTHING, |data| &data.stored)
    }

    fn data(&mut self) -> &mut Data {
        self.0.get_or_insert_with(|| {
            Box::new(Data {
                tags: Vec::new(),
                carried: Carried::NOTHING,
                stored: Metadata::NOTHING,
            })
        })
    }
}

/// Returns the tags, each once.
pub(crate) fn each_once(tags: impl IntoIterator<Item = Arc<str>>) -> Vec<Arc<str>> {
    let mut tags: Vec<_> = tags.into_iter().collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}
