//! The names and the version under which a type is stored.

use std::sync::Arc;

use actix_persistence_storage_api::MAX_TEXT_BYTES;

use super::{DecodeError, FromPayload};
use crate::{Event, Snapshot};

/// Returns a stored manifest as errors show it: cut where it is longer than any that is ever stored.
pub(crate) fn shown(stored: &str) -> String {
    const MOST: usize = 255;
    match stored.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &stored[..end]),
        None => stored.to_owned(),
    }
}

/// Returns the name and the version of a stored manifest; version 0 if it has none.
fn split(stored: &str) -> (&str, u32) {
    let parts = stored.rsplit_once(":v");
    parts
        .and_then(|(name, version)| Some((name, version.parse().ok()?)))
        .unwrap_or((stored, 0))
}

/// The manifests `NAME:vVERSION` of a type, built once per actor and shared by all its payloads.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    /// The name of the type.
    name: &'static str,
    text: Arc<str>,
    /// The other names of its values.
    others: Vec<(&'static str, Arc<str>)>,
    version: u32,
}

/// Refuses, while the program is compiled, a type under whose name no store could store anything.
///
/// # Panics
/// If a name and the version do not fit into [`MAX_TEXT_BYTES`], or a name holds NUL.
pub(crate) const fn check_manifests<T: FromPayload>(name: &str, version: u32) {
    check_manifest(name, version);
    let mut at = 0;
    while at < T::MANIFESTS.len() {
        check_manifest(T::MANIFESTS[at], version);
        at += 1;
    }
}

const fn check_manifest(name: &str, version: u32) {
    let digits = match version.checked_ilog10() {
        Some(log) => log as usize + 1,
        None => 1,
    };
    assert!(
        name.len() + ":v".len() + digits <= MAX_TEXT_BYTES,
        "MANIFEST is too long: with ':v' and the version it must have at most 255 bytes"
    );
    let mut at = 0;
    while at < name.len() {
        assert!(name.as_bytes()[at] != 0, "MANIFEST must not hold NUL");
        at += 1;
    }
}

impl Manifest {
    /// Returns the manifests of an event, or of a state; a type under which nothing can be stored does not compile.
    pub(crate) fn of_event<E: Event>() -> Self {
        const { check_manifests::<E>(E::MANIFEST, E::VERSION) };
        Self::new(E::MANIFEST, E::MANIFESTS, E::VERSION)
    }

    /// Returns the manifests of a snapshot, as [`of_event`](Self::of_event).
    pub(crate) fn of_snapshot<S: Snapshot>() -> Self {
        const { check_manifests::<S>(S::MANIFEST, S::VERSION) };
        Self::new(S::MANIFEST, S::MANIFESTS, S::VERSION)
    }

    pub(super) fn new(name: &'static str, others: &[&'static str], version: u32) -> Self {
        let text = |name: &str| format!("{name}:v{version}").into();
        Self {
            name,
            text: text(name),
            others: others.iter().map(|name| (*name, text(name))).collect(),
            version,
        }
    }

    /// Returns the manifest of values that choose none.
    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the manifest of values that choose this name; `None` if it is none of the type's.
    pub(super) fn text_of(&self, name: &str) -> Option<&Arc<str>> {
        if name == self.name {
            return Some(&self.text);
        }
        let found = self.others.iter().find(|(other, _)| *other == name);
        found.map(|(_, text)| text)
    }

    /// Returns what is read, for messages.
    pub(super) fn expected(&self) -> String {
        let others = self.others.iter().map(|(_, text)| &**text);
        let all: Vec<_> = [&*self.text].into_iter().chain(others).collect();
        all.join(", ")
    }

    /// Returns the name and the version of what is stored: a name of the type at its version or a lower one.
    pub(crate) fn of_stored<'a>(&self, stored: &'a str) -> Result<(&'a str, u32), DecodeError> {
        if stored == &*self.text {
            return Ok((self.name, self.version));
        }
        let (name, version) = split(stored);
        let is_known = (1..=self.version).contains(&version);
        if is_known && self.text_of(name).is_some() {
            return Ok((name, version));
        }
        Err(DecodeError::UnknownManifest {
            found: shown(stored),
            expected: self.expected(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    /// Checks at compile time, as for a type of an application, that a manifest fits.
    const _: () = check_manifest("bank.account", u32::MAX);

    #[test]
    fn a_name_that_no_store_could_store_does_not_compile() {
        let longest = "x".repeat(MAX_TEXT_BYTES - ":v1".len());
        for (name, version, is_fit) in [
            (longest.clone(), 1, true),
            (longest.clone(), 9, true),
            (longest.clone(), 10, false),
            (longest + "x", 1, false),
            ("a\0b".to_owned(), 1, false),
        ] {
            let checked = catch_unwind(|| check_manifest(&name, version));
            assert_eq!(checked.is_ok(), is_fit, "{name:?} {version}");
            let text = format!("{name}:v{version}");
            let fits = text.len() <= MAX_TEXT_BYTES && !text.contains('\0');
            assert_eq!(fits, is_fit, "{name:?} {version}");
        }
    }
}
