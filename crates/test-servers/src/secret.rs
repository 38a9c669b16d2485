//! Chance that other users of the machine cannot guess.

use std::fmt::Write;
use std::fs::File;
use std::io::Read;

use crate::error::ServerError;

/// Bytes from the operating system.
pub(crate) fn bytes<const N: usize>() -> Result<[u8; N], ServerError> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .map_err(ServerError::io("read /dev/urandom"))?;
    Ok(bytes)
}

/// A password that needs no escaping in a URL.
pub(crate) fn password() -> Result<String, ServerError> {
    Ok(bytes::<16>()?.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}
