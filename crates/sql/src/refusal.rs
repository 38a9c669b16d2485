//! What a database has no place for, found before it is asked.

use actix_persistence_storage_api::{EventRecord, Payload, SnapshotMetadata, StateUpdate};
use serde::de::IgnoredAny;

use crate::{Dialect, MOST_TEXT_BYTES};

/// Why an event cannot be stored, if so.
pub(crate) fn of_event<D: Dialect>(options: &D::Options, event: &EventRecord) -> Option<String> {
    let own = [
        ("the adapter manifest", &*event.adapter_manifest),
        ("the manifest", &*event.payload.manifest),
    ];
    let manifests = own.into_iter().chain(of_metadata(event.metadata.as_ref()));
    if let Some(message) = too_long(manifests) {
        return Some(message);
    }
    let tags = event.tags.iter().map(|tag| ("a tag", &**tag));
    let texts = own
        .into_iter()
        .chain(tags)
        .chain(of_metadata(event.metadata.as_ref()));
    text::<D>(texts).or_else(|| D::refuses(options, &event.payload.bytes))
}

/// Why a snapshot cannot be stored, if so.
pub(crate) fn of_snapshot<D: Dialect>(
    options: &D::Options,
    metadata: &SnapshotMetadata,
    payload: &Payload,
) -> Option<String> {
    let own = [("the manifest", &*payload.manifest)];
    let texts = || {
        let beside = of_metadata(metadata.metadata.as_ref());
        own.into_iter().chain(beside)
    };
    too_long(texts())
        .or_else(|| text::<D>(texts()))
        .or_else(|| D::refuses(options, &payload.bytes))
}

/// Why a state cannot be stored, if so.
pub(crate) fn of_state<D: Dialect>(options: &D::Options, update: &StateUpdate) -> Option<String> {
    let own = [("the manifest", &*update.payload.manifest)];
    let tags = update.tags.iter().map(|tag| ("a tag", &**tag));
    too_long(own.into_iter())
        .or_else(|| text::<D>(own.into_iter().chain(tags)))
        .or_else(|| D::refuses(options, &update.payload.bytes))
}

fn of_metadata(metadata: Option<&Payload>) -> impl Iterator<Item = (&'static str, &str)> {
    metadata
        .into_iter()
        .map(|metadata| ("the manifest of the metadata", &*metadata.manifest))
}

/// Manifests that are longer together than what is read again.
fn too_long<'t>(manifests: impl Iterator<Item = (&'static str, &'t str)>) -> Option<String> {
    const WRITER_ID: usize = 16;
    let bytes: usize = manifests.map(|(_, text)| text.len()).sum();
    (bytes + WRITER_ID > MOST_TEXT_BYTES).then(|| {
        format!("its manifests have {bytes} bytes; make them shorter, 255 are enough for one")
    })
}

fn text<'t, D: Dialect>(
    mut texts: impl Iterator<Item = (&'static str, &'t str)>,
) -> Option<String> {
    if D::TEXTS_HOLD_NUL {
        return None;
    }
    let (what, _) = texts.find(|(_, text)| text.contains('\0'))?;
    Some(format!(
        "{what} holds NUL, which {} cannot store; leave it out",
        D::NAME
    ))
}

/// Why bytes cannot go into a column of JSON, if so.
pub fn refuses_no_json(bytes: &[u8]) -> Option<String> {
    // What is skipped is not looked at closely enough to find what is not UTF-8.
    let is_json = std::str::from_utf8(bytes)
        .is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok());
    let message = "it is not JSON, which 'payload-column = \"json\"' asks for; use a serializer that writes JSON";
    (!is_json).then(|| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_that_would_not_be_read_are_refused() {
        let text = "x".repeat(MOST_TEXT_BYTES - 16);
        assert_eq!(too_long([("the manifest", &*text)].into_iter()), None);
        let two = [("the manifest", &*text), ("the adapter manifest", "x")];
        assert!(too_long(two.into_iter()).is_some());
    }

    #[test]
    fn only_json_goes_into_a_column_of_json() {
        for good in ["{}", "null", " [1, 2.5e300, \"\\u0000\"] ", "\"\u{1f980}\""] {
            assert_eq!(refuses_no_json(good.as_bytes()), None, "{good}");
        }
        let deep = "[".repeat(100_000);
        for bad in [
            "",
            "{",
            "{} {}",
            "\u{feff}1",
            "'a'",
            "\"\0\"",
            "NaN",
            deep.as_str(),
        ] {
            assert!(refuses_no_json(bad.as_bytes()).is_some(), "{bad}");
        }
        assert!(refuses_no_json(b"\"\xff\"").is_some());
    }
}
