//! The fields of metadata, and their stored form.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use actix_persistence_storage_api::Payload;
use serde::{Deserialize, Serialize};

use crate::serializer::{EncodedPayload, Encoder, Manifest};
use crate::{HARD_PAYLOAD_LIMIT, InvalidMetadata, Metadata, Serializer, Serializers};

/// The fields as they are stored: each by its name, and none that is empty. Programs pass over fields that they do not
/// know, so that a newer one may add some; one that changes a field raises the version.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Fields {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) correlation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) causation_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) user: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) traceparent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tracestate: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) entries: BTreeMap<String, String>,
}

/// The fields of metadata without any data.
pub(super) static EMPTY: Fields = Fields {
    correlation_id: None,
    causation_id: None,
    user: None,
    traceparent: None,
    tracestate: None,
    entries: BTreeMap::new(),
};

static MANIFEST: LazyLock<Manifest> =
    LazyLock::new(|| Manifest::new("actix-persistence.metadata", &[], 1));

/// Returns the stored form.
pub(super) fn encode(fields: &Fields) -> Payload {
    let serializers = Serializers::default();
    let format = Serializer::MessagePack;
    Encoder::new(&serializers, format, &MANIFEST, HARD_PAYLOAD_LIMIT)
        .serialize(fields)
        .map(EncodedPayload::into_payload)
        .expect("a few short texts can be encoded")
}

/// Returns the stored fields; `None` of what this library did not store, or cannot read.
pub(super) fn decode(payload: &Payload) -> Option<Fields> {
    let is_ours = payload.manifest == *MANIFEST.text() && payload.len() <= HARD_PAYLOAD_LIMIT;
    let serializers = Serializers::default();
    let decoded = is_ours.then(|| serializers.decode(payload.serializer_id, &payload.bytes));
    decoded?.ok()
}

impl Fields {
    /// Fails if a text is too long, or all of them together are. The causation id does not count for the whole: each stored
    /// event puts its own there, and what the application may set must not depend on that.
    pub(super) fn check(&self) -> Result<(), InvalidMetadata> {
        let mut bytes = 0;
        let causation = self.causation_id.as_ref().map_or(0, String::len);
        for (what, text) in self.texts() {
            if text.len() > Metadata::MAX_TEXT_BYTES {
                let bytes = text.len();
                return Err(InvalidMetadata::TooLong { what, bytes });
            }
            bytes += text.len();
        }
        bytes -= causation;
        if bytes > Metadata::MAX_BYTES {
            return Err(InvalidMetadata::TooLarge { bytes });
        }
        Ok(())
    }

    fn texts(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let fields = [
            ("the correlation id", &self.correlation_id),
            ("the causation id", &self.causation_id),
            ("the user", &self.user),
            ("traceparent", &self.traceparent),
            ("tracestate", &self.tracestate),
        ];
        let fields = fields.into_iter();
        let fields = fields.filter_map(|(what, text)| Some((what, text.as_ref()?)));
        let keys = self.entries.keys().map(|key| ("the key of an entry", key));
        let values = self.entries.values();
        let values = values.map(|value| ("the value of an entry", value));
        fields.chain(keys).chain(values)
    }
}
