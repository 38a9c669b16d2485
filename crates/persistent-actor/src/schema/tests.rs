//! Stored versions are read as their type declares, and declarations that cannot be are refused.

mod random;

use actix_persistence_storage_api::{Payload, PersistenceId};
use serde::{Deserialize, Serialize};

use super::*;
use crate::Stored;
use crate::serializer::Place;

/// The event of today, of version 4.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Paid {
    cents: i64,
    #[serde(default = "euro")]
    currency: String,
}

fn euro() -> String {
    "EUR".to_owned()
}

#[derive(Serialize, Deserialize)]
struct Paid1(i64);

#[derive(Serialize, Deserialize)]
struct Paid2 {
    value: i64,
}

#[derive(Deserialize)]
struct PaidAtOnce(Vec<i64>);

impl From<Paid1> for Paid2 {
    fn from(Paid1(value): Paid1) -> Self {
        Self { value }
    }
}

impl From<Paid2> for Paid {
    fn from(Paid2 { value: cents }: Paid2) -> Self {
        let currency = euro();
        Self { cents, currency }
    }
}

/// Only what was paid in the one currency of then can be said in version 2.
impl TryFrom<&Paid> for Paid2 {
    type Error = &'static str;

    fn try_from(paid: &Paid) -> Result<Self, Self::Error> {
        let value = paid.cents;
        let is_euro = paid.currency == "EUR";
        is_euro.then_some(Self { value }).ok_or("another currency")
    }
}

fn chain() -> Chain<Paid2> {
    Chain::of::<Paid1>(1).then::<Paid2>(2)
}

fn upcasters() -> Upcasters<Paid> {
    Upcasters::new()
        .chain(chain())
        .unchanged(3)
        .renamed("payment", 1..=2)
        .chain_of("debt", Chain::of_with(1, refused_if_negative))
        .split("paid-at-once", Chain::of::<PaidAtOnce>(1), paid_at_once)
        .retired("looked-at")
}

fn paid_at_once(PaidAtOnce(all): PaidAtOnce) -> impl Iterator<Item = Paid> {
    let each = |value| {
        assert!(value != 13, "an unlucky payment");
        Paid2 { value }.into()
    };
    all.into_iter().map(each)
}

fn refused_if_negative(stored: &Stored<'_>) -> Result<Paid2, DecodeError> {
    let Paid1(value) = stored.decode()?;
    if value < 0 {
        return Err(stored.refuse(format!("version {} is negative", stored.version())));
    }
    Ok(Paid2 { value })
}

fn schema(upcasters: Upcasters<Paid>) -> Result<Schema<Paid>, InvalidUpcasters> {
    Schema::new("paid", 4, upcasters)
}

fn read_payload<T: ToPayload + FromPayload>(
    schema: &Schema<T>,
    payload: &Payload,
) -> Result<Read<T>, DecodeError> {
    let id = PersistenceId::of("Test", "1");
    schema.read(Serializers::default().stored(payload, Place::of_event(&id, 1)))
}

fn read_one(schema: &Schema<Paid>, payload: &Payload) -> Result<Paid, DecodeError> {
    let id = PersistenceId::of("Test", "1");
    schema.read_one(Serializers::default().stored(payload, Place::of_event(&id, 1)))
}

fn encode(
    schema: &Schema<Paid>,
    value: &Paid,
    serializer: Serializer,
    limit: usize,
) -> Result<Payload, EncodeError> {
    let encoded = schema.encode(value, &Serializers::default(), serializer, limit);
    encoded.map(EncodedPayload::into_payload)
}

/// Returns what is read from JSON that is stored under this manifest.
fn read(manifest: &str, json: &str) -> Result<Vec<Paid>, DecodeError> {
    let payload = Payload::new(2, manifest, json.to_owned());
    let mut all = Vec::new();
    let read = read_payload(&schema(upcasters()).unwrap(), &payload)?;
    read.for_each(|paid| all.push(paid));
    Ok(all)
}

fn paid(cents: i64, currency: &str) -> Paid {
    let currency = currency.to_owned();
    Paid { cents, currency }
}

#[test]
fn each_stored_form_is_read_through_all_steps_after_it() {
    for (manifest, json, expected) in [
        ("paid:v1", "7", vec![paid(7, "EUR")]),
        ("paid:v2", r#"{"value":7}"#, vec![paid(7, "EUR")]),
        ("paid:v3", r#"{"cents":7}"#, vec![paid(7, "EUR")]),
        (
            "paid:v4",
            r#"{"cents":7,"currency":"SEK"}"#,
            vec![paid(7, "SEK")],
        ),
        ("payment:v1", "7", vec![paid(7, "EUR")]),
        ("payment:v2", r#"{"value":7}"#, vec![paid(7, "EUR")]),
        ("debt:v1", "7", vec![paid(7, "EUR")]),
        (
            "paid-at-once:v1",
            "[7,8]",
            vec![paid(7, "EUR"), paid(8, "EUR")],
        ),
        ("paid-at-once:v1", "[]", vec![]),
        ("looked-at:v1", "not even JSON", vec![]),
        ("looked-at:v4294967295", "", vec![]),
    ] {
        assert_eq!(read(manifest, json).unwrap(), expected, "{manifest}");
    }
}

/// The name and the version that its decoder saw.
struct Named(String);

impl ToPayload for Named {
    fn to_payload(&self, encoder: Encoder<'_>) -> Result<EncodedPayload, EncodeError> {
        encoder.bytes::<1_000>(&[])
    }
}

impl FromPayload for Named {
    const MANIFESTS: &'static [&'static str] = &["client.moved"];

    fn from_payload(stored: &Stored<'_>) -> Result<Self, DecodeError> {
        Ok(Self(format!("{} {}", stored.manifest(), stored.version())))
    }
}

#[test]
fn what_reads_a_renamed_form_sees_the_name_of_today() {
    let step = |stored: &Stored<'_>| Ok(Named(format!("step of {}", stored.manifest())));
    let upcasters = Upcasters::<Named>::new()
        .chain(Chain::of_with(1, step))
        .chain_of("client.moved", Chain::of_with(1, step))
        .chain_of("buyer", Chain::of_with(1, step))
        .unchanged(2)
        .renamed("customer", 1..=3);
    let schema = Schema::new("client", 3, upcasters).unwrap();
    for (manifest, expected) in [
        ("customer:v1", "step of client"),
        ("customer:v2", "client 2"),
        ("customer:v3", "client 3"),
        ("client:v2", "client 2"),
        ("client.moved:v1", "step of client.moved"),
        ("client.moved:v2", "client.moved 2"),
        ("client.moved:v3", "client.moved 3"),
        ("buyer:v1", "step of buyer"),
    ] {
        let read = read_payload(&schema, &Payload::new(1_000, manifest, "")).unwrap();
        let [Named(seen)] = read.as_slice() else {
            panic!("{manifest}");
        };
        assert_eq!(seen, expected, "{manifest}");
    }
}

#[test]
fn what_no_step_reads_is_an_error_that_says_what_is_read() {
    let readable = "; this program reads version 1 of \"debt\", every version of \"looked-at\" as nothing, versions 1 \
                    to 4 of \"paid\", version 1 of \"paid-at-once\", versions 1 to 2 of \"payment\"";
    for (manifest, expected) in [
        ("paid:v5", "version 5 of \"paid\" is of a newer program"),
        ("payment:v3", "no step reads version 3 of \"payment\""),
        (
            "paid-at-once:v2",
            "no step reads version 2 of \"paid-at-once\"",
        ),
        ("bought:v1", "unknown manifest \"bought:v1\""),
        ("paid:v0", "unknown manifest \"paid:v0\""),
        ("paid", "unknown manifest \"paid\""),
        ("paid:v4294967296", "unknown manifest \"paid:v4294967296\""),
        ("", "unknown manifest \"\""),
    ] {
        let error = read(manifest, "{}").unwrap_err().to_string();
        assert_eq!(error, format!("{expected}{readable}"));
    }
}

#[test]
fn a_version_that_is_said_not_to_be_stored_is_an_error_if_it_is() {
    let since = schema(Upcasters::new().since(3).unchanged(3)).unwrap();
    let stored = |manifest| Payload::new(2, manifest, r#"{"cents":7}"#);
    assert_eq!(
        read_one(&since, &stored("paid:v3")).unwrap(),
        paid(7, "EUR")
    );
    let error = read_one(&since, &stored("paid:v2"))
        .unwrap_err()
        .to_string();
    let expected =
        "no step reads version 2 of \"paid\"; this program reads versions 3 to 4 of \"paid\"";
    assert_eq!(error, expected);
}

#[test]
fn a_step_that_refuses_or_panics_is_an_error() {
    let refused = read("debt:v1", "-1").unwrap_err().to_string();
    assert_eq!(refused, "the type refuses it: version 1 is negative");
    let panicked = read("paid-at-once:v1", "[1,13]").unwrap_err().to_string();
    let expected =
        "a step from \"paid-at-once:v1\" to the form of today panicked: an unlucky payment";
    assert_eq!(panicked, expected);
    let malformed = read("paid:v1", "{}").unwrap_err();
    assert!(
        matches!(malformed, DecodeError::Serializer { .. }),
        "{malformed}"
    );
}

#[test]
fn what_cannot_be_is_refused_with_its_reason() {
    let new = Upcasters::<Paid>::new;
    for (declared, problem) in [
        (
            new(),
            "nothing reads version 1 of \"paid\"; declare a `chain`",
        ),
        (
            new().unchanged(1..=2),
            "nothing reads version 3 of \"paid\"",
        ),
        (
            new().unchanged(1).unchanged(3),
            "nothing reads version 2 of \"paid\"",
        ),
        (
            new().chain(chain()).unchanged(2..=3),
            "version 2 of \"paid\" is declared twice",
        ),
        (
            new().unchanged(1..=3).unchanged(1..=3),
            "version 1 of \"paid\" is declared twice",
        ),
        (
            new().unchanged(1..=4),
            "versions 1 to 4 of \"paid\" is declared, but can only be within 1..=3",
        ),
        (
            new().unchanged(0..=3),
            "versions 0 to 3 of \"paid\" is declared, but can only be within 1..=3",
        ),
        (
            new().unchanged(Versions { first: 3, last: 1 }),
            "versions 3 to 1 of \"paid\" is declared",
        ),
        (
            new().since(2).unchanged(1..=3),
            "versions 1 to 3 of \"paid\" is declared, but can only be within 2..=3",
        ),
        (new().since(0), "since version 0 is said"),
        (new().since(5), "since version 5 is said"),
        (new().since(1).since(1), "`since` is said twice"),
        (
            new()
                .chain(Chain::of::<Paid1>(2).then::<Paid2>(1))
                .unchanged(3),
            "the versions of a chain of \"paid\" must ascend, but 1 comes after 2",
        ),
        (
            upcasters().renamed("paid", 1),
            "earlier or retired name of itself",
        ),
        (
            upcasters().retired("paid"),
            "earlier or retired name of itself",
        ),
        (
            upcasters().renamed("old", 5),
            "version 5 of \"old\" is declared, but can only be within 1..=4",
        ),
        (
            upcasters().renamed("debt", 1),
            "version 1 of \"debt\" is declared twice",
        ),
        (
            upcasters().retired("debt"),
            "version 1 of \"debt\" is declared twice",
        ),
        (
            upcasters().retired("looked-at"),
            "version 1 of \"looked-at\" is declared twice",
        ),
        (
            upcasters().chain_of("old", Chain::of::<Paid1>(1).then::<Paid2>(3)),
            "nothing reads version 2 of \"old\"",
        ),
        (
            upcasters().chain_of("old", Chain::of::<Paid2>(0)),
            "version 0 of \"old\" is declared",
        ),
        (
            upcasters().writes::<Paid2>(1),
            "it writes version 1, but no chain reads",
        ),
        (
            upcasters().writes::<Paid2>(3),
            "it writes version 3, but no chain reads",
        ),
        (
            upcasters().writes::<Paid2>(4),
            "it writes version 4, but no chain reads",
        ),
        (
            upcasters().writes::<Paid2>(2).writes::<Paid2>(2),
            "`writes` is said twice",
        ),
    ] {
        let error = schema(declared).err().expect(problem).to_string();
        let whole = format!("the upcasters of \"paid\", version 4, cannot be: {problem}");
        assert!(
            error.starts_with(&whole) || error.ends_with(problem),
            "{error}"
        );
    }
}

#[test]
fn a_version_that_is_split_cannot_be_written() {
    let split = Upcasters::<Paid>::new()
        .split("paid", Chain::of::<Paid2>(2), |paid| [paid.into()])
        .since(2)
        .unchanged(3)
        .writes::<Paid2>(2);
    let error = schema(split).err().unwrap().to_string();
    assert!(
        error.contains("it writes version 2, but no chain"),
        "{error}"
    );
}

#[test]
fn a_range_ends_where_numbers_do() {
    let all = Upcasters::<Paid>::new().unchanged(1..=u32::MAX - 1);
    let all = Schema::new("paid", u32::MAX, all).unwrap();
    let stored = Payload::new(2, "paid:v4294967295", r#"{"cents":7}"#);
    assert_eq!(read_one(&all, &stored).unwrap(), paid(7, "EUR"));
}

#[test]
fn an_older_version_is_written_if_the_type_says_so() {
    let (serializer, limit) = (Serializer::Json, 1_000);
    let event = paid(7, "EUR");
    let today = schema(upcasters()).unwrap();
    let payload = encode(&today, &event, serializer, limit).unwrap();
    assert_eq!(&*payload.manifest, "paid:v4");
    assert_eq!(today.adapter_manifest(), None);

    let older = schema(upcasters().writes::<Paid2>(2)).unwrap();
    let payload = encode(&older, &event, serializer, limit).unwrap();
    assert_eq!(
        (&*payload.manifest, &payload.bytes[..]),
        ("paid:v2", &br#"{"value":7}"#[..])
    );
    assert_eq!(
        older.adapter_manifest().map(|text| &**text),
        Some("paid:v4")
    );
    assert_eq!(read_one(&older, &payload).unwrap(), event);
    assert_eq!(read_one(&today, &payload).unwrap(), event);

    let error = encode(&older, &paid(7, "SEK"), serializer, limit).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it cannot be stored as paid:v2: another currency"
    );
    let error = encode(&older, &event, serializer, 3).unwrap_err();
    assert!(matches!(error, EncodeError::TooLarge { manifest, limit: 3 } if manifest == "paid:v2"));
}

/// An event of one actor that is a snapshot of another.
#[derive(Serialize, Deserialize)]
struct Both;

impl Event for Both {
    const MANIFEST: &'static str = "both.event";
    const VERSION: u32 = 1;
}

impl Snapshot for Both {
    const MANIFEST: &'static str = "both.snapshot";
    const VERSION: u32 = 2;

    fn upcasters() -> StateUpcasters<Self> {
        StateUpcasters::new()
    }
}

#[test]
fn a_schema_is_made_once_for_each_role_of_a_type() {
    let (first, second) = (of_event::<Both>().unwrap(), of_event::<Both>().unwrap());
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(&**first.manifest().text(), "both.event:v1");
    for _ in 0..2 {
        let error = of_snapshot::<Both>().err().unwrap().to_string();
        assert!(
            error.contains("nothing reads version 1 of \"both.snapshot\""),
            "{error}"
        );
    }
    let (id, payload) = (
        PersistenceId::of("Test", "1"),
        Payload::new(2, "both.snapshot:v2", "null"),
    );
    let serializers = Serializers::default();
    let read = read_snapshot::<Both>(serializers.stored(&payload, Place::of_snapshot(&id, 1)));
    assert!(matches!(read, Err(DecodeError::Upcasters(_))));
}
