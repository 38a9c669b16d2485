//! The trait of the state that an actor without events stores.

#[cfg(feature = "encryption")]
use std::borrow::Cow;

#[cfg(feature = "encryption")]
use crate::Shredded;
use crate::{Compression, Event, FromPayload, Serializer, StateUpcasters, ToPayload, Upcasters};

/// The state of an actor that is stored as it is now, not as the events that led to it.
///
/// The manifest is what stands in the store beside every state, so it must stay the same when the Rust type is renamed
/// or moved. Raise the version when the encoded form changes in a way that older programs cannot read: a program refuses
/// to recover from a state of a version above its own.
///
/// The stored state need not have the shape that the actor works with: `#[serde(from = "Stored", into = "Stored")]` stores
/// another type in its place. States of older versions are read as [`upcasters`](Self::upcasters) says.
///
/// ```
/// use actix_persistence_persistent_actor::{Chain, State, StateUpcasters};
/// use serde::{Deserialize, Serialize};
///
/// /// Until version 1 the text was in one piece.
/// #[derive(Deserialize)]
/// struct Post1 {
///     title: String,
///     text: String,
/// }
///
/// #[derive(Serialize, Deserialize)]
/// struct Post {
///     title: String,
///     paragraphs: Vec<String>,
/// }
///
/// impl From<Post1> for Post {
///     fn from(Post1 { title, text }: Post1) -> Self {
///         Post { title, paragraphs: text.lines().map(str::to_owned).collect() }
///     }
/// }
///
/// impl State for Post {
///     const MANIFEST: &'static str = "blog.post";
///     const VERSION: u32 = 2;
///
///     fn upcasters() -> StateUpcasters<Self> {
///         StateUpcasters::new().chain(Chain::of::<Post1>(1))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an `Event` nor a `State`",
    label = "cannot be persisted",
    note = "events: derive `Serialize` and `Deserialize`, and `impl Event` with a `MANIFEST` and a `VERSION`; the state of a `DurableState`: the same with `impl State`",
    note = "a number or a text goes into a struct of its own, as `struct Added(i64)`"
)]
pub trait State: ToPayload + FromPayload + Send + Sync + 'static {
    /// The stable name of this type in every store; not a Rust type name. As [`Event::MANIFEST`] it has at most 243 bytes.
    const MANIFEST: &'static str;
    /// The version of the encoded form, from 1.
    const VERSION: u32;
    /// The format that encodes it, if it is a type of serde; `None` leaves it to the state store's setting `serializer`.
    /// For reading, the stored state decides.
    const SERIALIZER: Option<Serializer> = None;
    /// The compression of what is stored; `None` leaves it to the setting `compression` of the state store.
    const COMPRESSION: Option<Compression> = None;

    /// Returns the data subject, such as the number of a customer, whose personal data it holds: it is encrypted with the
    /// key that the [`KeyStore`](crate::KeyStore) has for the subject. `None` stores it in plain.
    ///
    /// Only the encoded value is encrypted: not the persistence id, the manifest, tags or metadata, nor what the
    /// application stores beside it.
    #[cfg(feature = "encryption")]
    fn data_subject(&self) -> Option<Cow<'_, str>> {
        None
    }

    /// Returns what takes the place of a stored one whose key was destroyed; `None`, as unless implemented otherwise,
    /// makes the recovery fail.
    #[cfg(feature = "encryption")]
    fn shredded(what: &Shredded<'_>) -> Option<Self> {
        let _ = what;
        None
    }

    /// Returns the tags by which queries find this state; they replace those of the state before. Their order has no
    /// meaning, and a repeated tag is stored once.
    ///
    /// A state with tags is rejected if the store keeps none.
    fn tags(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the forms in which states of this type were stored before, and how each becomes today's: necessary as
    /// soon as `VERSION` is above 1. The result is kept as long as the process lives.
    fn upcasters() -> StateUpcasters<Self> {
        StateUpcasters::new()
    }
}

/// A state is, to the run loop, the event that replaces everything before it.
impl<S: State> Event for S {
    const MANIFEST: &'static str = <S as State>::MANIFEST;
    const VERSION: u32 = <S as State>::VERSION;
    const SERIALIZER: Option<Serializer> = <S as State>::SERIALIZER;
    const COMPRESSION: Option<Compression> = <S as State>::COMPRESSION;

    fn upcasters() -> Upcasters<S> {
        <S as State>::upcasters().of_events()
    }

    #[cfg(feature = "encryption")]
    fn data_subject(&self) -> Option<Cow<'_, str>> {
        State::data_subject(self)
    }

    #[cfg(feature = "encryption")]
    fn shredded(what: &Shredded<'_>) -> Option<Self> {
        <S as State>::shredded(what)
    }
}
