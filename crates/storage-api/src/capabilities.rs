//! The optional abilities and the limits that a store declares.

/// The worst failure that everything a store has confirmed survives; each one includes those before it.
///
/// A snapshot store should survive what its journal does: once a snapshot is confirmed, actors may delete the events that it
/// stands for, and nothing can replace it then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Durability {
    /// The data survives no failure: it ends with the process, or before.
    None,
    /// The end of the process, even by `kill -9`; a crash of the machine, or of the server, may lose the last writes.
    ProcessCrash,
    /// A crash of the machine, such as by a loss of power.
    MachineCrash,
}

/// The optional abilities and the limits of a [`Journal`](crate::Journal).
///
/// The default declares nothing optional, one lane and no limits.
/// The conformance kit shows the cases of an undeclared capability as ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalCapabilities {
    /// Stores atomic writes of several events; without it `persist_all` is rejected before the journal is called.
    pub atomic_batches: bool,
    /// True if the journal keeps [`EventRecord::metadata`](crate::EventRecord::metadata).
    pub metadata: bool,
    /// True if the journal keeps [`EventRecord::tags`](crate::EventRecord::tags).
    pub tags: bool,
    /// True if the journal can [`purge`](crate::Journal::purge) an id.
    pub purge: bool,
    /// The number of writing calls that may run at the same time, at least 1; 1 for a single-writer store.
    pub lanes: usize,
    /// The largest number of events in one call of `write_messages`; a single larger atomic write still comes, alone.
    pub max_group_events: usize,
    /// The most payload bytes in one call of `write_messages`; a single larger atomic write still comes, alone.
    pub max_group_bytes: usize,
    /// The largest event the store takes, in bytes of payload; larger ones are rejected as too large.
    pub max_event_bytes: Option<usize>,
    /// The failure that confirmed events survive; `None` if that is not known.
    pub durability: Option<Durability>,
}

impl Default for JournalCapabilities {
    fn default() -> Self {
        Self {
            atomic_batches: false,
            metadata: false,
            tags: false,
            purge: false,
            lanes: 1,
            max_group_events: 1_000,
            max_group_bytes: 8 * 1024 * 1024,
            max_event_bytes: None,
            durability: None,
        }
    }
}

impl JournalCapabilities {
    /// Declares atomic writes of several events.
    #[must_use]
    pub fn with_atomic_batches(mut self) -> Self {
        self.atomic_batches = true;
        self
    }

    /// Declares that the journal keeps metadata.
    #[must_use]
    pub fn with_metadata(mut self) -> Self {
        self.metadata = true;
        self
    }

    /// Declares that the journal keeps tags.
    #[must_use]
    pub fn with_tags(mut self) -> Self {
        self.tags = true;
        self
    }

    /// Declares that the journal can purge an id.
    #[must_use]
    pub fn with_purge(mut self) -> Self {
        self.purge = true;
        self
    }

    /// Sets the number of writing calls that may run at the same time; 0 counts as 1.
    #[must_use]
    pub fn with_lanes(mut self, lanes: usize) -> Self {
        self.lanes = lanes.max(1);
        self
    }

    /// Caps a group by events and payload bytes.
    #[must_use]
    pub fn with_max_group(mut self, events: usize, bytes: usize) -> Self {
        self.max_group_events = events.max(1);
        self.max_group_bytes = bytes.max(1);
        self
    }

    /// Sets the largest event in bytes of payload.
    #[must_use]
    pub fn with_max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_event_bytes = Some(bytes);
        self
    }

    /// Declares the failure that confirmed data survives.
    #[must_use]
    pub fn with_durability(mut self, durability: Option<Durability>) -> Self {
        self.durability = durability;
        self
    }
}

/// The optional abilities of a [`SnapshotStore`](crate::SnapshotStore); the default declares none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotCapabilities {
    /// True if the store keeps [`SnapshotMetadata::metadata`](crate::SnapshotMetadata::metadata).
    pub metadata: bool,
    /// The largest snapshot the store takes, in bytes of payload.
    pub max_snapshot_bytes: Option<usize>,
    /// The failure that confirmed snapshots survive; `None` if that is not known.
    pub durability: Option<Durability>,
}

impl SnapshotCapabilities {
    /// Declares that the store keeps metadata.
    #[must_use]
    pub fn with_metadata(mut self) -> Self {
        self.metadata = true;
        self
    }

    /// Sets the largest snapshot in bytes of payload.
    #[must_use]
    pub fn with_max_snapshot_bytes(mut self, bytes: usize) -> Self {
        self.max_snapshot_bytes = Some(bytes);
        self
    }

    /// Declares the failure that confirmed data survives.
    #[must_use]
    pub fn with_durability(mut self, durability: Option<Durability>) -> Self {
        self.durability = durability;
        self
    }
}

/// The optional abilities of a [`StateStore`](crate::StateStore); the default declares none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateCapabilities {
    /// True if the store keeps [`StateUpdate::tags`](crate::StateUpdate::tags).
    pub tags: bool,
    /// True if the store has [additional columns](crate::AdditionalColumn), [change handlers](crate::ChangeHandler),
    /// tables by entity type, and [finds states by SQL](crate::SqlStates).
    pub sql_session: bool,
    /// Stores an [event](crate::ChangeEvent) with each change of a state, in a journal of the same database that its
    /// config names.
    pub change_events: bool,
    /// The largest state the store takes, in bytes of payload.
    pub max_state_bytes: Option<usize>,
    /// The most changes in one call of [`write_group`](crate::StateStore::write_group); 0 if the store commits each change
    /// by itself.
    pub max_group_changes: usize,
    /// The most payload bytes in one call of `write_group`; a single larger change still comes, alone.
    pub max_group_bytes: usize,
    /// The number of calls of `write_group` that may run at the same time; 0 counts as 1.
    pub lanes: usize,
}

impl StateCapabilities {
    /// Declares that the store keeps tags.
    #[must_use]
    pub fn with_tags(mut self) -> Self {
        self.tags = true;
        self
    }

    /// Declares that code of the application may run in transactions: [`sql_session`](Self::sql_session).
    #[must_use]
    pub fn with_sql_session(mut self) -> Self {
        self.sql_session = true;
        self
    }

    /// Declares that changes may come with an event: [`change_events`](Self::change_events).
    #[must_use]
    pub fn with_change_events(mut self) -> Self {
        self.change_events = true;
        self
    }

    /// Declares that the store commits each change by itself: the default, and right for a store in front of another one
    /// that hands changes on one by one.
    #[must_use]
    pub fn without_groups(mut self) -> Self {
        self.max_group_changes = 0;
        self
    }

    /// Declares that changes of one call are committed together, and caps such a group by changes and payload bytes.
    #[must_use]
    pub fn with_groups(mut self, lanes: usize, changes: usize, bytes: usize) -> Self {
        self.lanes = lanes.max(1);
        self.max_group_changes = changes.max(1);
        self.max_group_bytes = bytes.max(1);
        self
    }

    /// Sets the largest state in bytes of payload.
    #[must_use]
    pub fn with_max_state_bytes(mut self, bytes: usize) -> Self {
        self.max_state_bytes = Some(bytes);
        self
    }
}
