//! The oldest versions that the pages name are those that the code accepts.

use crate::tree::{Tree, Violation};

/// A version that the code or a manifest holds, and that pages repeat.
struct Fact {
    /// The words before the version on a page.
    before: &'static str,
    /// The words after it, which make it the oldest version.
    after: &'static [&'static str],
    /// The file that holds it.
    source: &'static str,
    /// The text right before it in that file.
    marker: &'static str,
    /// Returns the version on pages from the text after the marker.
    read: fn(&str) -> Option<String>,
}

const OLDEST_RUST: &str = "rust-version = \"";

const OR_NEWER: &[&str] = &[" or newer", " and newer"];

const FACTS: [Fact; 8] = [
    Fact {
        before: "MariaDB ",
        after: OR_NEWER,
        source: "crates/mysql/src/connection/opening.rs",
        marker: "(\"MariaDB\", (",
        read: of_triple,
    },
    Fact {
        before: "MySQL ",
        after: OR_NEWER,
        source: "crates/mysql/src/connection/opening.rs",
        marker: "(\"MySQL\", (",
        read: of_triple,
    },
    Fact {
        before: "PostgreSQL ",
        after: OR_NEWER,
        source: "crates/postgres/src/connection/opening.rs",
        marker: "OLDEST_VERSION: i64 = ",
        read: of_postgres,
    },
    Fact {
        before: "SQLite ",
        after: OR_NEWER,
        source: "crates/sqlite/src/connection/opening.rs",
        marker: "OLDEST_SQLITE: [u32; 3] = [",
        read: of_array,
    },
    Fact {
        before: "SQLite that comes with it (",
        after: OR_NEWER,
        source: "crates/sqlite/src/connection/opening.rs",
        marker: "OLDEST_SQLITE: [u32; 3] = [",
        read: of_array,
    },
    Fact {
        before: "Rust version is ",
        after: &[""],
        source: "Cargo.toml",
        marker: OLDEST_RUST,
        read: of_text,
    },
    Fact {
        before: "`storage-api`, need ",
        after: &[""],
        source: "crates/storage-api/Cargo.toml",
        marker: OLDEST_RUST,
        read: of_text,
    },
    Fact {
        before: "`tck` needs ",
        after: &[""],
        source: "tck/Cargo.toml",
        marker: OLDEST_RUST,
        read: of_text,
    },
];

/// Records of a time, whose versions stay as they were.
const RECORDS: [&str; 2] = ["docs/adr/", "CHANGELOG.md"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for fact in &FACTS {
        let Some(source) = tree.text(fact.source) else {
            continue;
        };
        let found = source.split_once(fact.marker);
        let Some(version) = found.and_then(|(_, rest)| (fact.read)(rest)) else {
            let message = format!("holds no version after `{}`", fact.marker);
            violations.push(Violation::of(fact.source, message));
            continue;
        };
        let pages = tree.files().iter().filter(|file| {
            let is_record = RECORDS.iter().any(|record| file.path.starts_with(record));
            file.path.ends_with(".md") && !is_record
        });
        for page in pages {
            for (at, line) in page.text.lines().enumerate() {
                for named in named(fact, line).filter(|named| *named != version) {
                    let (before, source) = (fact.before, fact.source);
                    let message = format!("says {before}{named}, but {source} has {version}");
                    violations.push(Violation::at(&page.path, at + 1, message));
                }
            }
        }
    }
    violations
}

/// Returns the oldest versions that a line names.
fn named<'l>(fact: &'l Fact, line: &'l str) -> impl Iterator<Item = &'l str> {
    line.split(fact.before).skip(1).filter_map(|rest| {
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        let (version, after) = rest.split_at(end.unwrap_or(rest.len()));
        let version = version.trim_end_matches('.');
        let is_oldest = fact.after.iter().any(|words| after.starts_with(words));
        (!version.is_empty() && is_oldest).then_some(version)
    })
}

/// Reads `10, 6, 0)` as `10.6`: a last number of 0 is not written.
fn of_triple(text: &str) -> Option<String> {
    let (numbers, _) = text.split_once(')')?;
    let version = numbers.replace(", ", ".");
    Some(version.strip_suffix(".0").unwrap_or(&version).to_owned())
}

/// Reads `3, 51, 3]` as `3.51.3`.
fn of_array(text: &str) -> Option<String> {
    let (numbers, _) = text.split_once(']')?;
    Some(numbers.replace(", ", "."))
}

/// Reads `130_000;` as `13`.
fn of_postgres(text: &str) -> Option<String> {
    let (number, _) = text.split_once(';')?;
    let number: i64 = number.replace('_', "").parse().ok()?;
    Some((number / 10_000).to_string())
}

/// Reads `1.94"` as `1.94`.
fn of_text(text: &str) -> Option<String> {
    let (version, _) = text.split_once('"')?;
    Some(version.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MYSQL: (&str, &str) = (
        "crates/mysql/src/connection/opening.rs",
        "true => (\"MariaDB\", (10, 6, 0)),\nfalse => (\"MySQL\", (8, 0, 16)),\n",
    );

    fn lines(files: &[(&str, &str)]) -> Vec<String> {
        let violations = check(&Tree::of(files));
        violations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn pages_may_name_the_oldest_version_and_others_that_were_tried() {
        let page =
            "| MariaDB 10.6 or newer, tested on 10.11; MySQL 8.0.16 or newer |\nMariaDB 10.11.\n";
        assert_eq!(lines(&[MYSQL, ("README.md", page)]), [""; 0]);
    }

    #[test]
    fn a_page_with_another_oldest_version_is_found() {
        let page = "Runs on:\n\n* MariaDB 10.11 and newer\n";
        assert_eq!(
            lines(&[MYSQL, ("docs/guide/databases.md", page)]),
            ["docs/guide/databases.md:3: says MariaDB 10.11, but \
                 crates/mysql/src/connection/opening.rs has 10.6"]
        );
        assert_eq!(lines(&[MYSQL, ("docs/adr/0001-a.md", page)]), [""; 0]);
    }

    #[test]
    fn each_form_of_a_version_is_read() {
        let postgres = "const OLDEST_VERSION: i64 = 130_000;";
        let sqlite = "const OLDEST_SQLITE: [u32; 3] = [3, 51, 3];";
        let page = "PostgreSQL 12 or newer. SQLite 3.50 or newer.\n\
                    the SQLite that comes with it (3.51.2 or newer)\n\
                    The minimum supported Rust version is 1.90; crates without a database driver, such as\n\
                    `storage-api`, need 1.88, and `tck` needs 1.91.\n";
        let found = lines(&[
            ("crates/postgres/src/connection/opening.rs", postgres),
            ("crates/sqlite/src/connection/opening.rs", sqlite),
            ("Cargo.toml", "rust-version = \"1.94\"\n"),
            ("crates/storage-api/Cargo.toml", "rust-version = \"1.89\"\n"),
            ("tck/Cargo.toml", "rust-version = \"1.91\"\n"),
            ("README.md", page),
        ]);
        let expected = [
            "README.md:1: says PostgreSQL 12, ",
            "README.md:1: says SQLite 3.50, ",
            "README.md:2: says SQLite that comes with it (3.51.2, ",
            "README.md:3: says Rust version is 1.90, ",
            "README.md:4: says `storage-api`, need 1.88, ",
        ];
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn a_source_without_its_version_is_found() {
        let found = lines(&[("Cargo.toml", "[workspace]\n")]);
        assert_eq!(
            found,
            ["Cargo.toml: holds no version after `rust-version = \"`"]
        );
    }
}
