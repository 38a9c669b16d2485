//! The keys that say what is compressed.

use actix_persistence_persistent_actor::{Compression, DEFAULT_COMPRESSION_MIN_BYTES};
use actix_persistence_storage_api::{Section, SectionReader};

use super::super::NamedCode;
use super::super::keys::default;
use super::super::numbers::shown_number;

/// The key that chooses the compression.
pub(super) const KEY: &str = "compression";
/// The key with the size of the smallest value that is compressed.
pub(super) const MIN_BYTES: &str = "compression-min-bytes";

/// Reads both keys.
pub(super) fn read(reader: &mut SectionReader<'_>, code: &NamedCode) -> Compression {
    let min_bytes = reader.bytes_or(MIN_BYTES, DEFAULT_COMPRESSION_MIN_BYTES as u64);
    let is_compressed = reader.choice_or(KEY, &[("off", false), ("zstd", true)], false);
    if is_compressed {
        let min_bytes = usize::try_from(min_bytes).unwrap_or(usize::MAX);
        zstd(reader, min_bytes, code)
    } else {
        Compression::Off
    }
}

#[cfg(feature = "zstd")]
fn zstd(_: &mut SectionReader<'_>, min_bytes: usize, _: &NamedCode) -> Compression {
    Compression::Zstd { min_bytes }
}

#[cfg(not(feature = "zstd"))]
fn zstd(reader: &mut SectionReader<'_>, _: usize, code: &NamedCode) -> Compression {
    if code.may_lack_serializers {
        return Compression::Off;
    }
    let message = "is \"zstd\", which needs the feature 'zstd' of actix-persistence";
    reader.reject(KEY, message);
    Compression::Off
}

/// Shows the values that hold.
pub(super) fn show(compression: Compression, shown: &mut Section) {
    let (name, min_bytes) = match compression {
        #[cfg(feature = "zstd")]
        Compression::Zstd { min_bytes } => ("zstd", min_bytes),
        _ => ("off", DEFAULT_COMPRESSION_MIN_BYTES),
    };
    shown.insert(KEY, default(name));
    shown.insert(MIN_BYTES, default(shown_number(min_bytes)));
}

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::{Origin, Value};

    use super::*;

    fn section() -> Section {
        let mut section = Section::new("persistence.journal.a", Origin::code());
        section.insert(KEY, default(Value::from("zstd")));
        section.insert(MIN_BYTES, default(Value::from("2KiB")));
        section
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn zstd_is_chosen_with_the_size_from_which_it_is_tried() {
        let section = section();
        let mut reader = section.reader();
        let min_bytes = 2 * 1024;
        let read = read(&mut reader, &NamedCode::default());
        assert_eq!(read, Compression::Zstd { min_bytes });
        assert!(reader.finish().is_ok());
    }

    #[cfg(not(feature = "zstd"))]
    #[test]
    fn zstd_without_its_feature_is_a_mistake_unless_nothing_is_encoded() {
        let section = section();
        let mut code = NamedCode::default();
        let mut reader = section.reader();
        assert_eq!(read(&mut reader, &code), Compression::Off);
        let mistake = reader.finish().unwrap_err().to_string();
        assert!(mistake.contains("needs the feature 'zstd'"), "{mistake}");
        code.may_lack_serializers = true;
        let mut reader = section.reader();
        assert_eq!(read(&mut reader, &code), Compression::Off);
        assert!(reader.finish().is_ok());
    }
}
