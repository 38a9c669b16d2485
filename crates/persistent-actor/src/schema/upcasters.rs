//! The declarations of a type about the forms in which it was stored.

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::chain::{Chain, Version};
use super::forms::Step;
use super::read::Read;
use super::versions::Versions;
use crate::serializer::Manifest;
use crate::{EncodeError, EncodedPayload, Encoder, ToPayload};

/// The forms of a type of events in which it was stored, and how each becomes today's; returned by
/// [`Event::upcasters`](crate::Event::upcasters), or as [`StateUpcasters`] for states and snapshots.
///
/// Every version below the type's `VERSION` is declared, by [`chain`](Self::chain), [`unchanged`](Self::unchanged) or
/// [`split`](Self::split), or excluded by [`since`](Self::since); versions under names that the type had before by
/// [`renamed`](Self::renamed) and [`chain_of`](Self::chain_of). A declaration with a gap, with a version twice, or with one that
/// is not below `VERSION` is refused when an actor is [started](crate::StartError::Upcasters).
///
/// A stored form that is not declared is never passed over: it makes the recovery fail, as one of a version above `VERSION`
/// does.
///
/// ```
/// use actix_persistence_persistent_actor::{Chain, Event, Upcasters};
/// use serde::{Deserialize, Serialize};
///
/// /// A payment of some cents, negative to the other side.
/// #[derive(Deserialize)]
/// struct Paid1(i64);
///
/// #[derive(Deserialize)]
/// struct Paid2 {
///     cents: i64,
/// }
///
/// /// Several payments in one event, of an earlier program.
/// #[derive(Deserialize)]
/// struct PaidAtOnce(Vec<i64>);
///
/// #[derive(Serialize, Deserialize)]
/// struct Paid {
///     cents: i64,
///     currency: String,
/// }
///
/// impl From<Paid1> for Paid2 {
///     fn from(Paid1(cents): Paid1) -> Self {
///         Self { cents }
///     }
/// }
///
/// impl From<Paid2> for Paid {
///     fn from(Paid2 { cents }: Paid2) -> Self {
///         Self { cents, currency: "EUR".to_owned() }
///     }
/// }
///
/// impl Event for Paid {
///     const MANIFEST: &'static str = "shop.paid";
///     const VERSION: u32 = 4;
///
///     fn upcasters() -> Upcasters<Self> {
///         Upcasters::new()
///             .chain(Chain::of::<Paid1>(1).then::<Paid2>(2))
///             .unchanged(3)
///             .renamed("payment", 1..=2)
///             .split("shop.paid-at-once", Chain::of::<PaidAtOnce>(1), |PaidAtOnce(all)| {
///                 all.into_iter().map(|cents| Paid2 { cents }.into())
///             })
///             .retired("shop.looked-at")
///     }
/// }
/// ```
#[must_use = "to be returned from `upcasters()`"]
pub struct Upcasters<T, K = ToMany> {
    pub(super) declared: Vec<Declared<T>>,
    pub(super) since: Vec<u32>,
    pub(super) writes: Vec<Writing<T>>,
    kind: PhantomData<fn() -> K>,
}

/// The [`Upcasters`] of states and snapshots, of which each stored one is one of today's.
pub type StateUpcasters<T> = Upcasters<T, ToOne>;

/// The kind of [`Upcasters`] that make any number of events of a stored one.
#[derive(Debug)]
pub enum ToMany {}

/// The kind of [`Upcasters`] that make one value of each stored one: of states and snapshots.
///
/// ```compile_fail,E0599
/// # use actix_persistence_persistent_actor::StateUpcasters;
/// # struct Post;
/// let upcasters: StateUpcasters<Post> = StateUpcasters::new().retired("blog.post");
/// ```
#[derive(Debug)]
pub enum ToOne {}

/// One declaration of some versions under a name.
pub(super) enum Declared<T> {
    /// Versions of the type's own name, that serde reads as today's.
    Unchanged(Versions),
    /// Versions of a chain, in its order; of the type's own name, if there is no other.
    Chain(Option<&'static str>, Vec<ChainVersion<T>>),
    /// Versions of a chain, each of which is any number of values.
    Split(&'static str, Vec<ChainVersion<T>>),
    /// Versions of another name that are as those of the own one.
    Renamed(&'static str, Versions),
    /// All versions of another name, which are read as nothing.
    Retired(&'static str),
}

/// A version of a chain, with all steps to today's form.
pub(super) struct ChainVersion<T> {
    pub(super) number: u32,
    /// The type of its own values.
    pub(super) of: TypeId,
    pub(super) step: Step<T>,
}

/// An older version that is written in the place of today's.
pub(super) struct Writing<T> {
    pub(super) version: u32,
    pub(super) of: TypeId,
    pub(super) encode: Encode<T>,
}

type Encode<T> =
    Arc<dyn Fn(&T, &Manifest, Encoder<'_>) -> Result<EncodedPayload, EncodeError> + Send + Sync>;

impl<T: 'static, K> Upcasters<T, K> {
    /// Declares nothing: for a type at version 1.
    pub fn new() -> Self {
        Self {
            declared: Vec::new(),
            since: Vec::new(),
            writes: Vec::new(),
            kind: PhantomData,
        }
    }

    /// Declares older versions, each of which becomes the next, and the last one today's: those under the `MANIFEST` of the
    /// type. Each further name among its [`MANIFESTS`](crate::FromPayload::MANIFESTS) needs its own
    /// [`chain_of`](Self::chain_of).
    pub fn chain<V: Into<T> + 'static>(self, chain: Chain<V>) -> Self {
        let versions = versions(chain.map(|last| Read::One(last.into())));
        self.with(Declared::Chain(None, versions))
    }

    /// Declares versions that were stored under another name, and became this type one by one.
    ///
    /// If they are as the versions of this type with the same numbers, [`renamed`](Self::renamed) says so in a word.
    pub fn chain_of<V: Into<T> + 'static>(self, name: &'static str, chain: Chain<V>) -> Self {
        let versions = versions(chain.map(|last| Read::One(last.into())));
        self.with(Declared::Chain(Some(name), versions))
    }

    /// Declares older versions that serde reads as it reads today's: those with other fields for which it has defaults,
    /// for example. It counts for every name of the type.
    pub fn unchanged(self, versions: impl Into<Versions>) -> Self {
        self.with(Declared::Unchanged(versions.into()))
    }

    /// Declares that the type had this name before: these versions of it are read as those of today's name with the same
    /// number, up to and including `VERSION`. What reads them sees that name, and not the one before.
    ///
    /// None of the [`MANIFESTS`](crate::FromPayload::MANIFESTS) of the type can be a name of before.
    pub fn renamed(self, name: &'static str, versions: impl Into<Versions>) -> Self {
        self.with(Declared::Renamed(name, versions.into()))
    }

    /// Declares that versions below this one are not stored: they never were, or all are deleted.
    ///
    /// One that is stored all the same makes the recovery fail.
    pub fn since(mut self, version: u32) -> Self {
        self.since.push(version);
        self
    }

    /// Stores this older version in the place of today's: for the time in which programs are still running that do not
    /// read today's, and would fail at it.
    ///
    /// The version must be one of a [`chain`](Self::chain), of the same type `W`. What is stored is read back through that
    /// chain, so the way down and up again must lead to the same value, or the actor has another state after a restart. A value that
    /// the older version cannot express is rejected: then [`TryFrom`] is implemented in the place of [`From`].
    pub fn writes<W>(mut self, version: u32) -> Self
    where
        W: ToPayload + 'static + for<'a> TryFrom<&'a T, Error: fmt::Display>,
    {
        let encode = |value: &T, manifest: &Manifest, encoder: Encoder<'_>| match W::try_from(value)
        {
            Ok(older) => older.to_payload(encoder),
            Err(reason) => Err(EncodeError::NoOlderForm {
                manifest: manifest.text().to_string(),
                reason: reason.to_string(),
            }),
        };
        self.writes.push(Writing {
            version,
            of: TypeId::of::<W>(),
            encode: Arc::new(encode),
        });
        self
    }

    fn with(mut self, declared: Declared<T>) -> Self {
        self.declared.push(declared);
        self
    }
}

fn versions<T>(chain: Chain<Read<T>>) -> Vec<ChainVersion<T>> {
    let versions = chain.versions.into_iter();
    let versions = versions.map(|Version { number, of, read }| ChainVersion {
        number,
        of,
        step: read,
    });
    versions.collect()
}

impl<T: 'static> Upcasters<T, ToMany> {
    /// Declares events that become any number of today's events, in order, or none: those of another name, or versions of
    /// the type's own, if the name is that.
    ///
    /// All of them have the sequence number and the time of the stored one. A snapshot, a delete and
    /// [`last_sequence_nr`](crate::PersistentContext::last_sequence_nr) never come between them.
    pub fn split<V, I>(
        self,
        name: &'static str,
        chain: Chain<V>,
        events: impl Fn(V) -> I + Send + Sync + 'static,
    ) -> Self
    where
        V: 'static,
        I: IntoIterator<Item = T>,
    {
        let events = Arc::new(events);
        let read = move |last| Read::Many(events(last).into_iter().collect());
        self.with(Declared::Split(name, versions(chain.map(read))))
    }

    /// Declares that the events of this name, of whatever version, have no meaning any more: they are read as nothing,
    /// and not even decoded.
    pub fn retired(self, name: &'static str) -> Self {
        self.with(Declared::Retired(name))
    }
}

impl<T: 'static> Upcasters<T, ToOne> {
    /// Returns the same as those of events.
    pub(crate) fn of_events(self) -> Upcasters<T, ToMany> {
        Upcasters {
            declared: self.declared,
            since: self.since,
            writes: self.writes,
            kind: PhantomData,
        }
    }
}

impl<T: 'static, K> Default for Upcasters<T, K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T, K> fmt::Debug for Upcasters<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upcasters")
            .field("declarations", &self.declared.len())
            .field("since", &self.since)
            .finish_non_exhaustive()
    }
}
