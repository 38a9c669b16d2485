//! A bug: the changes that make it, and who has to find it.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use crate::tree::Tree;

/// The folder of the lists of bugs.
pub(crate) const LISTS: &str = "crates/torture/planted";
/// Stands in a replacement for whether its bug is awake.
pub(super) const IS_AWAKE: &str = "PLANTED";

/// A bug, and who is expected to find it.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Entry")]
pub(crate) struct Bug {
    pub(crate) name: String,
    /// The name of the list that has it, without its ending.
    pub(super) list: String,
    /// The promise that it breaks.
    pub(super) breaks: String,
    pub(super) hunter: Hunter,
    /// The changes that make the bug; all of them or none.
    pub(crate) changes: Vec<Change>,
}

/// The hunter of a bug: it has to find it.
#[derive(Debug)]
pub(super) enum Hunter {
    Kind(Kind),
    /// Each of them fails while the bug is awake.
    Tests(Vec<Test>),
}

/// A kind of torture on a backend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Kind {
    pub(super) name: String,
    pub(super) backend: String,
}

/// A test by its name.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    pub(super) package: String,
    /// The file in the folder `tests`; `lib` for unit tests.
    pub(super) program: String,
    /// The path of the test, as its program prints it; one that ends in `::` is a module, of which one test has to fail.
    pub(super) name: String,
}

/// A text that stands once in a file, and another one in its place; [`IS_AWAKE`] in it says whether the bug is awake.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// The path of the file, from the root of the workspace.
    pub(crate) file: String,
    pub(crate) find: String,
    pub(super) replace: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(rename = "bug", default)]
    bugs: Vec<Bug>,
}

/// A bug as it stands in a list: with `kind` and `backend`, or with `tests`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    breaks: String,
    kind: Option<String>,
    backend: Option<String>,
    #[serde(default)]
    tests: Vec<Test>,
    #[serde(rename = "change", default)]
    changes: Vec<Change>,
}

impl TryFrom<Entry> for Bug {
    type Error = anyhow::Error;

    fn try_from(entry: Entry) -> anyhow::Result<Self> {
        let Entry {
            name,
            breaks,
            kind,
            backend,
            tests,
            changes,
        } = entry;
        let hunter = match (kind, backend, tests) {
            (Some(name), Some(backend), tests) if tests.is_empty() => {
                Hunter::Kind(Kind { name, backend })
            }
            (None, None, tests) if !tests.is_empty() => Hunter::Tests(tests),
            _ => bail!("'{name}' needs either a kind and a backend, or tests"),
        };
        let is_switched = changes.iter().all(|one| one.replace.contains(IS_AWAKE));
        ensure!(
            is_switched && !changes.is_empty(),
            "'{name}' has a change without {IS_AWAKE}, or none: it would always be awake"
        );
        Ok(Self {
            name,
            list: String::new(),
            breaks,
            hunter,
            changes,
        })
    }
}

impl Test {
    pub(super) fn is_module(&self) -> bool {
        self.name.ends_with("::")
    }
}

impl Hunter {
    pub(super) fn kind(&self) -> Option<&Kind> {
        match self {
            Self::Kind(kind) => Some(kind),
            Self::Tests(_) => None,
        }
    }

    pub(super) fn tests(&self) -> &[Test] {
        match self {
            Self::Kind(_) => &[],
            Self::Tests(tests) => tests,
        }
    }
}

impl fmt::Display for Hunter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => kind.fmt(f),
            Self::Tests(tests) => {
                let names: Vec<_> = tests.iter().map(Test::to_string).collect();
                f.write_str(&names.join(", "))
            }
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` on {}", self.name, self.backend)
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let package = self.package.trim_start_matches("actix-persistence-");
        write!(f, "{package} {}", self.name)
    }
}

/// Reads all lists; a bug has one name in all of them.
pub(crate) fn read_all(tree: &Tree) -> anyhow::Result<Vec<Bug>> {
    let mut bugs = Vec::new();
    for file in tree.below(LISTS) {
        let list: List = toml::from_str(&file.text).with_context(|| file.path.clone())?;
        let name = file.path.trim_start_matches(LISTS).trim_matches('/');
        let name = name.trim_end_matches(".toml");
        bugs.extend(list.bugs.into_iter().map(|bug| Bug {
            list: name.to_owned(),
            ..bug
        }));
    }
    let mut names = BTreeSet::new();
    for bug in &bugs {
        ensure!(
            names.insert(&bug.name),
            "{LISTS}: two bugs are called '{}'",
            bug.name
        );
    }
    Ok(bugs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "[[bug]]\nname = \"a\"\nbreaks = \"b\"\n";
    const KIND: &str = "kind = \"fight\"\nbackend = \"sqlite\"\n";
    const TESTS: &str = "tests = [{ package = \"p\", program = \"it\", name = \"t\" }]\n";
    const CHANGE: &str =
        "[[bug.change]]\nfile = \"a.rs\"\nfind = \"x\"\nreplace = \"PLANTED || x\"\n";

    fn read(lists: &[&str]) -> anyhow::Result<Vec<Bug>> {
        let paths: Vec<_> = (0..lists.len())
            .map(|number| format!("{LISTS}/{number}.toml"))
            .collect();
        let files = paths.iter().map(String::as_str).zip(lists.iter().copied());
        read_all(&Tree::of(&files.collect::<Vec<_>>()))
    }

    #[test]
    fn a_bug_is_hunted_by_a_kind_or_by_tests() {
        let list = |hunters: &str| format!("{HEAD}{hunters}{CHANGE}");
        assert!(matches!(
            read(&[&list(KIND)]).unwrap()[0].hunter,
            Hunter::Kind(_)
        ));
        assert!(matches!(
            read(&[&list(TESTS)]).unwrap()[0].hunter,
            Hunter::Tests(_)
        ));
        for hunters in ["", "kind = \"fight\"\n", &format!("{KIND}{TESTS}")] {
            assert!(read(&[&list(hunters)]).is_err(), "{hunters}");
        }
    }

    #[test]
    fn a_bug_that_would_always_be_awake_is_refused() {
        let always = CHANGE.replace("PLANTED", "true");
        assert!(read(&[&format!("{HEAD}{KIND}{always}")]).is_err());
        assert!(read(&[&format!("{HEAD}{KIND}")]).is_err());
    }

    #[test]
    fn two_bugs_of_one_name_are_refused_in_two_lists_too() {
        let one = format!("{HEAD}{KIND}{CHANGE}");
        assert!(read(&[&format!("{one}{one}")]).is_err());
        assert!(read(&[&one, &one]).is_err());
    }
}
