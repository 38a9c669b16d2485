//! The trait of the state that an actor without events stores.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Event, Serializer, StateUpcasters, Upcasters};

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
pub trait State: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The stable name of this type in every store; not a Rust type name. As [`Event::MANIFEST`] it has at most 243 bytes.
    const MANIFEST: &'static str;
    /// The version of the encoded form, from 1.
    const VERSION: u32;
    /// The serializer that encodes it; `None` leaves it to the state store's setting `serializer`. For reading, the
    /// stored state decides.
    const SERIALIZER: Option<Serializer> = None;

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

    fn upcasters() -> Upcasters<S> {
        <S as State>::upcasters().of_events()
    }
}
