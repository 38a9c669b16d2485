//! Names of functions are short enough to be read at once; those of tests are sentences, and grow.

use crate::tree::{SourceFile, Tree, Violation};

/// The most characters of a name.
const LONGEST: usize = 70;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    tree.rust_files().flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<Violation> {
    let lines = file.text.lines().enumerate();
    let long = lines.filter_map(|(at, line)| Some((at + 1, too_long(line)?)));
    long.map(|(nr, name)| {
        let message = format!(
            "the name `{name}` has {} characters, say it in at most {LONGEST}",
            name.len()
        );
        Violation::at(&file.path, nr, message)
    })
    .collect()
}

/// Returns the name of the function that a line begins, if it is too long.
fn too_long(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_code = !before.contains("//") && (before.is_empty() || before.ends_with(' '));
    let end = after.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
    let name = &after[..end.unwrap_or(after.len())];
    (is_code && name.len() > LONGEST).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<String> {
        let violations = check(&Tree::of(&[(path, text)]));
        violations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_of_70_characters_are_good_and_longer_ones_are_refused() {
        let path = "crates/a/tests/it/b.rs";
        for start in ["fn ", "    async fn ", "pub(crate) async fn "] {
            let text = |length| format!("//! B.\n{start}{}<T>() {{}}\n", "a".repeat(length));
            assert_eq!(lines(path, &text(LONGEST)), [""; 0]);
            let expected = format!(
                "{path}:2: the name `{}` has 71 characters, say it in at most 70",
                "a".repeat(71)
            );
            assert_eq!(lines(path, &text(71)), [expected]);
        }
    }

    #[test]
    fn long_words_that_name_no_function_are_good() {
        let long = "a".repeat(71);
        let text = format!("//! B, once fn {long}.\nlet {long} = 1;\nlet own = my_fn ({long});\n");
        assert_eq!(lines("crates/a/src/b.rs", &text), [""; 0]);
    }
}
