//! The numbers that order events and incarnations.

/// The position of an event in the stream of its persistence id.
///
/// The first event has 1; 0 stands for "nothing stored".
/// Numbers of one id are gap-free and never used twice, even after deletes.
pub type SequenceNr = u64;

/// Counts the incarnations that recovered a persistence id in order to write.
///
/// The first has 1; 0 stands for "never recovered".
pub type Epoch = u64;
