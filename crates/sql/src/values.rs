//! Values on their way into a statement.

use std::sync::Arc;

use actix_persistence_storage_api::{Payload, PersistenceId, SqlValue, WriterId};
use bytes::Bytes;
use sqlx::{Arguments, Database};

use crate::{Dialect, SqlxDatabase};

/// Values for a statement, in the order in which it names them.
pub struct Values<D: Dialect>(<D::Database as Database>::Arguments);

impl<D: Dialect> Values<D> {
    /// Returns no values, with room for this number of them.
    pub fn with_capacity(number: usize) -> Self {
        let mut arguments = <D::Database as Database>::Arguments::default();
        arguments.reserve(number, 0);
        Self(arguments)
    }

    /// Returns values that were put together by the driver.
    pub fn from_arguments(arguments: <D::Database as Database>::Arguments) -> Self {
        Self(arguments)
    }

    /// Adds an integer to the values.
    pub fn integer(&mut self, value: i64) {
        D::Database::add_integer(&mut self.0, Some(value));
    }

    /// Adds a text, copying it.
    pub fn text(&mut self, value: &str) {
        self.shared_text(Arc::from(value));
    }

    /// Adds a shared text to the values, without copying it.
    pub fn shared_text(&mut self, value: Arc<str>) {
        D::Database::add_text(&mut self.0, Some(value));
    }

    /// Adds a persistence id.
    pub fn id(&mut self, id: &PersistenceId) {
        self.key(id.as_str());
    }

    /// Adds a text that is compared byte by byte: a persistence id or a tag.
    pub fn key(&mut self, id: &str) {
        if D::KEYS_ARE_BYTES {
            D::Database::add_bytes(&mut self.0, Some(id.as_bytes().to_vec()));
        } else {
            self.text(id);
        }
    }

    /// Adds a writer's id, as 16 bytes.
    pub fn writer(&mut self, writer: WriterId) {
        D::Database::add_bytes(&mut self.0, Some(writer.as_bytes().to_vec()));
    }

    /// Adds bytes; without copying them, if they are not shared and the driver takes them as they are.
    pub fn blob(&mut self, value: Bytes) {
        D::Database::add_bytes(&mut self.0, Some(value.into()));
    }

    /// Adds a value of the application.
    pub fn value(&mut self, value: SqlValue) {
        D::add_value(&mut self.0, value);
    }

    /// Adds NULL in the place of bytes.
    pub fn no_blob(&mut self) {
        D::Database::add_bytes(&mut self.0, None);
    }

    /// Adds serializer, manifest and bytes of metadata, or NULL three times.
    pub fn metadata(&mut self, metadata: Option<Payload>) {
        match metadata {
            Some(metadata) => {
                self.integer(i64::from(metadata.serializer_id));
                self.shared_text(metadata.manifest);
                self.blob(metadata.bytes);
            }
            None => {
                D::Database::add_integer(&mut self.0, None);
                D::Database::add_text(&mut self.0, None);
                D::Database::add_bytes(&mut self.0, None);
            }
        }
    }

    /// Returns the arguments that the driver takes.
    pub fn into_arguments(self) -> <D::Database as Database>::Arguments {
        self.0
    }
}

/// Returns a number as databases store it; those above have no place there.
pub fn to_integer(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}

/// Returns the nearest number a database can compare with.
pub fn to_bound(number: u64) -> i64 {
    to_integer(number).unwrap_or(i64::MAX)
}
