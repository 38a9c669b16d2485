//! Reads stored values as a type of today does, and stores them again.

use std::sync::Arc;

use actix_persistence_storage_api::Payload;
use serde::Serialize;

use crate::error::error_chain::ErrorChain;
use crate::schema::Schema;
use crate::serializer::Manifest;
use crate::{HARD_PAYLOAD_LIMIT, Serializer};

/// A type of today, whichever it is.
pub(super) struct Reader {
    manifest: Manifest,
    reads: Box<dyn Fn(&str) -> bool>,
    read: Box<ReadAgain>,
}

/// Reads a stored value, and encodes what that is today.
type ReadAgain = dyn Fn(&Payload) -> Result<Vec<Payload>, String>;

impl Reader {
    pub(super) fn of<T: Serialize + 'static>(schema: &Arc<Schema<T>>) -> Self {
        let (names, types) = (Arc::clone(schema), Arc::clone(schema));
        Self {
            manifest: schema.manifest().clone(),
            reads: Box::new(move |manifest| names.has_name_of(manifest)),
            read: Box::new(move |payload| read(&types, payload)),
        }
    }

    /// Returns whether the type has or had the name under which this is stored.
    pub(super) fn reads(&self, payload: &Payload) -> bool {
        (self.reads)(&payload.manifest)
    }

    /// Returns the values of today that this is read as, encoded.
    pub(super) fn read(&self, payload: &Payload) -> Result<Vec<Payload>, String> {
        (self.read)(payload)
    }

    pub(super) fn manifest(&self) -> &str {
        self.manifest.text()
    }

    pub(super) fn version(&self) -> u32 {
        self.manifest.version()
    }
}

/// Returns the values of today that a stored one is read as, encoded by the serializer that wrote it.
pub(super) fn read<T: Serialize>(
    schema: &Schema<T>,
    stored: &Payload,
) -> Result<Vec<Payload>, String> {
    let serializer = Serializer::from_id(stored.serializer_id);
    let serializer = serializer.map_err(|error| error.to_string())?;
    let read = schema.read(stored, "");
    let read = read.map_err(|error| ErrorChain(&error).to_string())?;
    let encode = |value| schema.encode_own(value, serializer, HARD_PAYLOAD_LIMIT);
    let encoded: Result<_, _> = read.as_slice().iter().map(encode).collect();
    encoded.map_err(|error| ErrorChain(&error).to_string())
}
