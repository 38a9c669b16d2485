//! A published crate can be found, read and licensed: the fields and files that cargo does not ask for.

use toml::{Table, Value};

use crate::tree::{Tree, Violation};

/// Texts that belong into every package.
const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];
/// Fields by which a crate is found.
const FOUND_BY: [&str; 3] = ["description", "keywords", "categories"];
/// The prefix of our own packages.
const OURS: &str = "actix-persistence";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for folder in tree.crate_folders() {
        let path = format!("{folder}/Cargo.toml");
        let Some(manifest) = manifest(tree, folder) else {
            continue;
        };
        let package = &manifest["package"];
        let missing = FOUND_BY
            .iter()
            .filter(|field| package.get(**field).is_none());
        violations.extend(
            missing.map(|field| Violation::of(&path, format!("a published crate has `{field}`"))),
        );
        if !documents_all_features(package) {
            let text = "docs.rs shows all features only with `all-features = true` in `package.metadata.docs.rs`";
            violations.push(Violation::of(&path, text));
        }
        let licences = LICENCES.iter().map(|name| format!("{folder}/{name}"));
        violations.extend(
            licences
                .filter(|licence| tree.text(licence).is_none())
                .map(|licence| {
                    Violation::of(&licence, "the package lacks the text of its licence")
                }),
        );
        violations.extend(
            versioned_for_tests(&manifest).map(|name| {
                let text = format!(
                    "`{name}` is needed for tests only: give its path alone, or publishing goes in circles"
                );
                Violation::of(&path, text)
            }),
        );
    }
    violations
}

/// Returns the manifest of the crate in a folder, if it is published.
pub(super) fn manifest(tree: &Tree, folder: &str) -> Option<Table> {
    let text = tree.text(&format!("{folder}/Cargo.toml"))?;
    // A manifest that is no TOML is another rule's.
    let manifest: Table = text.parse().ok()?;
    let package = manifest.get("package")?.as_table()?;
    (package.get("publish") != Some(&Value::Boolean(false))).then_some(manifest)
}

fn documents_all_features(package: &Value) -> bool {
    let docs_rs = package
        .get("metadata")
        .and_then(|metadata| metadata.get("docs")?.get("rs"));
    docs_rs.and_then(|docs_rs| docs_rs.get("all-features")) == Some(&Value::Boolean(true))
}

/// Returns our crates among the dependencies for tests that are named with a version.
fn versioned_for_tests(manifest: &Table) -> impl Iterator<Item = &str> {
    let dependencies = manifest.get("dev-dependencies").and_then(Value::as_table);
    dependencies
        .into_iter()
        .flatten()
        .filter(|(name, dependency)| {
            name.starts_with(OURS)
                && (dependency.get("workspace").is_some()
                    || dependency.get("version").is_some()
                    || dependency.is_str())
        })
        .map(|(name, _)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPLETE: &str = "[package]\ndescription = \"a\"\nkeywords = [\"a\"]\ncategories = [\"a\"]\n\
                            [package.metadata.docs.rs]\nall-features = true\n";

    fn violations(manifest: &str) -> Vec<String> {
        let files = [
            ("tck/Cargo.toml", manifest),
            ("tck/LICENSE-APACHE", "a"),
            ("tck/LICENSE-MIT", "a"),
        ];
        check(&Tree::of(&files))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn a_published_crate_can_be_found_and_read() {
        assert_eq!(violations(COMPLETE), [""; 0]);
        for line in COMPLETE.lines().filter(|line| line.contains('=')) {
            let found = violations(&COMPLETE.replace(line, ""));
            assert_eq!(found.len(), 1, "{line}: {found:?}");
        }
        assert_eq!(violations("[package]\npublish = false\n"), [""; 0]);
    }

    #[test]
    fn a_package_has_the_texts_of_its_licences() {
        let found = check(&Tree::of(&[("tck/Cargo.toml", COMPLETE)]));
        assert_eq!(found.len(), 2);
        assert!(found[0].to_string().starts_with("tck/LICENSE-APACHE: "));
    }

    #[test]
    fn our_crates_have_no_version_where_only_tests_need_them() {
        let with = |line: &str| format!("{COMPLETE}\n[dev-dependencies]\n{line}\n");
        for wrong in [
            "actix-persistence-memory.workspace = true",
            "actix-persistence-memory = \"1\"",
            "actix-persistence-memory = { version = \"1\", path = \"a\" }",
        ] {
            let found = violations(&with(wrong));
            assert!(
                found.len() == 1 && found[0].contains("`actix-persistence-memory`"),
                "{found:?}"
            );
        }
        for right in [
            "actix-persistence-memory = { path = \"a\" }",
            "serde.workspace = true",
        ] {
            assert_eq!(violations(&with(right)), [""; 0]);
        }
    }
}
