//! The longest text that every store has room for.

use std::sync::Arc;

use crate::{AtomicWrite, EventRecord, Operation, Payload, SnapshotMetadata, StateUpdate};
use crate::{StorageError, StorageErrorKind};

/// The most bytes of UTF-8 in a tag or a manifest, as in a persistence id.
///
/// One limit for all stores: what one of them takes, so that it can be moved to any other. None of these texts holds NUL.
pub const MAX_TEXT_BYTES: usize = 255;

impl AtomicWrite {
    /// Returns an error if no journal may store the write, because a text is too long or holds NUL; `None` otherwise.
    /// A plugin calls this before it stores a write, and rejects the write with the error.
    pub fn refusal(&self) -> Option<StorageError> {
        let message = self.events().iter().find_map(EventRecord::unfit_text)?;
        let error = unsupported(Operation::WriteMessages, message);
        Some(error.with_persistence_id(self.persistence_id().clone()))
    }
}

impl EventRecord {
    /// Returns the text that no journal has room for, and the reason.
    pub fn unfit_text(&self) -> Option<String> {
        let metadata = self.metadata.iter();
        let texts = [
            ("the adapter manifest", &self.adapter_manifest),
            ("the manifest", &self.payload.manifest),
        ];
        let more = metadata.map(|metadata| ("the manifest of the metadata", &metadata.manifest));
        unfit(texts.into_iter().chain(more).chain(tags(&self.tags)))
    }
}

impl SnapshotMetadata {
    /// Returns the error if no snapshot store may store a snapshot with these metadata and this payload, because a text
    /// is too long or holds NUL. For plugins.
    pub fn refusal(&self, payload: &Payload) -> Option<StorageError> {
        let metadata = self.metadata.iter();
        let metadata =
            metadata.map(|metadata| ("the manifest of the metadata", &metadata.manifest));
        let message = unfit(metadata.chain([("the manifest", &payload.manifest)]))?;
        let error = unsupported(Operation::SaveSnapshot, message);
        Some(error.with_persistence_id(self.persistence_id.clone()))
    }
}

impl StateUpdate {
    /// Returns the error if no state store may store the update because a text is too long or holds NUL. For plugins.
    pub fn refusal(&self) -> Option<StorageError> {
        let event = self.change_event.iter();
        let of_event = event.flat_map(|event| {
            let metadata = event.metadata.iter();
            let metadata =
                metadata.map(|metadata| ("the manifest of the metadata", &metadata.manifest));
            let own = ("the manifest of the event", &event.payload.manifest);
            tags(&event.tags).chain([own]).chain(metadata)
        });
        let own = [("the manifest", &self.payload.manifest)].into_iter();
        let message = unfit(own.chain(tags(&self.tags)).chain(of_event))?;
        let error = unsupported(Operation::UpsertState, message);
        Some(error.with_persistence_id(self.persistence_id.clone()))
    }
}

fn tags(tags: &[Arc<str>]) -> impl Iterator<Item = (&'static str, &Arc<str>)> {
    tags.iter().map(|tag| ("a tag", tag))
}

/// The text itself is not shown: it may be long, and need not be fit for a log.
fn unfit<'t>(texts: impl Iterator<Item = (&'static str, &'t Arc<str>)>) -> Option<String> {
    let mut texts = texts;
    texts.find_map(|(what, text)| {
        if text.len() > MAX_TEXT_BYTES {
            let found = text.len();
            return Some(format!(
                "{what} has {found} bytes, and at most {MAX_TEXT_BYTES} are stored; make it shorter"
            ));
        }
        text.contains('\0')
            .then(|| format!("{what} holds NUL, which not every database can store; leave it out"))
    })
}

fn unsupported(operation: Operation, message: String) -> StorageError {
    StorageError::new(StorageErrorKind::Unsupported, operation)
        .not_stored()
        .with_message(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChangeEvent, PersistenceId, Timestamp, WriterId};

    /// Returns texts at the limit, above it, and with NUL; in letters of more than one byte.
    fn texts() -> [(String, Option<&'static str>); 4] {
        [
            ("ü".repeat(127) + "x", None),
            ("ü".repeat(128), Some("256 bytes")),
            ("x".repeat(256), Some("256 bytes")),
            ("a\0".to_owned(), Some("NUL")),
        ]
    }

    fn payload(manifest: &str) -> Payload {
        Payload::new(1, manifest, vec![1])
    }

    fn assert_says(found: Option<StorageError>, expected: Option<&str>) {
        assert_eq!(found.is_some(), expected.is_some(), "{found:?}");
        if let (Some(error), Some(expected)) = (found, expected) {
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.is_not_stored());
            assert_eq!(error.kind(), StorageErrorKind::Unsupported);
        }
    }

    #[test]
    fn every_text_of_an_event_a_snapshot_and_a_state_has_the_same_limit() {
        let id = PersistenceId::of("Test", "a");
        for (text, expected) in texts() {
            let text = text.as_str();
            let event =
                |manifest| EventRecord::new(1, Timestamp::MIN, WriterId::NIL, payload(manifest));
            for event in [
                event(text),
                event("m").with_adapter_manifest(text),
                event("m").with_tags(["good", text]),
                event("m").with_metadata(payload(text)),
            ] {
                let write = AtomicWrite::new(id.clone(), 1, vec![event]).unwrap();
                assert_says(write.refusal(), expected);
            }
            let metadata = SnapshotMetadata::new(id.clone(), 1, Timestamp::MIN);
            assert_says(metadata.refusal(&payload(text)), expected);
            let metadata = metadata.with_metadata(payload(text));
            assert_says(metadata.refusal(&payload("m")), expected);
            let state = |manifest| StateUpdate::new(id.clone(), 1, payload(manifest));
            let change = |manifest| ChangeEvent::new(payload(manifest), WriterId::NIL);
            for update in [
                state(text),
                state("m").with_tags(["good", text]),
                state("m").with_change_event(change(text)),
                state("m").with_change_event(change("m").with_tags([text])),
                state("m").with_change_event(change("m").with_metadata(payload(text))),
            ] {
                assert_says(update.refusal(), expected);
            }
        }
    }
}
