//! Payloads that are compressed, encrypted or both, and what becomes of damaged ones.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex};

use actix_persistence_storage_api::{Payload, PersistenceId};
use proptest::prelude::*;

use super::decode_at;
use crate::serializer::*;

const LIMIT: usize = DEFAULT_EVENT_LIMIT;

/// The keys of the subjects "1" and "2".
#[derive(Default)]
struct Keys {
    keys: Mutex<HashMap<KeyId, FoundKey>>,
}

fn key_of(subject: &str) -> (KeyId, EncryptionKey) {
    let byte = subject.as_bytes()[0];
    let id = KeyId::new(&[byte; 16]).unwrap();
    (id, EncryptionKey::new(&[byte; EncryptionKey::BYTES]))
}

impl Keys {
    fn set(&self, subject: &str, found: FoundKey) {
        self.keys.lock().unwrap().insert(key_of(subject).0, found);
    }
}

impl KeyStore for Keys {
    fn current_key(&self, subject: &str) -> Result<CurrentKey, Box<dyn Error + Send + Sync>> {
        let (id, key) = key_of(subject);
        self.set(subject, FoundKey::Key(key.clone()));
        Ok(CurrentKey { id, key })
    }

    fn find_key(&self, id: &KeyId) -> Result<FoundKey, Box<dyn Error + Send + Sync>> {
        let found = self.keys.lock().unwrap().get(id).cloned();
        Ok(found.unwrap_or(FoundKey::Unknown))
    }
}

fn id() -> PersistenceId {
    PersistenceId::of("Test", "1")
}

fn manifest() -> Manifest {
    Manifest::new("test.value", &["test.other"], 2)
}

fn serializers(keys: &Arc<Keys>) -> Serializers {
    Serializers::default().with_key_store(Arc::clone(keys) as Arc<dyn KeyStore>)
}

const ZSTD: Compression = Compression::Zstd { min_bytes: 1 };

/// Encodes a text, as an event of these wishes.
fn outgoing(
    text: &str,
    serializers: &Serializers,
    compression: Compression,
    subject: Option<&str>,
    limit: usize,
) -> Result<Outgoing, EncodeError> {
    let manifest = manifest();
    let encoder = Encoder::new(serializers, Serializer::Json, &manifest, limit);
    let outgoing = Outgoing::new(text.to_payload(encoder)?, compression)?;
    outgoing.encrypted_for(subject, serializers, limit)
}

fn stored(
    text: &str,
    serializers: &Serializers,
    compression: Compression,
    subject: Option<&str>,
) -> Payload {
    let outgoing = outgoing(text, serializers, compression, subject, LIMIT).unwrap();
    let payload = outgoing.at(Place::of_event(&id(), 7));
    assert_eq!(payload.len(), outgoing.len(), "the size is known before");
    payload
}

fn read(payload: &Payload, serializers: &Serializers) -> Result<String, DecodeError> {
    read_at(payload, serializers, Place::of_event(&id(), 7))
}

fn read_at(
    payload: &Payload,
    serializers: &Serializers,
    place: Place<'_>,
) -> Result<String, DecodeError> {
    decode_at(payload, serializers, place)
}

fn contains(payload: &Payload, text: &str) -> bool {
    let mut windows = payload.bytes.windows(text.len());
    windows.any(|window| window == text.as_bytes())
}

const PERSONAL: &str =
    "Ada Lovelace, 10 December 1815; Ada Lovelace, 10 December 1815; Ada Lovelace";

#[test]
fn compressed_and_encrypted_values_are_what_they_say_and_can_be_read() {
    let serializers = serializers(&Arc::default());
    for (compression, subject, serializer_id) in [
        (Compression::Off, None, 2),
        (ZSTD, None, 3),
        (Compression::Off, Some("1"), 4),
        (ZSTD, Some("1"), 4),
    ] {
        let payload = stored(PERSONAL, &serializers, compression, subject);
        assert_eq!(payload.serializer_id, serializer_id);
        assert_eq!(&*payload.manifest, "test.value:v2");
        assert_eq!(contains(&payload, "Ada"), subject.is_none());
        assert_eq!(read(&payload, &serializers).unwrap(), PERSONAL);
    }
    let plain = stored(PERSONAL, &serializers, Compression::Off, Some("1"));
    let smaller = stored(PERSONAL, &serializers, ZSTD, Some("1"));
    assert!(
        smaller.len() < plain.len(),
        "it is compressed before it is encrypted"
    );
}

#[test]
fn what_does_not_become_smaller_or_is_too_small_is_stored_plain() {
    let serializers = Serializers::default();
    let random: String = (0..200).map(|_| fastrand::alphanumeric()).collect();
    assert_eq!(stored(&random, &serializers, ZSTD, None).serializer_id, 2);
    assert_eq!(stored("", &serializers, ZSTD, None).serializer_id, 2);
    let text = "x".repeat(98);
    for (min_bytes, serializer_id) in [(100, 3), (101, 2)] {
        let compression = Compression::Zstd { min_bytes };
        let payload = stored(&text, &serializers, compression, None);
        assert_eq!(payload.serializer_id, serializer_id);
    }
}

#[test]
fn the_limit_counts_the_plain_value_and_holds_for_what_is_stored() {
    let serializers = serializers(&Arc::default());
    let text = "x".repeat(98);
    let encode = |compression, subject, limit| {
        outgoing(&text, &serializers, compression, subject, limit).map(|outgoing| outgoing.len())
    };
    assert_eq!(encode(Compression::Off, None, 100).unwrap(), 100);
    for (compression, subject, limit) in [
        // Compressed it would fit.
        (ZSTD, None, 99),
        (Compression::Off, None, 99),
        // Only the plain value fits.
        (Compression::Off, Some("1"), 100),
    ] {
        let refused = encode(compression, subject, limit);
        assert!(
            matches!(refused, Err(EncodeError::TooLarge { .. })),
            "{refused:?}"
        );
    }
    assert!(encode(ZSTD, Some("1"), 100).unwrap() <= 100);
}

#[test]
fn a_compressed_size_above_the_hard_limit_is_refused_at_once() {
    let serializers = Serializers::default();
    let payload = stored(PERSONAL, &serializers, ZSTD, None);
    let mut fields = payload.bytes[..5].to_vec();
    fields.extend((HARD_PAYLOAD_LIMIT as u32 + 1).to_be_bytes());
    let bytes = envelope::end(fields, &payload.bytes[13..], &[]);
    let bomb = Payload::new(3, payload.manifest.clone(), bytes);
    let error = read(&bomb, &serializers).unwrap_err();
    assert!(matches!(error, DecodeError::TooLarge { .. }), "{error}");
}

#[test]
fn more_bytes_than_a_compressed_value_says_are_not_decompressed() {
    let serializers = Serializers::default();
    let payload = stored(PERSONAL, &serializers, ZSTD, None);
    let len = u32::from_be_bytes(payload.bytes[5..9].try_into().unwrap());
    for claimed in [0, 1, len - 1, len + 1] {
        let mut fields = payload.bytes[..5].to_vec();
        fields.extend(claimed.to_be_bytes());
        let bytes = envelope::end(fields, &payload.bytes[13..], &[]);
        let changed = Payload::new(3, payload.manifest.clone(), bytes);
        assert!(read(&changed, &serializers).is_err(), "{claimed} for {len}");
    }
}

#[test]
fn the_scan_sees_what_is_inside_of_a_compressed_value() {
    let serializers = Serializers::default();
    let bomb = b"\x81\xa6Nested".repeat(100_000);
    let bomb = zstd::compress(Payload::new(1, "test.value:v2", bomb)).unwrap();
    assert_eq!(bomb.serializer_id, 3);
    let error = read(&bomb, &serializers).unwrap_err().to_string();
    assert!(error.contains("nested too deeply"), "{error}");
}

#[test]
fn nothing_that_is_wrapped_twice_is_read() {
    let keys = Arc::default();
    let serializers = serializers(&keys);
    let compressed = stored(PERSONAL, &serializers, ZSTD, None);
    let large = Payload::new(3, "test.value:v2", compressed.bytes.repeat(10));
    let twice = zstd::compress(large).unwrap();
    assert_eq!(twice.serializer_id, 3);
    assert!(read(&twice, &serializers).is_err());
    let id = id();
    let place = Place::of_event(&id, 7);
    let encrypted = stored(PERSONAL, &serializers, Compression::Off, Some("1"));
    let twice = serializers
        .seal("1", &encrypted.manifest)
        .unwrap()
        .seal(&encrypted, place);
    assert!(read(&twice, &serializers).is_err());
}

#[test]
fn what_is_encrypted_is_read_at_its_own_place_only() {
    let serializers = serializers(&Arc::default());
    let payload = stored(PERSONAL, &serializers, ZSTD, Some("1"));
    let (own, other) = (id(), PersistenceId::of("Test", "2"));
    for place in [
        Place::of_event(&own, 8),
        Place::of_event(&other, 7),
        Place::of_snapshot(&own, 7),
        Place::of_state(&own, 7),
    ] {
        assert!(read_at(&payload, &serializers, place).is_err(), "{place:?}");
    }
    for manifest in ["test.value:v1", "test.other:v2"] {
        let renamed = Payload::new(4, manifest, payload.bytes.clone());
        assert!(read(&renamed, &serializers).is_err(), "{manifest}");
    }
    assert_eq!(read(&payload, &serializers).unwrap(), PERSONAL);
}

#[test]
fn the_same_value_is_encrypted_differently_each_time_and_for_each_number() {
    let serializers = serializers(&Arc::default());
    let encode = || outgoing(PERSONAL, &serializers, Compression::Off, Some("1"), LIMIT).unwrap();
    let first = encode();
    let (id, inside) = (id(), 1 + 4 + 1 + 16 + 16 + 4);
    let at = |outgoing: &Outgoing, number| {
        outgoing.at(Place::of_event(&id, number)).bytes[inside..].to_vec()
    };
    assert_eq!(at(&first, 7), at(&first, 7));
    assert_ne!(at(&first, 7), at(&first, 8));
    assert_ne!(at(&first, 7), at(&encode(), 7));
}

#[test]
fn a_key_that_is_destroyed_wrong_or_unknown_is_told_apart() {
    let keys = Arc::new(Keys::default());
    let serializers = serializers(&keys);
    let payload = stored(PERSONAL, &serializers, Compression::Off, Some("1"));
    let error_with = |found| {
        keys.set("1", found);
        read(&payload, &serializers).unwrap_err()
    };
    let destroyed = error_with(FoundKey::Destroyed);
    assert!(
        matches!(destroyed, DecodeError::Shredded { .. }),
        "{destroyed}"
    );
    let wrong = error_with(FoundKey::Key(key_of("2").1));
    assert!(matches!(wrong, DecodeError::Malformed { .. }), "{wrong}");
    let unknown = error_with(FoundKey::Unknown);
    assert!(
        matches!(unknown, DecodeError::UnknownKey { .. }),
        "{unknown}"
    );
    let without = read(&payload, &Serializers::default()).unwrap_err();
    assert!(matches!(without, DecodeError::NoKeyStore), "{without}");
    let refused = Serializers::default().seal("1", "m").err().unwrap();
    assert!(
        matches!(refused, EncodeError::NoKeyStore { .. }),
        "{refused}"
    );
}

#[test]
fn a_key_is_not_shown() {
    let (id, key) = key_of("1");
    let shown = format!("{:?}", CurrentKey { id, key });
    assert_eq!(
        shown,
        "CurrentKey { id: KeyId(31313131313131313131313131313131), key: EncryptionKey(..) }"
    );
    assert!(KeyId::new(&[]).is_err());
    assert!(KeyId::new(&[0; KeyId::MAX_BYTES + 1]).is_err());
}

/// Every wrapping, with the payload of a text.
fn wrapped(text: &str, serializers: &Serializers) -> Vec<Payload> {
    let wishes = [
        (ZSTD, None),
        (Compression::Off, Some("1")),
        (ZSTD, Some("1")),
    ];
    let payloads =
        wishes.map(|(compression, subject)| stored(text, serializers, compression, subject));
    // A short text is not compressed, and a plain payload has no envelope.
    payloads
        .into_iter()
        .filter(|payload| payload.serializer_id > 2)
        .collect()
}

#[test]
fn every_changed_bit_is_an_error_even_if_the_key_is_destroyed() {
    let keys = Arc::new(Keys::default());
    let serializers = serializers(&keys);
    let payloads = wrapped(PERSONAL, &serializers);
    assert_eq!(payloads.len(), 3);
    for is_destroyed in [false, true] {
        if is_destroyed {
            keys.set("1", FoundKey::Destroyed);
        }
        for payload in &payloads {
            for bit in 0..payload.len() * 8 {
                let mut bytes = payload.bytes.to_vec();
                bytes[bit / 8] ^= 1 << (bit % 8);
                let damaged = Payload::new(payload.serializer_id, payload.manifest.clone(), bytes);
                let error = read(&damaged, &serializers).unwrap_err();
                assert!(!error.is_shredded(), "bit {bit}: {error}");
            }
        }
    }
}

proptest! {
    #[test]
    fn whatever_is_wrapped_is_read_again_and_cut_off_it_is_an_error(
        text in "(.{0,40}|[ab]{100,400})",
        cut in any::<prop::sample::Index>(),
    ) {
        let serializers = serializers(&Arc::default());
        for payload in wrapped(&text, &serializers) {
            prop_assert_eq!(&read(&payload, &serializers).unwrap(), &text);
            let bytes = payload.bytes.slice(..cut.index(payload.len()));
            let cut = Payload::new(payload.serializer_id, payload.manifest.clone(), bytes);
            prop_assert!(read(&cut, &serializers).is_err());
        }
    }

    #[test]
    fn random_envelopes_never_panic(bytes: Vec<u8>, id in 3_u32..=4, with_format: bool) {
        let mut bytes = bytes;
        if with_format {
            bytes.insert(0, 1);
        }
        let payload = Payload::new(id, "test.value:v2", bytes);
        prop_assert!(read(&payload, &serializers(&Arc::default())).is_err());
    }
}
