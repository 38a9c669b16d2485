//! The ids that identify payloads and incarnations.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The unique id of a payload: an event, or a state. It is stored within the payload.
///
/// So an event stays itself whatever number it is stored under.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Uid(pub u64);

impl Uid {
    /// Makes the id of the payload that a process made as number `counter`.
    pub fn of(process: u32, counter: u32) -> Self {
        Self(u64::from(process) << 32 | u64::from(counter))
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 >> 32, self.0 & 0xffff_ffff)
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// An incarnation: one life of an actor, between a recovery and its end; unique in a history.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(pub u64);

impl Incarnation {
    /// Makes the `counter`th incarnation of this process.
    pub fn of(process: u32, counter: u32) -> Self {
        Self(Uid::of(process, counter).0)
    }
}

impl fmt::Debug for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Uid(self.0).fmt(f)
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Uid(self.0).fmt(f)
    }
}

/// Returns the digest of a state after one more event; that of the empty state is 0.
///
/// An actor that folds the ids of its events this way can report in 8 bytes all that it has ever seen, in order.
pub fn fold(digest: u64, uid: Uid) -> u64 {
    let mut mixed = digest.rotate_left(23) ^ uid.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}
