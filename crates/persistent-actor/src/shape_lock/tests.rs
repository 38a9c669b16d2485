//! The lock finds every change of a stored shape, and says what to do.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::*;
use crate::{Chain, StateUpcasters, Upcasters};

/// Declares an event type of a program, by its version and what it says of older ones.
macro_rules! event {
    ($event:ident $version:literal, $upcasters:expr) => {
        impl Event for $event {
            const MANIFEST: &'static str = "bank/paid";
            const VERSION: u32 = $version;

            fn upcasters() -> Upcasters<Self> {
                $upcasters
            }
        }
    };
}

/// The first program.
#[derive(Serialize, Deserialize)]
struct Paid1 {
    cents: u64,
}

/// A second program changes the shape without a new version.
#[derive(Serialize, Deserialize)]
struct Careless {
    amount: u64,
}

/// One more field that is left out where it is empty.
#[derive(Serialize, Deserialize)]
struct Noted {
    cents: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// A second version, as it should be.
#[derive(Serialize, Deserialize)]
struct Paid2 {
    amount: u64,
}

impl From<Paid1> for Paid2 {
    fn from(Paid1 { cents }: Paid1) -> Self {
        let amount = cents;
        Self { amount }
    }
}

/// A second version whose step is wrong.
#[derive(Serialize, Deserialize)]
struct Doubled {
    amount: u64,
}

impl From<Paid1> for Doubled {
    fn from(Paid1 { cents }: Paid1) -> Self {
        let amount = 2 * cents;
        Self { amount }
    }
}

/// A second version that takes the first one for today's.
#[derive(Serialize, Deserialize)]
struct Unchanged {
    amount: u64,
}

/// A second version that writes the first one, and loses something.
#[derive(Serialize, Deserialize)]
struct Lossy {
    cents: u64,
    hasty: bool,
}

impl From<Paid1> for Lossy {
    fn from(Paid1 { cents }: Paid1) -> Self {
        let hasty = false;
        Self { cents, hasty }
    }
}

impl From<&Lossy> for Paid1 {
    fn from(paid: &Lossy) -> Self {
        let cents = paid.cents;
        Self { cents }
    }
}

/// Decodes another value than it encodes.
#[derive(Serialize, Deserialize)]
struct Odd {
    #[serde(skip_serializing_if = "Option::is_none", default = "one")]
    cents: Option<u64>,
}

fn one() -> Option<u64> {
    Some(1)
}

event!(Paid1 1, Upcasters::new());
event!(Careless 1, Upcasters::new());
event!(Noted 1, Upcasters::new());
event!(Odd 1, Upcasters::new());
event!(Paid2 2, Upcasters::new().chain(Chain::of::<Paid1>(1)).retired("bank/seen"));
event!(Doubled 2, Upcasters::new().chain(Chain::of::<Paid1>(1)));
event!(Unchanged 2, Upcasters::new().unchanged(1));
event!(Lossy 2, Upcasters::new().chain(Chain::of::<Paid1>(1)).writes::<Paid1>(1));

/// An event of another type, which the second program has retired.
#[derive(Serialize, Deserialize)]
struct Seen;

impl Event for Seen {
    const MANIFEST: &'static str = "bank/seen";
    const VERSION: u32 = 1;
}

#[derive(Serialize, Deserialize)]
struct Balance(u64);

impl Snapshot for Balance {
    const MANIFEST: &'static str = "bank/paid";
    const VERSION: u32 = 2;

    fn upcasters() -> StateUpcasters<Self> {
        StateUpcasters::new().since(2)
    }
}

impl State for Balance {
    const MANIFEST: &'static str = "bank/balance";
    const VERSION: u32 = 1;
}

fn lock(folder: &TempDir, writes: bool) -> ShapeLock {
    ShapeLock {
        writes,
        ..ShapeLock::new(folder.path())
    }
}

/// A folder in which the first program has locked what it stores.
fn locked() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let first = lock(&folder, true).event("hundred", &Paid1 { cents: 100 });
    assert_eq!(first.findings(), [""; 0]);
    folder
}

/// Returns the one finding, with the name of the folder left out.
fn finding(folder: &TempDir, lock: ShapeLock) -> String {
    let findings = lock.findings();
    assert_eq!(findings.len(), 1, "{findings:#?}");
    findings[0].replace(&folder.path().display().to_string(), "shapes")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

const FILE: &str = "events/bank-paid.hundred.v1.json";

#[test]
fn a_missing_file_is_written_only_if_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let sample = Paid1 { cents: 100 };
    let told = finding(&folder, lock(&folder, false).event("hundred", &sample));
    let expected = "the event \"hundred\" of bank/paid:v1 has no file shapes/events/bank-paid.hundred.v1.json\n  \
                    If its shape is meant to stay as it is, run this test with SHAPE_LOCK=write, and check the file in.";
    assert_eq!(told, expected);
    assert!(files(&folder.path().join("events")).is_empty());
    let writing = lock(&folder, true).event("hundred", &sample);
    assert_eq!(writing.findings(), [""; 0]);
    let expected = r#"{
  "stored": {
    "manifest": "bank/paid:v1",
    "serializer": 1,
    "hex": "81a563656e747364",
    "shown": {
      "cents": 100
    }
  }
}
"#;
    assert_eq!(text(&folder.path().join(FILE)), expected);
    lock(&folder, false).event("hundred", &sample).check();
}

#[test]
fn a_shape_that_changes_without_a_new_version_is_found_and_its_file_kept() {
    let folder = locked();
    let before = text(&folder.path().join(FILE));
    for writes in [false, true] {
        let careless = lock(&folder, writes).event("hundred", &Careless { amount: 100 });
        let findings = careless.findings().join("\n");
        for part in [
            "the stored shape of the event \"hundred\" of bank/paid:v1 has changed, and VERSION has not",
            "v1.json: bank/paid:v1 {\"cents\":100} (81a563656e747364)",
            "today: bank/paid:v1 {\"amount\":100} (81a6616d6f756e7464)",
            "keep the file, raise VERSION to 2, say in `upcasters()` how version 1 is read",
            "today's program does not read it: messagepack could not decode the bytes: missing field `amount`",
        ] {
            assert!(findings.contains(part), "{part} in {findings}");
        }
        assert_eq!(text(&folder.path().join(FILE)), before);
    }
}

#[test]
fn a_field_that_is_left_out_where_it_is_empty_needs_no_new_version() {
    let folder = locked();
    let sample = |note: Option<&str>| Noted {
        cents: 100,
        note: note.map(str::to_owned),
    };
    let noted = lock(&folder, true)
        .event("hundred", &sample(None))
        .event("noted", &sample(Some("for Ada")));
    assert_eq!(noted.findings(), [""; 0]);
    // The first program reads both; the file says what it stores.
    let first = lock(&folder, false).event("hundred", &Paid1 { cents: 100 });
    let told = finding(&folder, first);
    assert!(
        told.starts_with(
            "shapes/events/bank-paid.noted.v1.json: today's program reads it, and stores another"
        ),
        "{told}"
    );
}

#[test]
fn files_of_older_versions_stay_and_say_as_what_they_are_read() {
    let folder = locked();
    let second = |writes| lock(&folder, writes).event("hundred", &Paid2 { amount: 100 });
    let findings = second(false).findings();
    assert_eq!(findings.len(), 2, "{findings:#?}");
    assert!(findings[0].contains("has no file"), "{findings:#?}");
    assert!(
        findings[1].contains(
            "it does not say as what bank/paid:v2 reads it: bank/paid:v2 {\"amount\":100}"
        ),
        "{findings:#?}"
    );
    assert_eq!(second(true).findings(), [""; 0]);
    let file = text(&folder.path().join(FILE));
    assert!(
        file.contains("\"hex\": \"81a563656e747364\"") && file.contains("\"read_as\""),
        "{file}"
    );
    second(false).check();
    // A step that changes afterwards.
    let doubled = lock(&folder, true).event("hundred", &Doubled { amount: 100 });
    let told = finding(&folder, doubled);
    let expected = "shapes/events/bank-paid.hundred.v1.json: it is read as another value than before\n  \
                    before: bank/paid:v2 {\"amount\":100} (81a6616d6f756e7464)\n  \
                    today: bank/paid:v2 {\"amount\":200} (81a6616d6f756e74ccc8)\n";
    assert!(told.starts_with(expected), "{told}");
}

#[test]
fn an_older_file_that_is_not_read_any_more_is_found() {
    let folder = locked();
    let unchanged = lock(&folder, true).event("hundred", &Unchanged { amount: 100 });
    let told = finding(&folder, unchanged);
    assert!(
        told.contains("v1.json: today's program does not read it"),
        "{told}"
    );
    assert!(
        told.contains("mend the type or its `upcasters()`"),
        "{told}"
    );
}

#[test]
fn a_file_under_a_name_that_no_type_has_or_had_is_found() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(lock(&folder, true).event("seen", &Seen).findings(), [""; 0]);
    let first = lock(&folder, true).event("hundred", &Paid1 { cents: 100 });
    let told = finding(&folder, first);
    assert!(
        told.contains("no type of this lock has or had the name in \"bank/seen:v1\""),
        "{told}"
    );
    let second = lock(&folder, true).event("hundred", &Paid2 { amount: 100 });
    assert_eq!(second.findings(), [""; 0]);
    let seen = text(&folder.path().join("events/bank-seen.seen.v1.json"));
    assert!(seen.contains("\"values\": []"), "{seen}");
}

/// A type of another actor that knows the name too.
#[derive(Serialize, Deserialize)]
struct Booked {
    amount: u64,
}

impl From<Paid1> for Booked {
    fn from(Paid1 { cents: amount }: Paid1) -> Self {
        Self { amount }
    }
}

impl Event for Booked {
    const MANIFEST: &'static str = "bank/booked";
    const VERSION: u32 = 1;

    fn upcasters() -> Upcasters<Self> {
        Upcasters::new().chain_of("bank/paid", Chain::of::<Paid1>(1))
    }
}

#[test]
fn a_file_is_checked_by_each_type_that_knows_its_name() {
    let folder = locked();
    let booked = |writes| lock(&folder, writes).event("booked", &Booked { amount: 1 });
    let both = |writes| booked(writes).event("hundred", &Doubled { amount: 100 });
    assert_eq!(both(true).findings(), [""; 0]);
    let file = text(&folder.path().join(FILE));
    for by in ["bank/booked:v1", "bank/paid:v2"] {
        assert!(file.contains(&format!("\"by\": \"{by}\"")), "{file}");
    }
    assert_eq!(both(false).findings(), [""; 0]);
    let wrong = booked(false).event("hundred", &Paid2 { amount: 100 });
    let told = wrong.findings().concat();
    assert!(told.contains("read as another value than before"), "{told}");
    let unread = booked(false).event("hundred", &Unchanged { amount: 100 });
    let told = unread.findings().concat();
    assert!(told.contains("today's program does not read it"), "{told}");
}

#[test]
fn an_older_form_that_is_written_must_be_read_back_as_the_same_value() {
    let folder = tempfile::tempdir().unwrap();
    let sample = |hasty| Lossy { cents: 100, hasty };
    let lossless = lock(&folder, true).event("slow", &sample(false));
    assert_eq!(lossless.findings(), [""; 0]);
    let lossy = lock(&folder, true)
        .event("slow", &sample(false))
        .event("hasty", &sample(true));
    let told = finding(&folder, lossy);
    let expected = "the event \"hasty\" of bank/paid:v2 is stored as bank/paid:v1 and read back as another value, so that \
                    its actor has another state after a restart";
    assert!(told.starts_with(expected), "{told}");
}

#[test]
fn a_value_that_is_decoded_as_another_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let odd = lock(&folder, true).event("none", &Odd { cents: None });
    let told = finding(&folder, odd);
    assert!(
        told.contains("today's program reads it, and stores another value"),
        "{told}"
    );
}

#[test]
fn kinds_serializers_and_names_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let all = |writes| {
        lock(&folder, writes)
            .with_serializer(Serializer::Json)
            .event("one", &Paid1 { cents: 1 })
            .snapshot("one", &Balance(1))
            .state("one", &Balance(1))
    };
    assert_eq!(all(true).findings(), [""; 0]);
    all(false).check();
    // A file keeps its serializer, whatever the default is later.
    let message_pack = all(false).with_serializer(Serializer::MessagePack);
    message_pack.check();
    let file = text(&folder.path().join("snapshots/bank-paid.one.v2.json"));
    assert!(
        file.contains("\"serializer\": 2") && file.contains("\"hex\": \"31\""),
        "{file}"
    );
    let twice = all(false).event("one", &Paid1 { cents: 2 });
    let told = finding(&folder, twice);
    assert!(
        told.ends_with("has the file of another sample; give it another name"),
        "{told}"
    );
}

#[test]
fn a_file_that_was_damaged_is_named() {
    for text in [
        "",
        "{}",
        r#"{"stored":{"manifest":"bank/paid:v1","serializer":1,"hex":"8"}}"#,
    ] {
        let folder = locked();
        fs::write(folder.path().join(FILE), text).unwrap();
        let lock = lock(&folder, true).event("hundred", &Paid1 { cents: 100 });
        let findings = lock.findings();
        assert!(
            !findings.is_empty() && findings.iter().all(|told| told.contains(FILE)),
            "{findings:?}"
        );
        assert_eq!(self::text(&folder.path().join(FILE)), text);
    }
}
