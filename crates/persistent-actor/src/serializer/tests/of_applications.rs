//! Formats and serializers of an application.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use actix_persistence_storage_api::{MAX_TEXT_BYTES, Payload, PersistenceId};

use super::{LIMIT, Value, decode_at, named};
use crate::serializer::*;
use crate::{Event, Upcasters, schema};

type Failure = Box<dyn Error + Send + Sync>;

/// JSON with every byte turned around.
pub(super) struct Mirrored {
    id: u32,
    name: &'static str,
}

pub(super) const MIRRORED: Mirrored = Mirrored {
    id: 1_000,
    name: "mirrored",
};

impl SerdeFormat for Mirrored {
    fn id(&self) -> u32 {
        self.id
    }

    fn name(&self) -> &str {
        self.name
    }

    fn encode(
        &self,
        value: &dyn erased_serde::Serialize,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let json: Vec<u8> = serde_json::to_vec(value)?;
        Ok(out.write_all(&json.iter().map(|byte| !byte).collect::<Vec<_>>())?)
    }

    fn decode(&self, bytes: &[u8], read: &mut ReadValue<'_>) -> Result<(), Failure> {
        let json: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        let mut json = serde_json::Deserializer::from_slice(&json);
        read(&mut <dyn erased_serde::Deserializer<'_>>::erase(&mut json))?;
        Ok(json.end()?)
    }
}

pub(super) fn with(
    formats: impl IntoIterator<Item = Mirrored>,
) -> Result<Serializers, SerializerCollision> {
    let mut formats = formats.into_iter();
    formats.try_fold(Serializers::default(), |known, format| {
        known.with_format(Arc::new(format))
    })
}

pub(super) fn encoded<T: ToPayload>(
    serializers: &Serializers,
    serializer: Serializer,
    manifest: &Manifest,
    value: &T,
) -> Result<Payload, EncodeError> {
    let encoder = Encoder::new(serializers, serializer, manifest, LIMIT);
    value.to_payload(encoder).map(EncodedPayload::into_payload)
}

pub(super) fn decoded<T: FromPayload>(
    serializers: &Serializers,
    payload: &Payload,
) -> Result<T, DecodeError> {
    let id = PersistenceId::of("Test", "1");
    decode_at(payload, serializers, Place::of_event(&id, 1))
}

#[test]
fn a_registered_format_gives_back_what_it_took() {
    let (serializers, manifest) = (with([MIRRORED]).unwrap(), super::manifest());
    let mirrored = serializers.by_name("mirrored").unwrap();
    assert_eq!(mirrored, Serializer::Registered(1_000));
    let payload = encoded(&serializers, mirrored, &manifest, &named()).unwrap();
    assert_eq!(payload.serializer_id, 1_000);
    let value: Value = decoded(&serializers, &payload).unwrap();
    assert_eq!(value, named());

    let unknown = decoded::<Value>(&Serializers::default(), &payload).unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "unknown serializer id 1000, this program knows 1 (messagepack), 2 (json)"
    );
    let refused = encoded(&Serializers::default(), mirrored, &manifest, &named()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "test.value:v2 names the unknown serializer 1000, this program knows 1 (messagepack), 2 (json)"
    );
}

#[test]
fn a_registered_format_is_held_to_depth_and_limit() {
    let (serializers, manifest) = (with([MIRRORED]).unwrap(), super::manifest());
    let nested = |levels| {
        let leaf = Value::Leaf(1);
        (0..levels).fold(leaf, |inner, _| Value::Nested(Box::new(inner)))
    };
    let encode = |value: &Value| {
        let mirrored = Serializer::Registered(1_000);
        encoded(&serializers, mirrored, &manifest, value)
    };
    let deepest = encode(&nested(126)).unwrap();
    assert!(decoded::<Value>(&serializers, &deepest).is_ok());
    let error = encode(&nested(127)).unwrap_err();
    assert!(matches!(error, EncodeError::Serializer { .. }), "{error:?}");
    let large = Value::Named {
        text: "x".repeat(LIMIT),
        list: Vec::new(),
    };
    let error = encode(&large).unwrap_err();
    assert!(matches!(error, EncodeError::TooLarge { .. }), "{error:?}");
}

#[test]
fn formats_that_collide_are_refused_and_both_are_named() {
    for (formats, expected) in [
        (
            vec![Mirrored {
                id: 999,
                ..MIRRORED
            }],
            "the serializer 'mirrored' has the id 999, but those below 1000 are the library's",
        ),
        (
            vec![
                MIRRORED,
                Mirrored {
                    name: "other",
                    ..MIRRORED
                },
            ],
            "the serializers 'mirrored' and 'other' have the same id 1000",
        ),
        (
            vec![
                MIRRORED,
                Mirrored {
                    id: 1_001,
                    ..MIRRORED
                },
            ],
            "the serializers 1000 and 1001 have the same name 'mirrored'",
        ),
        (
            vec![Mirrored {
                name: "json",
                ..MIRRORED
            }],
            "the serializers 2 and 1000 have the same name 'json'",
        ),
    ] {
        assert_eq!(with(formats).unwrap_err().to_string(), expected);
    }
}

/// An event that serde does not know.
#[derive(Clone, Debug, PartialEq)]
enum Door {
    Opened(u8),
    Closed,
    /// One that chooses a manifest of no type.
    Lost,
}

const OWN: u32 = 2_000;

impl ToPayload for Door {
    fn to_payload(&self, encoder: Encoder<'_>) -> Result<EncodedPayload, EncodeError> {
        match self {
            Door::Opened(by) => encoder.with_manifest("door.opened").bytes::<OWN>(&[*by]),
            Door::Closed => encoder.bytes::<OWN>(&[]),
            Door::Lost => encoder.with_manifest("door.lost").bytes::<OWN>(&[]),
        }
    }
}

impl FromPayload for Door {
    const MANIFESTS: &'static [&'static str] = &["door.opened"];

    fn from_payload(stored: &Stored<'_>) -> Result<Self, DecodeError> {
        let bytes = stored.bytes_of::<OWN>()?;
        match (stored.manifest(), bytes) {
            ("door.opened", [by]) => Ok(Door::Opened(*by)),
            ("door", []) => Ok(Door::Closed),
            _ => Err(stored.failed("another number of bytes")),
        }
    }
}

impl Event for Door {
    const MANIFEST: &'static str = "door";
    const VERSION: u32 = 3;

    fn upcasters() -> Upcasters<Self> {
        Upcasters::new().unchanged(2).since(2)
    }
}

fn read_door(payload: &Payload) -> Result<Door, DecodeError> {
    let (serializers, id) = (Serializers::default(), PersistenceId::of("Test", "1"));
    let stored = serializers.stored(payload, Place::of_event(&id, 1));
    schema::of_event::<Door>().unwrap().read_one(stored)
}

fn door() -> Manifest {
    Manifest::new("door", Door::MANIFESTS, 3)
}

#[test]
fn a_type_without_serde_chooses_a_manifest_for_each_value() {
    let serializers = Serializers::default();
    for (value, manifest, bytes) in [
        (Door::Opened(7), "door.opened:v3", &[7][..]),
        (Door::Closed, "door:v3", &[]),
    ] {
        // The serializer of the config is for types that have none.
        let payload = encoded(&serializers, Serializer::Json, &door(), &value).unwrap();
        assert_eq!(payload, Payload::new(OWN, manifest, bytes.to_vec()));
        assert_eq!(read_door(&payload).unwrap(), value);
    }
}

#[test]
fn older_versions_under_every_name_of_a_type_are_read() {
    for (manifest, bytes, value) in [
        ("door:v2", vec![], Door::Closed),
        ("door.opened:v2", vec![7], Door::Opened(7)),
    ] {
        let payload = Payload::new(OWN, manifest, bytes);
        assert_eq!(read_door(&payload).unwrap(), value);
    }
}

#[test]
fn a_value_that_its_type_could_not_read_again_is_refused() {
    let refused = encoded(
        &Serializers::default(),
        Serializer::Json,
        &door(),
        &Door::Lost,
    );
    assert_eq!(
        refused.unwrap_err().to_string(),
        "the manifest \"door.lost\" is none of those that its type reads: door:v3, door.opened:v3"
    );
}

#[test]
fn the_id_of_a_type_must_not_be_that_of_a_registered_format() {
    let taken = Mirrored {
        id: OWN,
        ..MIRRORED
    };
    let serializers = with([taken]).unwrap();
    let refused = encoded(&serializers, Serializer::Json, &door(), &Door::Closed);
    assert_eq!(
        refused.unwrap_err().to_string(),
        "door:v3 is written by a serializer of its own with the id 2000, which is that of the format 'mirrored'"
    );
}

#[test]
fn what_is_no_payload_of_the_type_is_an_error() {
    for (payload, expected) in [
        (
            Payload::new(OWN, "door.opened:v4", vec![7]),
            "version 4 of \"door.opened\" is of a newer program; this program reads versions 2 to 3 of \"door\", versions 2 to 3 of \"door.opened\"",
        ),
        (
            Payload::new(OWN, "door.opened:v1", vec![7]),
            "no step reads version 1 of \"door.opened\"",
        ),
        (
            Payload::new(OWN, "door.lost:v1", vec![]),
            "unknown manifest \"door.lost:v1\"",
        ),
        (
            Payload::new(OWN, "door.opened", vec![7]),
            "unknown manifest \"door.opened\"",
        ),
        (
            Payload::new(2, "door:v3", "null"),
            "unknown serializer id 2, this program knows 2000 for this type",
        ),
        (
            Payload::new(OWN, "door.opened:v3", vec![]),
            "serializer 2000 could not decode",
        ),
    ] {
        let error = read_door(&payload).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn every_manifest_of_a_type_has_to_fit() {
    struct Long;
    impl FromPayload for Long {
        const MANIFESTS: &'static [&'static str] = &["short", {
            const LONG: [u8; MAX_TEXT_BYTES - 2] = [b'x'; MAX_TEXT_BYTES - 2];
            match std::str::from_utf8(&LONG) {
                Ok(text) => text,
                Err(_) => "",
            }
        }];

        fn from_payload(stored: &Stored<'_>) -> Result<Self, DecodeError> {
            Err(stored.unknown_manifest())
        }
    }
    let checked = std::panic::catch_unwind(|| manifest::check_manifests::<Long>("short", 1));
    assert!(checked.is_err());
    manifest::check_manifests::<Door>("door", u32::MAX);
}
