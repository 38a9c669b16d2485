//! The changes that need no new version, and those that do, as docs/guide/schema-evolution.md says, in both encodings.

use actix_persistence_persistent_actor::{State, decode_state};
use actix_persistence_storage_api::Payload;
use serde::{Deserialize, Serialize};

/// A form of one type in some program.
trait Form: State + Serialize {
    fn sample() -> Self;
}

macro_rules! forms {
    ($($kind:tt $name:ident $body:tt => $sample:expr;)*) => {
        $(
            #[derive(Serialize, Deserialize)]
            $kind $name $body

            impl State for $name {
                const MANIFEST: &'static str = "test.form";
                const VERSION: u32 = 1;
            }

            impl Form for $name {
                fn sample() -> Self {
                    $sample
                }
            }
        )*
    };
}

#[derive(Serialize, Deserialize)]
struct Number(u32);

#[derive(Serialize, Deserialize)]
struct LongNumber(u64);

#[derive(Serialize, Deserialize)]
struct NamedNumber {
    number: u32,
}

#[derive(Serialize, Deserialize)]
struct Pair(u8, u8);

#[derive(Serialize, Deserialize)]
struct Triple(u8, u8, #[serde(default)] u8);

#[derive(Serialize, Deserialize)]
struct Turned(u8, String);

forms! {
    struct Plain { id: u8, cents: u32 } => Plain { id: 1, cents: 7 };
    struct WithDefault { id: u8, cents: u32, #[serde(default)] note: String } => WithDefault {
        id: 1,
        cents: 7,
        note: "n".to_owned(),
    };
    struct WithOption { id: u8, cents: u32, note: Option<String> } => WithOption {
        id: 1,
        cents: 7,
        note: Some("n".to_owned()),
    };
    struct WithMore { id: u8, cents: u32, note: String } => WithMore {
        id: 1,
        cents: 7,
        note: "n".to_owned(),
    };
    struct Less { id: u8 } => Less { id: 1 };
    struct Alias { id: u8, #[serde(alias = "cents")] amount: u32 } => Alias { id: 1, amount: 7 };
    struct Rename { id: u8, #[serde(rename = "cents")] amount: u32 } => Rename { id: 1, amount: 7 };
    struct Careless { id: u8, amount: u32 } => Careless { id: 1, amount: 7 };
    struct Swapped { cents: u32, id: u8 } => Swapped { id: 1, cents: 7 };
    struct AsText { id: u8, cents: String } => AsText { id: 1, cents: "7".to_owned() };
    struct Wider { id: u8, cents: u64 } => Wider { id: 1, cents: 7 };

    enum Two { Opened, Paid { cents: u32 } } => Two::Paid { cents: 7 };
    enum TwoSwapped { Paid { cents: u32 }, Opened } => TwoSwapped::Paid { cents: 7 };
    enum Three { Opened, Paid { cents: u32 }, Closed(u8) } => Three::Closed(1);
    enum AliasVariant { #[serde(alias = "Paid")] Booked { cents: u32 } } => AliasVariant::Booked { cents: 7 };
    enum One { Opened } => One::Opened;

    struct OfNewtype { value: Number } => OfNewtype { value: Number(7) };
    struct OfLonger { value: LongNumber } => OfLonger { value: LongNumber(7) };
    struct OfNamed { value: NamedNumber } => OfNamed { value: NamedNumber { number: 7 } };
    struct OfPair { value: Pair } => OfPair { value: Pair(1, 2) };
    struct OfTriple { value: Triple } => OfTriple { value: Triple(1, 2, 3) };
    struct OfTurned { value: Turned } => OfTurned { value: Turned(1, "2".to_owned()) };
}

/// Returns whether a program whose type is `S` reads what another one stored.
fn reads<S: State>(stored: &impl Serialize) -> bool {
    let message_pack = rmp_serde::to_vec_named(stored).unwrap();
    let json = serde_json::to_vec(stored).unwrap();
    let read = [(1, message_pack), (2, json)]
        .map(|(serializer, bytes)| Payload::new(serializer, "test.form:v1", bytes))
        .map(|payload| decode_state::<S>(&payload).is_ok());
    assert_eq!(read[0], read[1], "the encodings are not alike");
    read[0]
}

/// Returns whether today's program reads what is stored, and whether one of before reads what today's stores.
fn change<Before: Form, After: Form>() -> (bool, bool) {
    (
        reads::<After>(&Before::sample()),
        reads::<Before>(&After::sample()),
    )
}

#[test]
fn what_needs_no_new_version_is_read() {
    for (what, change, expected) in [
        (
            "a field with a default",
            change::<Plain, WithDefault>(),
            (true, true),
        ),
        (
            "an optional field",
            change::<Plain, WithOption>(),
            (true, true),
        ),
        ("a removed field", change::<Plain, Less>(), (true, false)),
        (
            "a removed field that had a default",
            change::<WithDefault, Plain>(),
            (true, true),
        ),
        (
            "another name with an alias",
            change::<Plain, Alias>(),
            (true, false),
        ),
        (
            "another name for the stored one",
            change::<Plain, Rename>(),
            (true, true),
        ),
        (
            "fields that change places",
            change::<Plain, Swapped>(),
            (true, true),
        ),
        (
            "variants that change places",
            change::<Two, TwoSwapped>(),
            (true, true),
        ),
        ("a new variant", change::<Two, Three>(), (true, false)),
        (
            "a variant with an alias",
            change::<Two, AliasVariant>(),
            (true, false),
        ),
        ("a wider number", change::<Plain, Wider>(), (true, true)),
        (
            "a wider number in a newtype",
            change::<OfNewtype, OfLonger>(),
            (true, true),
        ),
    ] {
        assert_eq!(change, expected, "{what}");
    }
    assert!(reads::<OfTriple>(&OfPair::sample()), "a part at the end");
}

#[test]
fn what_needs_a_new_version_is_refused() {
    for (what, change) in [
        ("a field without a default", change::<Plain, WithMore>()),
        ("another name without an alias", change::<Plain, Careless>()),
        ("another type", change::<Plain, AsText>()),
        (
            "a newtype that becomes a struct",
            change::<OfNewtype, OfNamed>(),
        ),
        ("a removed variant", change::<Two, One>()),
        ("another type in a tuple", change::<OfPair, OfTurned>()),
    ] {
        assert!(!change.0, "{what}");
    }
}
