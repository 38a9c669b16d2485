//! The first line, the name, the length and the forbidden contents of source files.

use crate::tree::{SourceFile, Tree, Violation};

/// The largest number of lines of a file, tests included.
const LONGEST_FILE: usize = 800;
/// Lines of a `lib.rs`, which holds no logic.
const LONGEST_LIB: usize = 120;
/// Lines of the `lib.rs` of a plugin.
const LONGEST_PLUGIN_LIB: usize = 60;
/// The crates that are plugins.
const PLUGINS: [&str; 5] = ["memory", "sqlite", "postgres", "mysql", "custom-journal"];

/// File names that say nothing.
const EMPTY_NAMES: [&str; 4] = ["utils", "common", "helpers", "types"];

/// Texts that no source file may contain, with the advice to print; put together so that this file does not contain
/// them.
const FORBIDDEN: [(&str, &str); 4] = [
    (
        concat!("#[", "ignore"),
        "an ignored test proves nothing, make it run or delete it",
    ),
    (
        concat!("#[", "should_panic"),
        "a test that expects some panic takes any panic, assert on the error",
    ),
    (
        concat!("todo", "!("),
        "unfinished code is not committed, finish it or leave it out",
    ),
    (
        concat!("unimplemented", "!("),
        "unfinished code is not committed, finish it or leave it out",
    ),
];

/// The opening of an ignored code block in Markdown and in docs.
const IGNORED_FENCE: &str = concat!("```", "ignore");

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.rust_files() {
        violations.extend(opening(file));
        violations.extend(name(file));
        violations.extend(length(file));
        violations.extend(contents(file));
    }
    let texts = tree.files().iter();
    for file in texts.filter(|file| file.path.ends_with(".md") || file.path.ends_with(".rs")) {
        violations.extend(fences(file));
    }
    violations
}

fn opening(file: &SourceFile) -> Option<Violation> {
    let first = file.text.lines().next().unwrap_or_default();
    let says_what_it_is = first.starts_with("//!") || first.starts_with("#![doc = include_str!");
    (!says_what_it_is).then(|| {
        Violation::at(
            &file.path,
            1,
            "the first line must say what the file is, with `//!`",
        )
    })
}

fn name(file: &SourceFile) -> Option<Violation> {
    let stem = file.path.strip_suffix(".rs")?;
    if stem.ends_with("/mod") {
        let message =
            "a module `foo` with parts is `foo.rs` beside the folder `foo`, rename this file";
        return Some(Violation::of(&file.path, message));
    }
    let empty = stem.split('/').find(|part| EMPTY_NAMES.contains(part))?;
    let message =
        format!("`{empty}` names nothing, name it after the type or the idea that it holds");
    Some(Violation::of(&file.path, message))
}

fn length(file: &SourceFile) -> Option<Violation> {
    let lines = file.text.lines().count();
    let limit = match file.path.strip_suffix("/src/lib.rs") {
        Some(folder) if PLUGINS.iter().any(|plugin| folder.ends_with(plugin)) => LONGEST_PLUGIN_LIB,
        Some(_) => LONGEST_LIB,
        None => LONGEST_FILE,
    };
    (lines > limit).then(|| {
        let message = format!("{lines} lines are more than {limit}, split the file by ideas");
        Violation::of(&file.path, message)
    })
}

fn contents(file: &SourceFile) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (nr, line) in numbered_lines(file) {
        for (text, advice) in FORBIDDEN {
            if line.contains(text) {
                violations.push(Violation::at(&file.path, nr, format!("`{text}`: {advice}")));
            }
        }
    }
    violations
}

fn fences(file: &SourceFile) -> Vec<Violation> {
    numbered_lines(file)
        .filter(|(_, line)| line.contains(IGNORED_FENCE))
        .map(|(nr, _)| {
            let message = "code in documentation is compiled, use `no_run` or `text`";
            Violation::at(&file.path, nr, message)
        })
        .collect()
}

fn numbered_lines(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    file.text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn violations(path: &str, text: &str) -> Vec<String> {
        let violations = check(&Tree::of(&[(path, text)]));
        violations.iter().map(ToString::to_string).collect()
    }

    fn assert_good(path: &str, text: &str) {
        assert_eq!(violations(path, text), [""; 0]);
    }

    fn assert_bad(path: &str, text: &str, start: &str) {
        let found = violations(path, text);
        assert!(
            found.len() == 1 && found[0].starts_with(start),
            "{start:?} expected, found {found:?}"
        );
    }

    fn long(lines: usize) -> String {
        "//!\n".repeat(lines)
    }

    #[test]
    fn files_open_with_what_they_are() {
        assert_good("crates/a/src/b.rs", "//! B.\n");
        assert_good(
            "crates/a/src/lib.rs",
            "#![doc = include_str!(\"../README.md\")]\n",
        );
        assert_bad(
            "crates/a/src/b.rs",
            "use std::fmt;\n",
            "crates/a/src/b.rs:1:",
        );
        assert_bad("crates/a/src/b.rs", "", "crates/a/src/b.rs:1:");
    }

    #[test]
    fn files_are_named_after_what_they_hold() {
        assert_good("crates/a/src/model.rs", "//! M.");
        assert_good("crates/a/src/recommon.rs", "//! M.");
        assert_bad(
            "crates/a/src/b/mod.rs",
            "//! B.",
            "crates/a/src/b/mod.rs: a module",
        );
        for name in EMPTY_NAMES {
            assert_bad(&format!("crates/a/src/{name}.rs"), "//! B.", "crates/a");
            assert_bad(&format!("crates/a/tests/{name}/b.rs"), "//! B.", "crates/a");
        }
    }

    #[test]
    fn files_are_not_too_long() {
        for (path, limit) in [
            ("crates/a/src/b.rs", 800),
            ("crates/a/src/lib.rs", 120),
            ("crates/sqlite/src/lib.rs", 60),
            ("examples/custom-journal/src/lib.rs", 60),
        ] {
            assert_good(path, &long(limit));
            assert_bad(path, &long(limit + 1), path);
        }
    }

    #[test]
    fn nothing_is_ignored_or_unfinished() {
        assert_good("a.rs", "//! The word ignore, and todo!\n");
        for (text, _) in FORBIDDEN {
            assert_bad("a.rs", &format!("//! A.\n    {text}"), "a.rs:2:");
        }
    }

    #[test]
    fn code_in_documentation_is_compiled() {
        assert_good("README.md", "```rust,no_run\n```\n");
        assert_bad("README.md", &format!("\n{IGNORED_FENCE}\n"), "README.md:2:");
        assert_bad("a.rs", &format!("//! A.\n/// {IGNORED_FENCE}\n"), "a.rs:2:");
    }
}
