//! The parts that stored records are made of: ids, numbers, times and bytes.

mod partition;
mod payload;
mod persistence_id;
mod revision;
mod sequence_nr;
mod slice;
mod timestamp;
mod writer_id;

pub use partition::Partition;
pub use payload::Payload;
pub use persistence_id::{InvalidPersistenceId, PersistenceId};
pub use revision::Revision;
pub use sequence_nr::{Epoch, SequenceNr};
pub use slice::{NUMBER_OF_SLICES, slice_of};
pub use timestamp::Timestamp;
pub use writer_id::WriterId;
