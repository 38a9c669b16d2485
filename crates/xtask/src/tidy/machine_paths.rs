//! The rule that no file shows where it was written.

use crate::tree::{Tree, Violation};

/// The folders in which people and machines keep their own things.
const PRIVATE_FOLDERS: [&str; 4] = ["root", "home", "work", "Users"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files() {
        for (at, line) in file.text.lines().enumerate() {
            if let Some(path) = private_path(line) {
                let message = format!("`{path}` is the path of one machine, write a relative one");
                violations.push(Violation::at(&file.path, at + 1, message));
            }
        }
    }
    violations
}

/// Returns an absolute path into a private folder.
fn private_path(line: &str) -> Option<&str> {
    let mut slashes = line.match_indices('/').map(|(at, _)| at);
    let start = slashes.find(|start| {
        let starts_here = !line[..*start].ends_with(ends_a_part);
        let mut parts = line[start + 1..].split('/');
        let folder = parts.next().unwrap_or_default();
        starts_here && parts.next().is_some() && PRIVATE_FOLDERS.contains(&folder)
    })?;
    let rest = &line[start..];
    let end = rest.find(|c: char| !(c.is_alphanumeric() || "._-/".contains(c)));
    Some(&rest[..end.unwrap_or(rest.len())])
}

/// Returns whether a slash after this character goes on with a relative path, of which this is the end of a part.
fn ends_a_part(c: char) -> bool {
    c.is_alphanumeric() || "._-~})*".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that this file does not contain.
    fn path(folder: &str) -> String {
        ["", folder, "me", "bank.db"].join("/")
    }

    #[test]
    fn absolute_paths_into_private_folders_are_found() {
        for folder in PRIVATE_FOLDERS {
            let path = path(folder);
            for line in [
                path.clone(),
                format!("url = \"sqlite://{path}\""),
                format!("see ({path}) for `x`"),
            ] {
                assert_eq!(private_path(&line), Some(path.as_str()), "{line}");
            }
        }
    }

    #[test]
    fn other_paths_are_not() {
        for line in [
            "crates/work/src".to_owned(),
            format!("..{}", path("home")),
            format!("target{}", path("work")),
            format!("${{dir}}{}", path("root")),
            "and/or /work or /homes/x".to_owned(),
            "/usr/bin/env bash".to_owned(),
        ] {
            assert_eq!(private_path(&line), None, "{line}");
        }
    }

    #[test]
    fn every_kind_of_file_is_looked_at() {
        let text = format!("first\n{}\n", path("home"));
        let violations = check(&Tree::of(&[(".ci/run", &text)]));
        assert_eq!(violations.len(), 1);
        assert!(violations[0].to_string().starts_with(".ci/run:2: "));
    }
}
