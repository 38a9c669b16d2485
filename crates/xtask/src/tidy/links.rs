//! Links work where the pages are read: on docs.rs, in a registry, in the book, and in the repository.
//!
//! The README of a published crate is its documentation and its page in a registry: every link in it is absolute, for a
//! relative one is dead there, and a path of Rust means something to docs.rs alone. The guide is a book: a relative link
//! stays in it. A link that names the repository must lead to a file or folder that exists.

use std::collections::BTreeSet;

use super::published;
use crate::tree::{Tree, Violation};

/// The pages of the repository, as the manifest names it.
const REPOSITORY: &str = "https://github.com/actix-persistence/actix-persistence/blob/main/";
/// The page of the facade, and the name of that of any other crate.
const README: &str = "README.md";
/// The folder of the book.
const BOOK: &str = "docs/guide/";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let readmes = published_readmes(tree);
    let mut violations = Vec::new();
    for page in tree
        .files()
        .iter()
        .filter(|file| file.path.ends_with(".md"))
    {
        for (at, line) in page.text.lines().enumerate() {
            let is_readme = readmes.contains(&page.path);
            let mistakes =
                targets(line).filter_map(|target| mistake(tree, &page.path, is_readme, target));
            violations.extend(mistakes.map(|text| Violation::at(&page.path, at + 1, text)));
        }
    }
    violations
}

/// Returns the paths of the READMEs that are read outside of the repository.
fn published_readmes(tree: &Tree) -> BTreeSet<String> {
    let mut folders = tree.crate_folders();
    folders.retain(|folder| published::manifest(tree, folder).is_some());
    let readmes = folders.iter().map(|folder| format!("{folder}/{README}"));
    readmes.chain([README.to_owned()]).collect()
}

/// Returns the targets of the links in a line, and of the definition that it may be, such as `[name]: target`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let after = line
        .match_indices("](")
        .map(|(at, found)| &line[at + found.len()..]);
    let defined = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "))
        .map(|(_, target)| target.trim());
    after
        .filter_map(|rest| rest.split(')').next())
        .chain(defined)
}

fn mistake(tree: &Tree, page: &str, is_readme: bool, target: &str) -> Option<String> {
    if let Some(path) = target.strip_prefix(REPOSITORY) {
        let path = path.split('#').next().unwrap_or(path);
        return (!exists(tree, path)).then(|| format!("links to {path}, which does not exist"));
    }
    let is_relative = !target.contains("://") && !target.starts_with('#');
    let leaves =
        (is_readme && is_relative) || (page.starts_with(BOOK) && target.starts_with("../"));
    let of_rust = target.contains("::");
    leaves.then(|| match of_rust {
        true => format!("`{target}` is dead outside of docs.rs, begin it with https://docs.rs/"),
        false => {
            format!("`{target}` is dead where this page is read, begin it with {REPOSITORY}")
        }
    })
}

/// Returns whether there is a file at `path`, or a folder with files.
fn exists(tree: &Tree, path: &str) -> bool {
    let folder = path.trim_end_matches('/');
    tree.text(path).is_some() || tree.below(folder).next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(page: &str, text: &str) -> Vec<String> {
        let files = [
            (page, text),
            ("docs/adr/0001-a.md", ""),
            ("docs/guide/b.md", ""),
        ];
        let violations = check(&Tree::of(&files));
        violations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_of_the_repository_lead_somewhere() {
        let good = format!("[a]({REPOSITORY}docs/adr/0001-a.md#why), [b]({REPOSITORY}docs/adr/)\n");
        assert_eq!(lines(README, &good), [""; 0]);
        let bad = format!("[a](https://docs.rs/a)\n[b]({REPOSITORY}docs/c.md)\n");
        assert_eq!(
            lines("docs/guide/a.md", &bad),
            ["docs/guide/a.md:2: links to docs/c.md, which does not exist"]
        );
    }

    #[test]
    fn relative_links_stay_in_the_folder_of_the_book() {
        assert_eq!(
            lines("docs/guide/a.md", "[b](b.md#part), [c](#below)\n"),
            [""; 0]
        );
        assert_eq!(
            lines("docs/ARCHITECTURE.md", "[b](adr/0001-a.md)\n"),
            [""; 0]
        );
        let found = lines("docs/guide/a.md", "\n[b](../adr/0001-a.md)\n");
        assert!(
            found.len() == 1 && found[0].starts_with("docs/guide/a.md:2: `../adr"),
            "{found:?}"
        );
        let found = lines(README, "[b](docs/guide/b.md)\n");
        assert!(
            found.len() == 1 && found[0].starts_with("README.md:1: `docs/guide"),
            "{found:?}"
        );
    }
    #[test]
    fn links_in_the_readme_of_a_published_crate_are_absolute() {
        let of_a_crate = |publish: &str, readme: &str| -> Vec<String> {
            let manifest = format!("[package]\nname = \"a\"\n{publish}");
            let files = [
                ("crates/a/Cargo.toml", &*manifest),
                ("crates/a/README.md", readme),
            ];
            let violations = check(&Tree::of(&files));
            violations.iter().map(ToString::to_string).collect()
        };
        let good = "[a](https://docs.rs/a), [b](#below)\n[c]: https://docs.rs/c\n";
        assert_eq!(of_a_crate("", good), [""; 0]);
        for bad in ["[a](../b/README.md)\n", "[a](On::fail)\n", "[a]: ../b\n"] {
            let found = of_a_crate("", bad);
            assert!(
                found.len() == 1 && found[0].starts_with("crates/a/README.md:1: "),
                "{bad}: {found:?}"
            );
            assert_eq!(of_a_crate("publish = false\n", bad), [""; 0]);
        }
    }
}
