//! The kinds of offsets of streams of events.

use actix_persistence_storage_api::{EventOffset, SequenceNr};

/// An offset of a stream of events: an [`EventOffset`] among those of many ids, the number among those of one id.
pub trait EventPlace: sealed::Sealed + Clone + Send + Unpin + std::fmt::Debug + 'static {}

impl EventPlace for EventOffset {}
impl EventPlace for SequenceNr {}

pub(crate) mod sealed {
    use super::{EventOffset, SequenceNr};

    pub trait Sealed {
        /// Returns the offset among the events of many ids, if it is one.
        fn among_all(&self) -> Option<Box<EventOffset>>;
    }

    impl Sealed for EventOffset {
        fn among_all(&self) -> Option<Box<EventOffset>> {
            Some(Box::new(self.clone()))
        }
    }

    impl Sealed for SequenceNr {
        fn among_all(&self) -> Option<Box<EventOffset>> {
            None
        }
    }
}
