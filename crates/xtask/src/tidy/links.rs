//! Links work where the pages are read: on docs.rs, in the book, and in the repository.
//!
//! The README is the documentation of the facade, and the guide is a book: a relative link that leaves their folder
//! is dead there, so it names the repository. Such a link must lead to a file or folder that exists.

use crate::tree::{Tree, Violation};

/// The pages of the repository, as the manifest names it.
const REPOSITORY: &str = "https://github.com/actix-persistence/actix-persistence/blob/main/";
/// The page that docs.rs shows for the facade.
const README: &str = "README.md";
/// The folder of the book.
const BOOK: &str = "docs/guide/";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for page in tree
        .files()
        .iter()
        .filter(|file| file.path.ends_with(".md"))
    {
        for (at, line) in page.text.lines().enumerate() {
            let mistakes = targets(line).filter_map(|target| mistake(tree, &page.path, target));
            violations.extend(mistakes.map(|text| Violation::at(&page.path, at + 1, text)));
        }
    }
    violations
}

/// Returns the targets of the links in a line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let after = line
        .match_indices("](")
        .map(|(at, found)| &line[at + found.len()..]);
    after.filter_map(|rest| rest.split(')').next())
}

fn mistake(tree: &Tree, page: &str, target: &str) -> Option<String> {
    if let Some(path) = target.strip_prefix(REPOSITORY) {
        let path = path.split('#').next().unwrap_or(path);
        return (!exists(tree, path)).then(|| format!("links to {path}, which does not exist"));
    }
    let is_relative = !target.contains("://") && !target.starts_with('#');
    let leaves =
        (page == README && is_relative) || (page.starts_with(BOOK) && target.starts_with("../"));
    leaves
        .then(|| format!("`{target}` is dead where this page is read, begin it with {REPOSITORY}"))
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
}
