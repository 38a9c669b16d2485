//! The escapes for characters that have a meaning in a URL.
//!
//! `percent-encoding` leaves an escape that is cut off or wrong as it is; a password must not be changed in silence, so it
//! is refused here.

/// Decodes `%20` and the like; `None` if the text is not valid.
pub fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digits = [bytes.next()?, bytes.next()?];
            if !digits.iter().all(u8::is_ascii_hexdigit) {
                return None;
            }
            let digits = std::str::from_utf8(&digits).ok()?;
            decoded.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            decoded.push(byte);
        }
    }
    String::from_utf8(decoded).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_bytes_of_utf_8_and_refuses_what_is_cut_off() {
        assert_eq!(
            percent_decoded("p%40ss%2Fw%C3%BCrd").as_deref(),
            Some("p@ss/würd")
        );
        for bad in ["%", "%2", "%zz", "%+1", "%FF"] {
            assert_eq!(percent_decoded(bad), None, "{bad}");
        }
    }
}
