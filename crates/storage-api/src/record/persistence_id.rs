//! The name under which an actor's events and snapshots are stored.

use std::fmt;
use std::sync::Arc;

use crate::slice_of;

/// The identity of a persistent actor in every store: `type|id`, compared byte by byte.
///
/// Valid ids are 1 to 255 bytes of UTF-8 without NUL, and their entity type has no `|`.
/// [`of`](Self::of) keeps whatever it is given, so that actors can name themselves without an error path;
/// starting an actor with an invalid id is refused. [`try_of`](Self::try_of) checks at once.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PersistenceId {
    text: Arc<str>,
    defect: Option<InvalidPersistenceId>,
}

/// The reason why a text is not a persistence id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPersistenceId {
    /// The id is empty or only white space, or its entity type or entity id is empty.
    #[error("a persistence id must not be empty or blank, nor any of its two parts")]
    Blank,
    /// The id has more bytes than fit.
    #[error("a persistence id has at most 255 bytes, this one has {bytes}")]
    TooLong {
        /// The length of the whole id in bytes.
        bytes: usize,
    },
    /// The id contains NUL, which cannot be stored in every database.
    #[error("a persistence id must not contain NUL")]
    Nul,
    /// `of("a|b", "c")` and `of("a", "b|c")` would be one id.
    #[error("the entity type of a persistence id must not contain '|'")]
    SeparatorInType,
}

impl PersistenceId {
    /// The longest id, in bytes of UTF-8.
    pub const MAX_BYTES: usize = 255;
    /// Stands between entity type and entity id.
    pub const SEPARATOR: char = '|';

    /// Returns the id of the entity `entity_id` of type `entity_type`, kept as given.
    pub fn of(entity_type: &str, entity_id: &str) -> Self {
        let text: Arc<str> = format!("{entity_type}{}{entity_id}", Self::SEPARATOR).into();
        let defect = if entity_type.trim().is_empty() || entity_id.trim().is_empty() {
            Some(InvalidPersistenceId::Blank)
        } else if entity_type.contains(Self::SEPARATOR) {
            Some(InvalidPersistenceId::SeparatorInType)
        } else {
            defect_of(&text)
        };
        Self { text, defect }
    }

    /// Returns what [`of`](Self::of) returns, or an error in place of a panic.
    ///
    /// # Errors
    /// [`InvalidPersistenceId`] says which rule the text breaks.
    pub fn try_of(entity_type: &str, entity_id: &str) -> Result<Self, InvalidPersistenceId> {
        let id = Self::of(entity_type, entity_id);
        id.validate().map(|()| id)
    }

    /// Makes a whole id that need not have two parts, kept as given; as Akka's `PersistenceId.ofUniqueId`.
    pub fn of_unique(text: &str) -> Self {
        Self {
            text: text.into(),
            defect: defect_of(text),
        }
    }

    /// Returns what [`of_unique`](Self::of_unique) returns, or an error in place of a panic.
    ///
    /// # Errors
    /// [`InvalidPersistenceId`] says which rule the text breaks.
    pub fn try_of_unique(text: &str) -> Result<Self, InvalidPersistenceId> {
        let id = Self::of_unique(text);
        id.validate().map(|()| id)
    }

    /// Returns whether stores take this id.
    ///
    /// # Errors
    /// [`InvalidPersistenceId`] says which rule the text breaks.
    pub fn validate(&self) -> Result<(), InvalidPersistenceId> {
        self.defect.map_or(Ok(()), Err)
    }

    /// Returns the whole id.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text before the first `|`; empty if there is none.
    pub fn entity_type(&self) -> &str {
        self.parts().map_or("", |(entity_type, _)| entity_type)
    }

    /// Returns the text after the first `|`; the whole id if there is none.
    pub fn entity_id(&self) -> &str {
        self.parts().map_or(&self.text, |(_, entity_id)| entity_id)
    }

    /// Returns the slice of this id, see [`slice_of`].
    pub fn slice(&self) -> u16 {
        slice_of(&self.text)
    }

    /// An id that no application uses, for questions whose answer does not matter.
    pub(crate) fn nobodys() -> Self {
        Self::of_unique("actix-persistence: is anybody there?")
    }

    fn parts(&self) -> Option<(&str, &str)> {
        self.text.split_once(Self::SEPARATOR)
    }
}

fn defect_of(text: &str) -> Option<InvalidPersistenceId> {
    if text.trim().is_empty() {
        Some(InvalidPersistenceId::Blank)
    } else if text.len() > PersistenceId::MAX_BYTES {
        Some(InvalidPersistenceId::TooLong { bytes: text.len() })
    } else if text.contains('\0') {
        Some(InvalidPersistenceId::Nul)
    } else {
        None
    }
}

impl fmt::Display for PersistenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for PersistenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.text, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_at_the_first_separator() {
        let id = PersistenceId::of("Account", "DE|42");
        assert_eq!(id.as_str(), "Account|DE|42");
        assert_eq!((id.entity_type(), id.entity_id()), ("Account", "DE|42"));
        let plain = PersistenceId::of_unique("user-42");
        assert_eq!((plain.entity_type(), plain.entity_id()), ("", "user-42"));
    }

    #[test]
    fn accepts_255_bytes_and_refuses_256() {
        let longest = "x".repeat(PersistenceId::MAX_BYTES);
        assert!(PersistenceId::try_of_unique(&longest).is_ok());
        assert_eq!(
            PersistenceId::try_of_unique(&(longest + "x")),
            Err(InvalidPersistenceId::TooLong { bytes: 256 })
        );
    }

    #[test]
    fn refuses_what_no_store_could_keep_apart() {
        use InvalidPersistenceId::*;
        for (entity_type, entity_id, defect) in [
            ("", "1", Blank),
            ("Account", "", Blank),
            ("Account", " \t", Blank),
            ("Acc|ount", "1", SeparatorInType),
            ("Account", "a\0b", Nul),
        ] {
            let given = PersistenceId::of(entity_type, entity_id);
            assert_eq!(given.validate(), Err(defect), "{given:?}");
            assert_eq!(PersistenceId::try_of(entity_type, entity_id), Err(defect));
        }
        assert_eq!(PersistenceId::of_unique("").validate(), Err(Blank));
    }
}
