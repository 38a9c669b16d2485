//! Values that are encoded, values that are refused, and hostile bytes that do no harm.

mod of_applications;
mod read_again;
mod without_values;
#[cfg(all(feature = "zstd", feature = "encryption"))]
mod wrapped;

use actix_persistence_storage_api::{Payload, PersistenceId};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Value {
    Leaf(u64),
    Named { text: String, list: Vec<u8> },
    Nested(Box<Value>),
}

const LIMIT: usize = DEFAULT_EVENT_LIMIT;

fn manifest() -> Manifest {
    Manifest::new("test.value", &[], 2)
}

fn try_encode<T: Serialize>(
    serializer: Serializer,
    value: &T,
    limit: usize,
) -> Result<Payload, EncodeError> {
    let (serializers, manifest) = (Serializers::default(), manifest());
    let encoder = Encoder::new(&serializers, serializer, &manifest, limit);
    value.to_payload(encoder).map(EncodedPayload::into_payload)
}

fn encode(serializer: Serializer, value: &Value) -> Payload {
    try_encode(serializer, value, LIMIT).unwrap()
}

fn decode<T: DeserializeOwned>(payload: &Payload) -> Result<T, DecodeError> {
    let id = PersistenceId::of("Test", "1");
    decode_at(payload, &Serializers::default(), Place::of_event(&id, 1))
}

fn decode_at<T: FromPayload>(
    payload: &Payload,
    serializers: &Serializers,
    place: Place<'_>,
) -> Result<T, DecodeError> {
    let (name, version) = parse_manifest(&payload.manifest).unwrap();
    serializers
        .stored(payload, place)
        .unwrap(name, version)?
        .decode()
}

fn named() -> Value {
    Value::Named {
        text: "é😀".to_owned(),
        list: vec![0, 255],
    }
}

#[test]
fn both_serializers_give_back_what_they_took() {
    for serializer in [Serializer::MessagePack, Serializer::Json] {
        let payload = encode(serializer, &named());
        assert_eq!(payload.serializer_id, serializer.id());
        assert_eq!(&*payload.manifest, "test.value:v2");
        assert_eq!(decode::<Value>(&payload).unwrap(), named());
    }
}

#[test]
fn the_stored_form_is_frozen() {
    let message_pack = encode(Serializer::MessagePack, &Value::Leaf(300));
    assert_eq!(&message_pack.bytes[..], b"\x81\xa4Leaf\xcd\x01\x2c");
    let json = encode(Serializer::Json, &Value::Leaf(300));
    assert_eq!(&json.bytes[..], br#"{"Leaf":300}"#);
}

#[test]
fn the_stored_serializer_decides_and_an_unknown_one_is_named() {
    let mut payload = encode(Serializer::Json, &named());
    assert!(decode::<Value>(&payload).is_ok());
    payload.serializer_id = 1_234;
    let error = decode::<Value>(&payload).unwrap_err();
    assert!(error.to_string().contains("1234"), "{error}");
}

#[test]
fn a_long_manifest_is_cut_in_errors() {
    let stored = "\u{1f980}".repeat(100_000);
    let shown = shown(&stored);
    assert!(shown.len() < 4_000 && shown.ends_with("..."), "{shown}");
}

#[test]
fn a_value_over_the_limit_is_refused_before_it_is_built_whole() {
    let large = Value::Named {
        text: "x".repeat(LIMIT),
        list: Vec::new(),
    };
    for serializer in [Serializer::MessagePack, Serializer::Json] {
        let refused = try_encode(serializer, &large, LIMIT);
        assert!(matches!(
            refused,
            Err(EncodeError::TooLarge { limit: LIMIT, .. })
        ));
    }
}

#[test]
fn what_is_larger_than_the_limit_of_today_is_decoded_up_to_the_hard_limit() {
    let large = Value::Named {
        text: "x".repeat(2 * LIMIT),
        list: Vec::new(),
    };
    for serializer in [Serializer::MessagePack, Serializer::Json] {
        let payload = try_encode(serializer, &large, 3 * LIMIT).unwrap();
        assert_eq!(decode::<Value>(&payload).unwrap(), large);
    }
    let bytes = vec![0; HARD_PAYLOAD_LIMIT + 1];
    let payload = Payload::new(1, manifest().text().clone(), bytes);
    let error = decode::<Value>(&payload).unwrap_err();
    assert!(matches!(error, DecodeError::TooLarge { .. }));
}

#[test]
fn bytes_after_the_value_are_an_error() {
    for serializer in [Serializer::MessagePack, Serializer::Json] {
        let mut payload = encode(serializer, &named());
        payload.bytes = [&payload.bytes[..], b"1"].concat().into();
        assert!(decode::<Value>(&payload).is_err());
    }
}

#[test]
fn a_nesting_bomb_is_refused_without_touching_the_stack() {
    // {"Nested": {"Nested": ...}}: 600 KB of it abort a process that hands them to rmp-serde.
    let bomb = b"\x81\xa6Nested".repeat(100_000);
    let payload = Payload::new(1, manifest().text().clone(), bomb);
    let error = decode::<Value>(&payload).unwrap_err();
    assert!(error.to_string().contains("nested too deeply"), "{error}");
}

#[test]
fn a_claimed_length_that_is_not_there_is_cut_off_not_allocated() {
    for bytes in [
        &b"\xdd\xff\xff\xff\xff"[..],
        b"\xdb\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff",
    ] {
        assert_eq!(message_pack_scan::check(bytes), Err("cut off"));
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<u64>().prop_map(Value::Leaf),
        (".*", any::<Vec<u8>>()).prop_map(|(text, list)| Value::Named { text, list }),
    ];
    leaf.prop_recursive(30, 30, 1, |inner| {
        inner.prop_map(|value| Value::Nested(Box::new(value)))
    })
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes: Vec<u8>, id in 0_u32..4) {
        let payload = Payload::new(id, manifest().text().clone(), bytes);
        let _ = decode::<Value>(&payload);
    }

    #[test]
    fn the_scan_agrees_with_the_decoder_on_whole_values(value in value(), cut in any::<prop::sample::Index>()) {
        let bytes = encode(Serializer::MessagePack, &value).bytes;
        prop_assert_eq!(message_pack_scan::check(&bytes), Ok(()));
        let cut = cut.index(bytes.len());
        prop_assert!(message_pack_scan::check(&bytes[..cut]).is_err());
    }
}
