//! The data that is stored beside the events of a call.

use std::sync::Arc;

/// The tags of the events of one call; without any it takes the room of a pointer.
#[derive(Default)]
pub(crate) struct Beside(Option<Box<Data>>);

#[derive(Default)]
struct Data {
    /// The tags of each event, in the order of the events.
    tags: Vec<Vec<Arc<str>>>,
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

    fn data(&mut self) -> &mut Data {
        self.0.get_or_insert_default()
    }
}

/// Returns the tags, each once.
pub(crate) fn each_once(tags: impl IntoIterator<Item = Arc<str>>) -> Vec<Arc<str>> {
    let mut tags: Vec<_> = tags.into_iter().collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}
