//! The row of an id after a write.

use std::sync::Arc;

use actix_persistence_storage_api::{
    ChangeKind, CurrentState, Payload, PersistenceId, SqlValue, Timestamp,
};

use crate::checksum;
use crate::{Dialect, Values};

/// The row of an id after a write.
#[derive(Clone, Debug)]
pub struct StateRow {
    pub(super) id: PersistenceId,
    pub(super) revision: i64,
    /// The time by the clock of this process; the row gets a later one if that was set back.
    pub(super) timestamp: Timestamp,
    pub(super) content: Content,
    /// The values of the columns of the application, in the order of the statement.
    columns: Vec<SqlValue>,
}

/// The columns that are stored beside the revision.
#[derive(Clone, Debug)]
pub(super) struct Content {
    /// The encoded state; `None` leaves a tombstone.
    payload: Option<Payload>,
    tags: Vec<Arc<str>>,
}

impl Content {
    pub(super) fn live(payload: Payload, tags: Vec<Arc<str>>) -> Self {
        let payload = Some(payload);
        Self { payload, tags }
    }

    pub(super) fn tombstone() -> Self {
        Self {
            payload: None,
            tags: Vec::new(),
        }
    }

    /// Returns the kind of the change, for code that keeps something beside states.
    pub(super) fn kind(&self) -> ChangeKind<'_> {
        let tags = &self.tags;
        match &self.payload {
            Some(payload) => ChangeKind::Updated { payload, tags },
            None => ChangeKind::Deleted,
        }
    }
}

impl StateRow {
    pub(super) fn new(
        id: PersistenceId,
        revision: i64,
        content: Content,
        columns: Vec<SqlValue>,
    ) -> Self {
        Self {
            id,
            revision,
            timestamp: Timestamp::now(),
            content,
            columns,
        }
    }

    /// Returns whether this is what was found in the row.
    pub(super) fn is(&self, found: &CurrentState) -> bool {
        let Content { payload, tags } = &self.content;
        u64::try_from(self.revision) == Ok(found.revision)
            && match (payload, &found.state) {
                (Some(payload), Some(state)) => *payload == state.payload && *tags == state.tags,
                (None, None) => true,
                _ => false,
            }
    }

    /// Returns the id of the state.
    pub fn id(&self) -> &PersistenceId {
        &self.id
    }

    /// Returns the revision, which is above 0.
    pub fn revision(&self) -> i64 {
        self.revision
    }

    /// Returns the time by the clock of this process; the row gets a later one if that was set back.
    pub fn timestamp(&self) -> Timestamp {
        self.timestamp
    }

    /// Returns the encoded state; `None` leaves a tombstone.
    pub fn payload(&self) -> Option<&Payload> {
        self.content.payload.as_ref()
    }

    /// Returns the tags as a JSON array.
    pub fn tags_text(&self) -> String {
        let tags: Vec<&str> = self.content.tags.iter().map(|tag| &**tag).collect();
        serde_json::to_string(&tags).expect("texts are always JSON")
    }

    /// Returns the checksum over all that is read back.
    pub fn checksum(&self) -> i64 {
        let revision = u64::try_from(self.revision).expect("no revision is negative");
        let Content { payload, tags } = &self.content;
        checksum::of_state(&self.id, revision, payload.as_ref(), tags)
    }

    /// Adds revision, whether deleted, timestamp, tags, serializer, manifest, payload, checksum, and what the columns
    /// get.
    pub fn add_to<D: Dialect>(&self, values: &mut Values<D>) {
        let checksum = self.checksum();
        let payload = self.content.payload.clone();
        values.integer(self.revision);
        values.integer(i64::from(payload.is_none()));
        values.integer(self.timestamp.as_micros());
        values.text(&self.tags_text());
        match payload {
            Some(payload) => {
                values.integer(i64::from(payload.serializer_id));
                values.shared_text(payload.manifest);
                values.blob(payload.bytes);
            }
            None => {
                values.integer(0);
                values.text("");
                values.no_blob();
            }
        }
        values.integer(checksum);
        for value in &self.columns {
            values.value(value.clone());
        }
    }
}
