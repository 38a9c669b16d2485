//! The number that counts the writes of a state.

/// The number of a stored state: 0 for an id never seen, and one more with each write or delete.
///
/// A revision is never used again for the same persistence id, except after a hard delete.
pub type Revision = u64;
