//! Values between Rust and SQLite's columns.

use std::sync::Arc;

use actix_persistence_storage_api::{Payload, SequenceNr, StorageErrorKind, WriterId};
use bytes::Bytes;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Arguments, Decode, Row, Sqlite, Type};

use crate::error::Fault;

/// Values for a statement; none of the types used here can fail to be encoded.
#[derive(Default)]
pub(crate) struct Values(SqliteArguments);

impl Values {
    pub(crate) fn with_capacity(number: usize) -> Self {
        let mut arguments = SqliteArguments::default();
        arguments.reserve(number, 0);
        Self(arguments)
    }

    pub(crate) fn integer(&mut self, value: i64) {
        self.add(value);
    }

    pub(crate) fn text(&mut self, value: &str) {
        self.add(value);
    }

    /// Without copying the text.
    pub(crate) fn shared_text(&mut self, value: Arc<str>) {
        self.add(value);
    }

    pub(crate) fn writer(&mut self, writer: WriterId) {
        self.add(&writer.as_bytes()[..]);
    }

    /// Without copying the bytes, if nobody else holds them.
    pub(crate) fn blob(&mut self, value: Bytes) {
        self.add(Vec::<u8>::from(value));
    }

    /// Serializer, manifest and bytes of metadata, or NULL three times.
    pub(crate) fn metadata(&mut self, metadata: Option<Payload>) {
        match metadata {
            Some(metadata) => {
                self.integer(i64::from(metadata.serializer_id));
                self.shared_text(metadata.manifest);
                self.blob(metadata.bytes);
            }
            None => {
                self.add(None::<i64>);
                self.add(None::<&str>);
                self.add(None::<Vec<u8>>);
            }
        }
    }

    pub(crate) fn into_arguments(self) -> SqliteArguments {
        self.0
    }

    fn add<'v, T: sqlx::Encode<'v, Sqlite> + Type<Sqlite>>(&mut self, value: T) {
        self.0
            .add(value)
            .expect("integers, texts and blobs are always encoded");
    }
}

/// A number as SQLite stores it; those above have no place there.
pub(crate) fn to_integer(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}

/// The nearest number SQLite can compare with.
pub(crate) fn to_bound(number: u64) -> i64 {
    to_integer(number).unwrap_or(i64::MAX)
}

/// Reads a column that is never NULL; sqlx would give an empty text for it.
pub(crate) fn get<'r, T: Decode<'r, Sqlite> + Type<Sqlite>>(
    row: &'r SqliteRow,
    column: usize,
) -> Result<T, Fault> {
    get_optional(row, column)?.ok_or_else(|| corrupt("a value is missing".to_owned()))
}

/// Reads a column.
pub(crate) fn get_optional<'r, T: Decode<'r, Sqlite> + Type<Sqlite>>(
    row: &'r SqliteRow,
    column: usize,
) -> Result<Option<T>, Fault> {
    Ok(row.try_get(column)?)
}

/// Reads a number that is never negative.
pub(crate) fn get_number(row: &SqliteRow, column: usize) -> Result<SequenceNr, Fault> {
    let number: i64 = get(row, column)?;
    u64::try_from(number).map_err(|_| corrupt(format!("a number is stored as {number}")))
}

pub(crate) fn get_writer(row: &SqliteRow, column: usize) -> Result<WriterId, Fault> {
    let bytes: &[u8] = get(row, column)?;
    WriterId::from_slice(bytes).ok_or_else(|| {
        corrupt(format!(
            "a writer id has {} bytes instead of 16",
            bytes.len()
        ))
    })
}

pub(crate) fn to_serializer_id(stored: i64) -> Result<u32, Fault> {
    u32::try_from(stored).map_err(|_| corrupt(format!("there is no serializer {stored}")))
}

pub(crate) fn corrupt(message: String) -> Fault {
    Fault::refused(StorageErrorKind::Corrupt, message)
}
