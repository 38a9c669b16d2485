//! The contents of every crate's manifest, and the README that is its documentation.

use anyhow::Context;
use toml::{Table, Value};

use crate::tree::{Tree, Violation};

/// The prefix that package names have and folder names do not.
const PREFIX: &str = "actix-persistence-";
/// The facade keeps its full name.
const FACADE: &str = "actix-persistence";
/// The crates that are programs.
const PROGRAMS: [&str; 4] = [
    "benches/peers",
    "crates/cli",
    "crates/torture",
    "crates/xtask",
];
/// The one crate with unsafe code, which has lints of its own: it replaces functions of the C library for the torture.
const SHIM: &str = "crates/torture-shim";
/// The one crate that stands in for one of others, whose name it has to have.
const STAND_IN: (&str, &str) = ("benches/peers/one-sqlite", "libsqlite3-sys");
/// The line by which a library takes its README as its documentation.
const README_AS_DOCS: &str = "#![doc = include_str!(\"../README.md\")]";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for folder in tree.crate_folders() {
        let path = format!("{folder}/Cargo.toml");
        match parse(tree.text(&path).unwrap_or_default()) {
            Ok(manifest) => {
                let messages = [
                    name(folder, &manifest),
                    lints(&manifest).filter(|_| folder != SHIM),
                    anyhow_in_library(folder, &manifest),
                ];
                let messages = messages.into_iter().flatten();
                violations.extend(messages.map(|message| Violation::of(&path, message)));
                violations.extend(tests_that_never_run(tree, folder, &manifest));
            }
            Err(error) => violations.push(Violation::of(&path, format!("{error:#}"))),
        }
        violations.extend(readme(tree, folder));
    }
    violations
}

fn parse(text: &str) -> anyhow::Result<Table> {
    text.parse().context("is no valid TOML")
}

fn name(folder: &str, manifest: &Table) -> Option<String> {
    let package = manifest.get("package")?.get("name")?.as_str()?;
    let directory = folder.rsplit('/').next().unwrap_or(folder);
    let expected = match directory {
        FACADE => FACADE.to_owned(),
        "xtask" => "xtask".to_owned(),
        _ if folder == STAND_IN.0 => STAND_IN.1.to_owned(),
        _ if is_example(folder) => return None,
        _ => format!("{PREFIX}{directory}"),
    };
    (package != expected)
        .then(|| format!("the package in {folder} must be called {expected}, not {package}"))
}

fn lints(manifest: &Table) -> Option<String> {
    let inherited = manifest
        .get("lints")
        .and_then(|lints| lints.get("workspace"));
    (inherited != Some(&Value::Boolean(true))).then(|| {
        "the lints of the workspace are not in force, add `[lints] workspace = true`".to_owned()
    })
}

/// Errors of libraries are types that callers can match on.
fn anyhow_in_library(folder: &str, manifest: &Table) -> Option<String> {
    if is_example(folder) || PROGRAMS.contains(&folder) {
        return None;
    }
    let platforms = manifest.get("target").and_then(Value::as_table);
    let tables = platforms
        .into_iter()
        .flat_map(Table::values)
        .filter_map(Value::as_table);
    let depends = tables.chain([manifest]).any(|table| {
        ["dependencies", "build-dependencies"]
            .iter()
            .filter_map(|section| table.get(*section)?.as_table())
            .any(|dependencies| dependencies.contains_key("anyhow"))
    });
    depends.then(|| "a library must not depend on anyhow, use thiserror".to_owned())
}

/// A target without tests says `test = false`, because an empty test program takes as long to link as a full one.
fn tests_that_never_run(tree: &Tree, folder: &str, manifest: &Table) -> Vec<Violation> {
    let is_left_out = |target: &Value| target.get("test") == Some(&Value::Boolean(false));
    let programs = manifest.get("bin").and_then(Value::as_array);
    let programs: Vec<_> = programs
        .into_iter()
        .flatten()
        .filter_map(|target| {
            let path = format!("{folder}/{}", target.get("path")?.as_str()?);
            Some((path, is_left_out(target)))
        })
        .collect();
    let library = manifest.get("lib").is_some_and(is_left_out);
    let left_out = programs.iter().filter(|(_, is_left_out)| *is_left_out);
    let modules: Vec<_> = left_out
        .flat_map(|(path, _)| modules_of(tree, path))
        .collect();
    let sources = format!("{folder}/src");
    let sources = tree.below(&sources);
    sources
        .filter(|file| {
            let program = programs.iter().find(|(path, _)| *path == file.path);
            let is_of_left_out = modules.iter().any(|module| module.has(&file.path));
            program.map_or(library || is_of_left_out, |(_, is_left_out)| *is_left_out)
        })
        .filter(|file| file.text.contains("#[cfg(test)]"))
        .map(|file| {
            Violation::of(
                &file.path,
                "its tests never run, its manifest says `test = false`",
            )
        })
        .collect()
}

/// A module of a program: a file, and perhaps files in a folder of its name.
struct Module(String);

impl Module {
    fn has(&self, path: &str) -> bool {
        let rest = path.strip_prefix(&self.0);
        rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    }
}

/// Returns the modules that the first file of a program names.
fn modules_of(tree: &Tree, program: &str) -> Vec<Module> {
    let folder = program.rsplit_once('/').map_or("", |(folder, _)| folder);
    let lines = tree.text(program).unwrap_or_default().lines();
    let names = lines.filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    names
        .map(|name| Module(format!("{folder}/{name}")))
        .collect()
}

fn readme(tree: &Tree, folder: &str) -> Option<Violation> {
    let lib = format!("{folder}/src/lib.rs");
    let first = tree.text(&lib)?.lines().next().unwrap_or_default();
    if tree.text(&format!("{folder}/README.md")).is_none() {
        return Some(Violation::of(
            folder,
            "a library has a README.md, which is its documentation",
        ));
    }
    (first != README_AS_DOCS)
        .then(|| Violation::at(&lib, 1, format!("a library begins with `{README_AS_DOCS}`")))
}

fn is_example(folder: &str) -> bool {
    folder.starts_with("examples/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST: &str = "\n[lints]\nworkspace = true\n";

    fn violations(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files))
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    fn manifest(folder: &str, package: &str, rest: &str) -> Vec<String> {
        let text = format!("[package]\nname = \"{package}\"\n{rest}");
        violations(&[(&format!("{folder}/Cargo.toml"), &text)])
    }

    #[test]
    fn packages_are_called_like_their_folder() {
        for (folder, package) in [
            ("crates/memory", "actix-persistence-memory"),
            ("crates/actix-persistence", "actix-persistence"),
            ("crates/xtask", "xtask"),
            ("tck", "actix-persistence-tck"),
            ("benches/peers/one-sqlite", "libsqlite3-sys"),
            ("examples/bank-account", "bank-account"),
        ] {
            assert_eq!(manifest(folder, package, REST), [""; 0], "{folder}");
        }
        assert_eq!(
            manifest("crates/memory", "memory", REST),
            [
                "crates/memory/Cargo.toml: the package in crates/memory must be called actix-persistence-memory, not memory"
            ]
        );
    }

    #[test]
    fn lints_are_those_of_the_workspace() {
        for rest in [
            "",
            "[lints]\nworkspace = false\n",
            "[lints.rust]\nunsafe_code = \"allow\"\n",
        ] {
            let found = manifest("tck", "actix-persistence-tck", rest);
            assert_eq!(found.len(), 1, "{rest:?}");
            assert!(found[0].contains("[lints] workspace = true"), "{found:?}");
        }
    }

    #[test]
    fn anyhow_is_for_programs_and_tests() {
        let with = |section: &str| format!("[{section}]\nanyhow = \"1\"\n{REST}");
        for section in [
            "dependencies",
            "build-dependencies",
            "target.'cfg(unix)'.dependencies",
        ] {
            let found = manifest("tck", "actix-persistence-tck", &with(section));
            assert_eq!(
                found,
                ["tck/Cargo.toml: a library must not depend on anyhow, use thiserror"]
            );
        }
        let none = [""; 0];
        assert_eq!(
            manifest("tck", "actix-persistence-tck", &with("dev-dependencies")),
            none
        );
        assert_eq!(
            manifest("crates/xtask", "xtask", &with("dependencies")),
            none
        );
        assert_eq!(manifest("examples/a", "a", &with("dependencies")), none);
    }

    #[test]
    fn the_readme_of_a_library_is_its_documentation() {
        let text = format!("[package]\nname = \"a\"\n{REST}");
        let manifest = ("examples/a/Cargo.toml", text.as_str());
        let lib = ("examples/a/src/lib.rs", README_AS_DOCS);
        let readme = ("examples/a/README.md", "# A");
        assert_eq!(violations(&[manifest, lib, readme]), [""; 0]);
        assert_eq!(
            violations(&[manifest, ("examples/a/src/main.rs", "//! A.")]),
            [""; 0]
        );
        assert!(violations(&[manifest, lib])[0].contains("has a README.md"));
        let other = ("examples/a/src/lib.rs", "//! A.");
        assert!(violations(&[manifest, other, readme])[0].starts_with("examples/a/src/lib.rs:1:"));
    }

    #[test]
    fn a_target_whose_tests_never_run_has_none() {
        let tests = "#[cfg(test)]\nmod tests {}\n";
        let bin = |rest| format!("[[bin]]\nname = \"b\"\npath = \"src/bin/b.rs\"\n{rest}");
        let found = |targets: &str, path: &str| {
            let text = format!("[package]\nname = \"a\"\n{targets}{REST}");
            violations(&[("examples/a/Cargo.toml", &text), (path, tests)]).len()
        };
        let no_tests = "test = false\n";
        assert_eq!(
            found(&format!("[lib]\n{no_tests}"), "examples/a/src/c.rs"),
            1
        );
        assert_eq!(found("[lib]\n", "examples/a/src/c.rs"), 0);
        assert_eq!(found(&bin(no_tests), "examples/a/src/bin/b.rs"), 1);
        assert_eq!(found(&bin(""), "examples/a/src/bin/b.rs"), 0);
        assert_eq!(found(&bin(no_tests), "examples/a/src/c.rs"), 0);
    }

    #[test]
    fn a_module_of_a_program_whose_tests_never_run_has_none() {
        let text = format!(
            "[package]\nname = \"a\"\n[[bin]]\npath = \"src/main.rs\"\ntest = false\n{REST}"
        );
        let found = |path: &str| {
            let files = [
                ("examples/a/Cargo.toml", text.as_str()),
                ("examples/a/src/main.rs", "//! A.\n\nmod c;\n"),
                (path, "#[cfg(test)]\nmod tests {}\n"),
            ];
            violations(&files).len()
        };
        assert_eq!(found("examples/a/src/c.rs"), 1);
        assert_eq!(found("examples/a/src/c/d.rs"), 1);
        assert_eq!(found("examples/a/src/cd.rs"), 0);
    }

    #[test]
    fn a_broken_manifest_is_found() {
        assert!(violations(&[("tck/Cargo.toml", "[package")])[0].contains("is no valid TOML"));
    }
}
