//! Reads stored values as a type of today does, and stores them again.

use std::sync::Arc;

use crate::error::error_chain::ErrorChain;
use crate::schema::{Knows, Schema};
use crate::serializer::{EncodedPayload, Manifest, Place};
use crate::{FromPayload, HARD_PAYLOAD_LIMIT, Serializer, Serializers, ToPayload};
use actix_persistence_storage_api::{Payload, PersistenceId};

/// A type of today, whichever it is.
pub(super) struct Reader {
    manifest: Manifest,
    knows: Box<dyn Fn(&str) -> Knows>,
    read: Box<ReadAgain>,
}

/// Reads a stored value, and encodes what that is today.
type ReadAgain = dyn Fn(&Payload) -> Result<Vec<Payload>, String>;

impl Reader {
    pub(super) fn of<T>(schema: &Arc<Schema<T>>, serializers: &Serializers) -> Self
    where
        T: ToPayload + FromPayload + 'static,
    {
        let (names, types) = (Arc::clone(schema), Arc::clone(schema));
        let serializers = serializers.clone();
        Self {
            manifest: schema.manifest().clone(),
            knows: Box::new(move |manifest| names.knows(manifest)),
            read: Box::new(move |payload| read(&types, &serializers, payload)),
        }
    }

    /// Returns what the type knows of the manifest under which this is stored.
    pub(super) fn knows(&self, payload: &Payload) -> Knows {
        (self.knows)(&payload.manifest)
    }

    /// Returns the values of today that this is read as, encoded.
    pub(super) fn read(&self, payload: &Payload) -> Result<Vec<Payload>, String> {
        (self.read)(payload)
    }

    /// Returns whether this is stored in a form of today.
    pub(super) fn is_todays(&self, payload: &Payload) -> bool {
        self.manifest.has(&payload.manifest)
    }

    pub(super) fn manifest(&self) -> &Manifest {
        &self.manifest
    }
}

/// Returns the values of today that a stored one is read as, encoded by the serializer that wrote it.
pub(super) fn read<T: ToPayload + FromPayload>(
    schema: &Schema<T>,
    serializers: &Serializers,
    stored: &Payload,
) -> Result<Vec<Payload>, String> {
    let serializer = Serializer::of_id(stored.serializer_id);
    let nowhere = PersistenceId::of_unique("nowhere");
    let read = schema.read(serializers.stored(stored, Place::of_event(&nowhere, 0)));
    let read = read.map_err(|error| ErrorChain(&error).to_string())?;
    let encode = |value| {
        let encoded = schema.encode_own(value, serializers, serializer, HARD_PAYLOAD_LIMIT);
        encoded.map(EncodedPayload::into_payload)
    };
    let encoded: Result<_, _> = read.as_slice().iter().map(encode).collect();
    encoded.map_err(|error| ErrorChain(&error).to_string())
}
