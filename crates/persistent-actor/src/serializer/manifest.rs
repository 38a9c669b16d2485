//! The names and the version under which a type is stored.

use std::sync::Arc;

use actix_persistence_storage_api::MAX_TEXT_BYTES;

use super::FromPayload;

/// Returns a stored manifest as errors show it: cut where it is longer than any that is ever stored.
pub(crate) fn shown(stored: &str) -> String {
    const MOST: usize = 255;
    match stored.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &stored[..end]),
        None => stored.to_owned(),
    }
}

/// Returns the name and the version of a stored manifest.
pub(crate) fn parse_manifest(stored: &str) -> Option<(&str, u32)> {
    let (name, version) = stored.rsplit_once(":v")?;
    let version = version.parse().ok().filter(|version| *version > 0)?;
    Some((name, version))
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
/// If a name and the version do not fit into [`MAX_TEXT_BYTES`], a name holds NUL, or the version is 0.
pub(crate) const fn check_manifests<T: FromPayload>(name: &str, version: u32) {
    check_manifest(name, version);
    let mut at = 0;
    while at < T::MANIFESTS.len() {
        check_manifest(T::MANIFESTS[at], version);
        at += 1;
    }
}

const fn check_manifest(name: &str, version: u32) {
    assert!(version > 0, "VERSION must be 1 or higher");
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
    pub(crate) fn new(name: &'static str, others: &[&'static str], version: u32) -> Self {
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

    /// Returns whether a value of the type can be written under this manifest by the program as it is today.
    #[cfg(feature = "shape-lock")]
    pub(crate) fn has(&self, manifest: &str) -> bool {
        let mut others = self.others.iter();
        manifest == &*self.text || others.any(|(_, text)| manifest == &**text)
    }

    /// Returns what is read, for messages.
    pub(super) fn expected(&self) -> String {
        let others = self.others.iter().map(|(_, text)| &**text);
        let all: Vec<_> = [&*self.text].into_iter().chain(others).collect();
        all.join(", ")
    }

    /// Returns the name and the version of values that choose no other name; `None` if this is not their manifest.
    pub(crate) fn parts_of(&self, manifest: &str) -> Option<(&'static str, u32)> {
        (manifest == &*self.text).then_some((self.name, self.version))
    }

    #[cfg(feature = "shape-lock")]
    pub(crate) fn version(&self) -> u32 {
        self.version
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
