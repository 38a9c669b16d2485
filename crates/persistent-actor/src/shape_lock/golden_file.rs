//! A file with a stored value, readable and checked in.

use std::fmt::{self, Write as _};
use std::fs;
use std::path::Path;

use actix_persistence_storage_api::Payload;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::in_file;
use crate::Serializer;
use crate::serializer::{Manifest, parse_manifest};

/// A stored value of some version, and what later versions make of it.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GoldenFile {
    pub(super) stored: StoredValue,
    /// The values of today that it is read as, by each type of which it is no value of today.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) read_as: Vec<ReadAs>,
}

/// The values of a later version that a stored one is read as.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadAs {
    /// The manifest of the type that reads it.
    pub(super) by: String,
    /// Nothing, if such values are retired.
    values: Vec<StoredValue>,
}

/// A payload as text.
#[derive(PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredValue {
    manifest: String,
    serializer: u32,
    hex: String,
    /// The value for those who read the file, if JSON can say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shown: Option<Value>,
}

impl GoldenFile {
    pub(super) fn of(payload: &Payload) -> Self {
        Self {
            stored: StoredValue::of(payload),
            read_as: Vec::new(),
        }
    }

    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| in_file(path, error))?;
        serde_json::from_str(&text).map_err(|error| in_file(path, error))
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), String> {
        let text = serde_json::to_string_pretty(self).map_err(|error| in_file(path, error))?;
        let folder = path.parent().unwrap_or(path);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(path, text + "\n"))
            .map_err(|error| in_file(path, error))
    }
}

impl ReadAs {
    pub(super) fn of(by: &Manifest, values: &[Payload]) -> Self {
        Self {
            by: by.text().to_string(),
            values: values.iter().map(StoredValue::of).collect(),
        }
    }

    /// Returns whether both are by the same type, of whatever version.
    pub(super) fn has_type_of(&self, other: &Self) -> bool {
        let name = |read: &Self| parse_manifest(&read.by).map(|(name, _)| name.to_owned());
        name(self) == name(other)
    }
}

impl StoredValue {
    pub(super) fn of(payload: &Payload) -> Self {
        let mut hex = String::with_capacity(2 * payload.len());
        for byte in &payload.bytes {
            let _ = write!(hex, "{byte:02x}");
        }
        Self {
            manifest: payload.manifest.to_string(),
            serializer: payload.serializer_id,
            hex,
            shown: as_json(payload),
        }
    }

    pub(super) fn serializer(&self) -> Serializer {
        Serializer::of_id(self.serializer)
    }

    pub(super) fn payload(&self, path: &Path) -> Result<Payload, String> {
        let bytes = self
            .hex
            .as_bytes()
            .chunks(2)
            .map(byte)
            .collect::<Option<Vec<u8>>>();
        let bytes = bytes.ok_or_else(|| in_file(path, "`hex` is not that of bytes"))?;
        Ok(Payload::new(self.serializer, self.manifest.as_str(), bytes))
    }
}

fn byte(digits: &[u8]) -> Option<u8> {
    let &[high, low] = digits else { return None };
    let digit = |letter: u8| char::from(letter).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}

/// Returns the value as JSON, if it has such a form.
fn as_json(payload: &Payload) -> Option<Value> {
    match Serializer::of_id(payload.serializer_id) {
        Serializer::MessagePack => rmp_serde::from_slice(&payload.bytes).ok(),
        Serializer::Json => serde_json::from_slice(&payload.bytes).ok(),
        Serializer::Registered(_) => None,
    }
}

impl fmt::Display for StoredValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.shown {
            Some(shown) => write!(f, "{} {shown} ({})", self.manifest, self.hex),
            None => write!(f, "{} ({})", self.manifest, self.hex),
        }
    }
}

impl fmt::Display for ReadAs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.values.is_empty() {
            return f.write_str("nothing");
        }
        for (index, value) in self.values.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{value}")?;
        }
        Ok(())
    }
}
