//! The rest of a value whose key was destroyed.

use actix_persistence_storage_api::PersistenceId;

/// A stored value that nothing can read any more, because the key of its data subject was destroyed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shredded<'a> {
    /// The persistence id under which it is stored.
    pub persistence_id: &'a PersistenceId,
    /// The sequence number of the event or snapshot, or the revision of the state.
    pub number: u64,
    /// The manifest with which it is stored, without its version; today's name, if the type had [another
    /// one](crate::Upcasters::renamed) then.
    pub manifest: &'a str,
    /// The version with which it is stored.
    pub version: u32,
}
