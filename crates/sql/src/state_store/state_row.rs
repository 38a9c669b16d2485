//! What a write makes of the row of an id.

use std::sync::Arc;

use actix_persistence_storage_api::{Payload, PersistenceId, Timestamp};

use crate::{Dialect, Values};

/// The row of an id after a write.
#[derive(Clone, Debug)]
pub(super) struct StateRow {
    pub(super) id: PersistenceId,
    pub(super) revision: i64,
    /// By the clock of this process; the row gets a later one if that was set back.
    pub(super) timestamp: Timestamp,
    content: Content,
}

/// What is stored beside the revision.
#[derive(Clone, Debug)]
pub(super) struct Content {
    /// None leaves a tombstone.
    payload: Option<Payload>,
    /// A JSON array of texts.
    tags: Arc<str>,
}

impl Content {
    pub(super) fn live(payload: Payload, tags: &[Arc<str>]) -> Self {
        let tags: Vec<&str> = tags.iter().map(|tag| &**tag).collect();
        let tags = serde_json::to_string(&tags).expect("texts are always JSON");
        Self {
            payload: Some(payload),
            tags: tags.into(),
        }
    }

    pub(super) fn tombstone() -> Self {
        Self {
            payload: None,
            tags: "[]".into(),
        }
    }
}

impl StateRow {
    pub(super) fn new(id: PersistenceId, revision: i64, content: Content) -> Self {
        Self {
            id,
            revision,
            timestamp: Timestamp::now(),
            content,
        }
    }

    /// Revision, whether deleted, timestamp, tags, serializer, manifest and payload.
    pub(super) fn add_to<D: Dialect>(&self, values: &mut Values<D>) {
        let Content { payload, tags } = self.content.clone();
        values.integer(self.revision);
        values.integer(i64::from(payload.is_none()));
        values.integer(self.timestamp.as_micros());
        values.shared_text(tags);
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
    }
}
