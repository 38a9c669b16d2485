//! The promises that the kit does not prove yet.

/// A case of the Akka family's kits without a counterpart here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NotThereYet {
    /// The case or spec, as it is called there.
    pub spec_number: &'static str,
    /// The thing that has to exist first, or the place where the promise is proved instead.
    pub reason: &'static str,
}

/// The cases of the Akka family's kits that have no counterpart here, each with the reason.
pub const NOT_THERE_YET: &[NotThereYet] = &[
    missing(
        "JournalSpec 12, the published command",
        "needs an actor: the kit calls the journal itself; that the delete is obeyed is proved",
    ),
    missing(
        "JournalSpec 16, the rejection",
        "needs an actor: an event that cannot be encoded is rejected before a journal sees it, \
         and its number goes to the next event",
    ),
    missing(
        "JournalSerializationSpec serialize_StateChangeEvent",
        "needs the persistent state machine",
    ),
    missing(
        "SnapshotStoreSpec 7 and 10, the published commands",
        "needs an actor; that the deletes are obeyed is proved",
    ),
    missing(
        "SnapshotStoreSaveSnapshotSpec 1, rapid saves without persisting",
        "needs an actor: the snapshot actor puts saves of one id in order; \
         that the last of many stays is proved",
    ),
    missing(
        "SnapshotStoreSaveSnapshotSpec 2, rapid saves after persisting",
        "needs an actor: the snapshot actor puts saves of one id in order; \
         that the last of many stays is proved",
    ),
    missing(
        "SnapshotStoreSerializationSpec AtLeastOnceDeliverySnapshot",
        "needs at-least-once delivery",
    ),
    missing(
        "SnapshotStoreSerializationSpec AtLeastOnceDeliverySnapshot with empty unconfirmed",
        "needs at-least-once delivery",
    ),
    missing(
        "SnapshotStoreSerializationSpec PersistentFSMSnapshot",
        "needs the persistent state machine",
    ),
    missing(
        "the query specs, live streams and demand",
        "need streams of events; what their pages hold is proved by event_queries_spec",
    ),
];

const fn missing(spec_number: &'static str, reason: &'static str) -> NotThereYet {
    NotThereYet {
        spec_number,
        reason,
    }
}
