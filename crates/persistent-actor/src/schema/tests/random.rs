//! Random declarations and stored versions, compared with a table that says what is read.

use std::collections::BTreeMap;

use proptest::prelude::*;

use actix_persistence_storage_api::Payload;

use super::super::*;
use super::read_payload;
use crate::Stored;

/// The way in which it was read.
#[derive(Clone, Debug, PartialEq)]
struct Seen(Vec<String>);

impl ToPayload for Seen {
    fn to_payload(&self, encoder: Encoder<'_>) -> Result<EncodedPayload, EncodeError> {
        encoder.bytes::<1_000>(&[])
    }
}

impl FromPayload for Seen {
    fn from_payload(_: &Stored<'_>) -> Result<Self, DecodeError> {
        Ok(Seen(vec!["own".to_owned()]))
    }
}

/// The declaration of one version of one name.
#[derive(Clone, Copy, Debug)]
enum How {
    Unchanged,
    /// A chain of its own.
    Alone,
    /// Continues the chain of the version before, if that is one.
    Chained,
    Split(usize),
}

const OWN: &str = "own";
const OTHERS: [&str; 3] = ["first", "second", "third"];

#[derive(Clone, Debug)]
struct Case {
    version: u32,
    since: u32,
    /// For each version from `since` on.
    own: Vec<How>,
    /// The versions that another name shares with the own.
    renamed: Option<(u32, u32)>,
    /// For the versions of another name, from one on.
    other: (u32, Vec<How>),
    retired: bool,
    /// The order in which all of this is declared.
    order: Vec<usize>,
}

fn how() -> impl Strategy<Value = How> {
    prop_oneof![
        Just(How::Unchanged),
        Just(How::Alone),
        Just(How::Chained),
        (0_usize..4).prop_map(How::Split),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    (1_u32..8).prop_flat_map(|version| {
        let own = prop::collection::vec(how(), version as usize - 1);
        let renamed = prop::option::of((1..=version, 1..=version));
        let other = (1_u32..4, prop::collection::vec(how(), 0..4));
        let order = Just((0..40).collect::<Vec<_>>()).prop_shuffle();
        (1..=version, own, renamed, other, any::<bool>(), order).prop_map(
            move |(since, own, renamed, other, retired, order)| Case {
                version,
                since,
                own: own.into_iter().skip(since as usize - 1).collect(),
                renamed: renamed
                    .map(|(one, two)| (one.min(two).max(since), one.max(two).max(since))),
                other,
                retired,
                order,
            },
        )
    })
}

/// Reads a version as its number.
fn number(stored: &Stored<'_>) -> Result<Seen, DecodeError> {
    Ok(Seen(vec![format!("step {}", stored.version())]))
}

type Declare = Box<dyn FnOnce(Upcasters<Seen>) -> Upcasters<Seen>>;
/// The expected values by name and version.
type Table = BTreeMap<(&'static str, u32), Vec<Seen>>;

/// Adds the declarations of the versions of a name, and what they mean.
fn declare(
    name: &'static str,
    from: u32,
    hows: &[How],
    declared: &mut Vec<Declare>,
    table: &mut Table,
) {
    let mut chain: Option<Chain<Seen>> = None;
    let mut finish = |chain: Option<Chain<Seen>>| {
        if let Some(chain) = chain {
            declared.push(Box::new(move |upcasters| match name {
                OWN => upcasters.chain(chain),
                _ => upcasters.chain_of(name, chain),
            }));
        }
    };
    let mut others: Vec<Declare> = Vec::new();
    for (version, how) in (from..).zip(hows) {
        let step = || vec![Seen(vec![format!("step {version}")])];
        let read = match *how {
            How::Unchanged if name == OWN => {
                others.push(Box::new(move |upcasters| upcasters.unchanged(version)));
                vec![Seen(vec!["own".to_owned()])]
            }
            How::Split(into) => {
                let split = move |seen: Seen| vec![seen; into];
                others.push(Box::new(move |upcasters| {
                    upcasters.split(name, Chain::of_with(version, number), split)
                }));
                vec![Seen(vec![format!("step {version}")]); into]
            }
            How::Chained => {
                chain = Some(match chain.take() {
                    Some(chain) => chain.then_with(version, number),
                    None => Chain::of_with(version, number),
                });
                step()
            }
            How::Alone | How::Unchanged => {
                finish(chain.take());
                chain = Some(Chain::of_with(version, number));
                step()
            }
        };
        table.insert((name, version), read);
    }
    finish(chain);
    declared.extend(others);
}

/// Returns the declarations of a case, and what is read then.
fn declarations(case: &Case) -> (Vec<Declare>, Table) {
    let (mut declared, mut table) = (Vec::<Declare>::new(), Table::new());
    declare(OWN, case.since, &case.own, &mut declared, &mut table);
    table.insert((OWN, case.version), vec![Seen(vec!["own".to_owned()])]);
    let (from, hows) = &case.other;
    declare(OTHERS[0], *from, hows, &mut declared, &mut table);
    if let Some((first, last)) = case.renamed {
        declared.push(Box::new(move |upcasters| {
            upcasters.renamed(OTHERS[1], first..=last)
        }));
        for version in first..=last {
            table.insert((OTHERS[1], version), table[&(OWN, version)].clone());
        }
    }
    if case.retired {
        declared.push(Box::new(|upcasters| upcasters.retired(OTHERS[2])));
        (1..12).for_each(|version| drop(table.insert((OTHERS[2], version), Vec::new())));
    }
    if case.since > 1 {
        let since = case.since;
        declared.push(Box::new(move |upcasters| upcasters.since(since)));
    }
    let mut keyed: Vec<_> = case.order.iter().zip(declared).collect();
    keyed.sort_by_key(|(key, _)| **key);
    (keyed.into_iter().map(|(_, one)| one).collect(), table)
}

fn schema(version: u32, declared: Vec<Declare>) -> Result<Schema<Seen>, InvalidUpcasters> {
    let none = Upcasters::new();
    let upcasters = declared
        .into_iter()
        .fold(none, |upcasters, declare| declare(upcasters));
    Schema::new(OWN, version, upcasters)
}

proptest! {
    #[test]
    fn exactly_what_is_declared_is_read_in_whatever_order_it_is_declared(case in case()) {
        let (declared, table) = declarations(&case);
        let schema = schema(case.version, declared).unwrap();
        for name in [OWN].into_iter().chain(OTHERS) {
            for version in 0..12 {
                let payload = Payload::new(2, format!("{name}:v{version}"), "");
                let read = read_payload(&schema, &payload);
                let expected = table.get(&(name, version));
                match (expected, read) {
                    (Some(expected), Ok(read)) => prop_assert_eq!(expected, read.as_slice()),
                    (None, Err(DecodeError::NewerVersion { .. })) => {
                        prop_assert!(name == OWN && version > case.version);
                    }
                    (None, Err(DecodeError::MissingStep { .. })) => {
                        prop_assert!(table.keys().any(|(known, _)| *known == name));
                    }
                    (None, Err(DecodeError::UnknownManifest { .. })) => {
                        prop_assert!(version == 0 || table.keys().all(|(known, _)| *known != name));
                    }
                    (expected, read) => prop_assert!(false, "{name}:v{version}: {expected:?}, not {read:?}"),
                }
            }
        }
    }

    #[test]
    fn a_declaration_that_is_left_out_or_repeated_is_found(case in case(), at: prop::sample::Index) {
        let whole = declarations(&case).0.len();
        prop_assume!(whole > 0);
        let at = at.index(whole);
        // Of the own versions each is needed.
        let without = declarations(&Case { renamed: None, retired: false, other: (1, Vec::new()), ..case.clone() });
        let mut declared = without.0;
        if !declared.is_empty() {
            drop(declared.remove(at % declared.len()));
            prop_assert!(schema(case.version, declared).is_err(), "one is left out");
        }
        let mut twice = declarations(&case).0;
        twice.push(declarations(&case).0.swap_remove(at));
        prop_assert!(schema(case.version, twice).is_err(), "one is there twice");
    }
}
