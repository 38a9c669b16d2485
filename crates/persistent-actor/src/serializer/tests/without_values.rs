//! Errors of formats do not quote the values that they are about.

use serde::ser::Error as _;
use serde::{Deserialize, Serialize};

use super::of_applications::{MIRRORED, decoded, encoded, with};
use crate::ErrorChain;
use crate::serializer::*;

const SECRET: &str = "ada@example.org";

/// The form of today, which does not read the one with a text.
#[derive(Debug, Serialize, Deserialize)]
struct Account<T> {
    owner: T,
}

#[derive(Debug, Serialize, Deserialize)]
enum Kind {
    Known,
}

/// A value that serde cannot write, and says so with the value.
struct Unwritable;

impl Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom(format!("{SECRET} has no form")))
    }
}

const FORMATS: [Serializer; 3] = [
    Serializer::MessagePack,
    Serializer::Json,
    Serializer::Registered(1_000),
];

/// Returns all that can be shown of an error.
fn shown_of<E: std::error::Error + 'static>(error: &E) -> String {
    format!("{} {error:?}", ErrorChain(error))
}

#[test]
fn no_error_of_decoding_quotes_the_value() {
    let (serializers, manifest) = (with([MIRRORED]).unwrap(), super::manifest());
    for format in FORMATS {
        let owner = SECRET.to_owned();
        let payload = encoded(&serializers, format, &manifest, &Account { owner }).unwrap();
        let number = decoded::<Account<u64>>(&serializers, &payload).unwrap_err();
        let kind = decoded::<Account<Kind>>(&serializers, &payload).unwrap_err();
        for error in [number, kind] {
            assert!(matches!(error, DecodeError::Serializer { .. }), "{error:?}");
            let shown = shown_of(&error);
            assert!(!shown.contains("ada"), "{shown}");
        }
    }
}

#[test]
fn an_error_of_decoding_says_what_can_be_told_without_the_value() {
    let serializers = Serializers::default();
    for (id, bytes, expected) in [
        (
            2,
            &br#"{"owner":"ada@example.org"}"#[..],
            "json could not decode the bytes: they are no value of the type, at line 1 column 26",
        ),
        (
            2,
            br#"{"owner":7"#,
            "json could not decode the bytes: they end too early, at line 1 column 10",
        ),
        (
            2,
            b"ada",
            "json could not decode the bytes: they are not well-formed, at line 1 column 1",
        ),
        (
            1,
            b"\x81\xa5owner\xa3ada",
            "messagepack could not decode the bytes: a part of them is of another type",
        ),
        (
            1,
            b"\x81\xa3ada\x07",
            "messagepack could not decode the bytes: they are no value of the type",
        ),
    ] {
        let error = serializers.decode::<Account<u64>>(id, bytes).unwrap_err();
        assert_eq!(ErrorChain(&error).to_string(), expected);
    }
}

#[test]
fn no_error_of_encoding_quotes_the_value() {
    let (serializers, manifest) = (with([MIRRORED]).unwrap(), super::manifest());
    for format in FORMATS {
        let error = encoded(&serializers, format, &manifest, &Unwritable).unwrap_err();
        assert!(matches!(error, EncodeError::Serializer { .. }), "{error:?}");
        let shown = shown_of(&error);
        assert!(!shown.contains("ada"), "{shown}");
    }
    let unnamed = std::collections::BTreeMap::from([([1_u8], SECRET)]);
    let error = encoded(&serializers, Serializer::Json, &manifest, &unnamed).unwrap_err();
    let expected = "json could not encode test.value:v2: key must be a string";
    assert_eq!(ErrorChain(&error).to_string(), expected);
}
