//! The trait of the state that an actor without events stores.

use crate::{DecodeError, Event, FromPayload, Serializer, StoredState, ToPayload};

/// The state of an actor that is stored as it is now, not as the events that led to it.
///
/// The manifest is what stands in the store beside every state, so it must stay the same when the Rust type is renamed
/// or moved. Raise the version when the encoded form changes in a way that older programs cannot read: a program refuses
/// to recover from a state of a version above its own.
///
/// The stored state need not have the shape that the actor works with: `#[serde(from = "Stored", into = "Stored")]` stores
/// another type in its place. States of older versions are decoded by serde unless [`from_stored`](Self::from_stored)
/// reads them in another way.
///
/// ```
/// use actix_persistence_persistent_actor::{DecodeError, State, StoredState};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Post {
///     title: String,
///     paragraphs: Vec<String>,
/// }
///
/// impl State for Post {
///     const MANIFEST: &'static str = "blog.post";
///     const VERSION: u32 = 2;
///
///     fn from_stored(stored: StoredState<'_>) -> Result<Self, DecodeError> {
///         /// Until version 1 the text was in one piece.
///         #[derive(Deserialize)]
///         struct Post1 {
///             title: String,
///             text: String,
///         }
///         if stored.version() > 1 {
///             return stored.decode();
///         }
///         let Post1 { title, text } = stored.decode()?;
///         Ok(Post { title, paragraphs: text.lines().map(str::to_owned).collect() })
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

    /// Returns the tags by which queries find this state; they replace those of the state before. Their order has no
    /// meaning, and a repeated tag is stored once.
    ///
    /// A state with tags is rejected if the store keeps none.
    fn tags(&self) -> Vec<String> {
        Vec::new()
    }

    /// Makes the state from its stored form; called for every stored state of this name, up to this version.
    ///
    /// # Errors
    /// A [`DecodeError`] makes the recovery fail; [`StoredState::refuse`] returns one.
    fn from_stored(stored: StoredState<'_>) -> Result<Self, DecodeError> {
        stored.decode()
    }
}

/// A state is, to the run loop, the event that replaces everything before it.
impl<S: State> Event for S {
    const MANIFEST: &'static str = <S as State>::MANIFEST;
    const VERSION: u32 = <S as State>::VERSION;
    const SERIALIZER: Option<Serializer> = <S as State>::SERIALIZER;
}
