//! The setting that says what is compressed.

/// The compression of what is stored; what was stored decides when reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Compression {
    /// Nothing is compressed.
    #[default]
    Off,
    /// Values are compressed with zstd if that makes them smaller; needs the feature `zstd`.
    #[cfg(feature = "zstd")]
    Zstd {
        /// The size in bytes, encoded, of the smallest value for which it is tried.
        min_bytes: usize,
    },
}

/// The smallest value that is compressed unless set otherwise: 1 KiB.
pub const DEFAULT_COMPRESSION_MIN_BYTES: usize = 1024;
