//! Every encoded value is decoded to an equal value.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{LIMIT, decode, try_encode};
use crate::HARD_PAYLOAD_LIMIT;
use crate::serializer::guarded::Rules;
use crate::serializer::{EncodeError, Serializer, built_in, message_pack_scan};

fn rules(serializer: Serializer) -> Rules {
    match serializer {
        Serializer::Json => built_in::JSON,
        _ => built_in::MESSAGE_PACK,
    }
}

const BOTH: [Serializer; 2] = [Serializer::MessagePack, Serializer::Json];

/// A value of every shape that types have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Tree {
    Unit,
    Flag(bool),
    Signed(i64),
    Unsigned(u64),
    Wide(i128),
    Single(Single),
    Double(Double),
    Letter(char),
    Text(String),
    Bytes(Vec<u8>),
    Maybe(Option<Box<Tree>>),
    Pair(Box<Tree>, Box<Tree>),
    Named { left: Box<Tree>, more: Option<u8> },
    Inner(Inner),
    List(Vec<Tree>),
    Map(BTreeMap<String, Tree>),
    Numbered(BTreeMap<i32, Tree>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Inner {
    tuple: (u8, Vec<Tree>),
    newtype: Newtype,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Newtype(Option<Box<Tree>>);

/// Equal if every bit is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Double(f64);

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Single(f32);

impl PartialEq for Double {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl PartialEq for Single {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Tree {
    fn all_floats_are_finite(&self) -> bool {
        let finite = Self::all_floats_are_finite;
        match self {
            Tree::Single(value) => value.0.is_finite(),
            Tree::Double(value) => value.0.is_finite(),
            Tree::Maybe(inner) => inner.iter().all(|tree| finite(tree)),
            Tree::Pair(one, other) => finite(one) && finite(other),
            Tree::Named { left, .. } => finite(left),
            Tree::Inner(inner) => {
                inner.tuple.1.iter().all(finite) && inner.newtype.0.iter().all(|tree| finite(tree))
            }
            Tree::List(list) => list.iter().all(finite),
            Tree::Map(map) => map.values().all(finite),
            Tree::Numbered(map) => map.values().all(finite),
            _ => true,
        }
    }

    /// Returns the depth of the nested brackets in its JSON; its texts have none.
    fn depth(&self) -> usize {
        let json = serde_json::to_vec(self).unwrap();
        let (mut depth, mut deepest) = (0_usize, 0);
        for byte in json {
            match byte {
                b'[' | b'{' => depth += 1,
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            deepest = deepest.max(depth);
        }
        deepest
    }

    fn within(self, levels: usize) -> Self {
        (0..levels).fold(self, |tree, level| match level % 4 {
            0 => Tree::Maybe(Some(Box::new(tree))),
            1 => Tree::List(vec![Tree::Unit, tree]),
            2 => Tree::Pair(Box::new(tree), Box::new(Tree::Unit)),
            _ => Tree::Numbered(BTreeMap::from([(-7, tree)])),
        })
    }
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Unit),
        any::<bool>().prop_map(Tree::Flag),
        any::<i64>().prop_map(Tree::Signed),
        any::<u64>().prop_map(Tree::Unsigned),
        any::<i128>().prop_map(Tree::Wide),
        any::<u32>().prop_map(|bits| Tree::Single(Single(f32::from_bits(bits)))),
        any::<u64>().prop_map(|bits| Tree::Double(Double(f64::from_bits(bits)))),
        any::<f64>().prop_map(|value| Tree::Double(Double(value))),
        "[^\\[\\]{}]{0,1}".prop_map(|text| Tree::Letter(text.chars().next().unwrap_or('\0'))),
        "[^\\[\\]{}]{0,40}".prop_map(Tree::Text),
        any::<Vec<u8>>().prop_map(Tree::Bytes),
        Just(Tree::Maybe(None)),
    ];
    let nested = leaf.prop_recursive(5, 40, 4, |inner| {
        let list = || proptest::collection::vec(inner.clone(), 0..4);
        let boxed = || inner.clone().prop_map(Box::new);
        prop_oneof![
            boxed().prop_map(|tree| Tree::Maybe(Some(tree))),
            (boxed(), boxed()).prop_map(|(one, other)| Tree::Pair(one, other)),
            (boxed(), any::<Option<u8>>()).prop_map(|(left, more)| Tree::Named { left, more }),
            (any::<u8>(), list(), proptest::option::of(boxed())).prop_map(|(n, list, newtype)| {
                Tree::Inner(Inner {
                    tuple: (n, list),
                    newtype: Newtype(newtype),
                })
            }),
            list().prop_map(Tree::List),
            proptest::collection::btree_map("[a-z\"\\\\]{0,3}", inner.clone(), 0..4)
                .prop_map(Tree::Map),
            proptest::collection::btree_map(any::<i32>(), inner, 0..4).prop_map(Tree::Numbered),
        ]
    });
    (nested, 0_usize..90).prop_map(|(tree, levels)| tree.within(levels))
}

fn encodes_and_decodes<T>(serializer: Serializer, value: &T, limit: usize) -> bool
where
    T: Serialize + DeserializeOwned + PartialEq,
{
    match try_encode(serializer, value, limit) {
        Ok(payload) => {
            let decoded: T = decode(&payload).unwrap();
            assert!(decoded == *value, "{serializer:?} returns another value");
            true
        }
        Err(error) => {
            assert!(matches!(error, EncodeError::Serializer { .. }), "{error}");
            false
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn whatever_is_encoded_is_decoded_to_an_equal_value(tree in tree()) {
        let depth = tree.depth();
        for serializer in BOTH {
            let rules = rules(serializer);
            let may_be = depth <= rules.levels && (!rules.finite || tree.all_floats_are_finite());
            prop_assert_eq!(encodes_and_decodes(serializer, &tree, LIMIT), may_be, "{:?} {}", serializer, depth);
        }
    }

    #[test]
    fn every_finite_float_is_read_as_it_was_written(bits: u64, single: u32) {
        let (double, single) = (f64::from_bits(bits), f32::from_bits(single));
        for serializer in BOTH {
            let finite = serializer == Serializer::MessagePack;
            prop_assert_eq!(encodes_and_decodes(serializer, &Double(double), LIMIT), finite || double.is_finite());
            prop_assert_eq!(encodes_and_decodes(serializer, &Single(single), LIMIT), finite || single.is_finite());
        }
    }
}

/// In every shape, the deepest value that is encoded is decoded, and one level more is refused.
#[test]
fn depth_is_refused_where_decoding_would_refuse_it_and_not_before() {
    #[derive(PartialEq, Serialize, Deserialize)]
    enum Deep {
        End,
        Newtype(Box<Deep>),
        Struct { inner: Box<Deep> },
        Tuple(Box<Deep>, ()),
        List(Vec<Deep>),
    }
    type Wrap = fn(Deep) -> Deep;
    let shapes: [(Wrap, usize); 4] = [
        (|deep| Deep::Newtype(Box::new(deep)), 1),
        (
            |deep| Deep::Struct {
                inner: Box::new(deep),
            },
            2,
        ),
        (|deep| Deep::Tuple(Box::new(deep), ()), 2),
        (|deep| Deep::List(vec![deep]), 2),
    ];
    for serializer in BOTH {
        for (wrap, levels_each) in shapes {
            let most = rules(serializer).levels / levels_each;
            let deep = |times| (0..times).fold(Deep::End, |deep, _| wrap(deep));
            assert!(encodes_and_decodes(serializer, &deep(most), LIMIT));
            assert!(!encodes_and_decodes(serializer, &deep(most + 1), LIMIT));
        }
    }
}

#[test]
fn a_value_of_any_depth_is_refused_without_touching_the_stack() {
    #[derive(Serialize)]
    struct Link(Option<Box<Link>>, ());
    let mut links = Link(None, ());
    for _ in 0..1_000_000 {
        links = Link(Some(Box::new(links)), ());
    }
    for serializer in BOTH {
        let error = try_encode(serializer, &links, HARD_PAYLOAD_LIMIT);
        assert!(matches!(error, Err(EncodeError::Serializer { .. })));
    }
    // To drop it as it is would touch the stack.
    let mut next = links.0.take();
    while let Some(mut link) = next {
        next = link.0.take();
    }
}

/// A list goes through the code of a short one and the scan, which alone counts what is in it; a text through everything.
#[test]
fn a_plain_list_of_bytes_is_stored_and_read_up_to_the_hard_limit() {
    let fits = HARD_PAYLOAD_LIMIT;
    // Both have five bytes before their contents.
    let longest = fits - 5;
    let text = "x".repeat(longest);
    assert!(encodes_and_decodes(Serializer::MessagePack, &text, fits));
    let short = vec![7_u8; 1_000_000];
    assert!(encodes_and_decodes(Serializer::MessagePack, &short, fits));
    let mut bytes = vec![0xdd];
    bytes.extend(u32::try_from(longest).unwrap().to_be_bytes());
    bytes.resize(bytes.len() + longest, 7);
    assert_eq!(message_pack_scan::check(&bytes), Ok(()));
}

#[test]
fn more_lists_than_decoding_takes_are_refused_by_encoding() {
    let lists = vec![[(); 0]; 17 * 1024 * 1024];
    assert!(!encodes_and_decodes(
        Serializer::MessagePack,
        &lists,
        HARD_PAYLOAD_LIMIT
    ));
}

/// A type whose code miscounts its parts is found out before it is stored.
#[test]
fn a_list_of_another_length_than_it_says_is_refused() {
    struct Miscounted(usize);
    impl Serialize for Miscounted {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            use serde::ser::SerializeSeq;
            let mut list = serializer.serialize_seq(Some(self.0))?;
            for n in 0..3 {
                list.serialize_element(&n)?;
            }
            list.end()
        }
    }
    for (said, fits) in [(2, false), (3, true), (4, false)] {
        let encoded = try_encode(Serializer::MessagePack, &Miscounted(said), LIMIT);
        assert_eq!(encoded.is_ok(), fits, "{said}");
    }
}
