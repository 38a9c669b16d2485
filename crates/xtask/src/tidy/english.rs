//! Doc comments say what an item is or does: no question as the first word, no comment of one word, no worst words.

use crate::tree::{Tree, Violation};

/// First words that put a question in the place of a statement.
const QUESTIONS: [&str; 11] = [
    "Whether", "What", "Which", "Whose", "Whom", "Where", "When", "How", "Who", "Why", "Whoever",
];

/// Words that may stand before the question word and do not mend it: `By what queries find it.`
const PREPOSITIONS: [&str; 13] = [
    "After", "As", "At", "Before", "By", "For", "From", "In", "Into", "Of", "On", "To", "With",
];

/// Words that readers stumble over, in comments and in pages, with the plain ones.
const WORST: [(&str, &str); 5] = [
    ("also when", "even if"),
    ("also if", "even if"),
    ("gives back", "returns"),
    ("nobody has taken over", "was never taken over"),
    ("behind the offset", "after the offset"),
];

/// Folders of code that only tests see, where a comment may be as short as a note.
const TESTS: [&str; 3] = ["/tests/", "/benches/", "/examples/"];

/// The page that lists the worst words.
const STYLE_PAGE: &str = "CONTRIBUTING.md";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.rust_files() {
        let check = if TESTS.iter().any(|folder| file.path.contains(folder)) {
            question
        } else {
            message
        };
        violations.extend(doc_comments(&file.text).iter().filter_map(|comment| {
            check(&comment.text).map(|text| Violation::at(&file.path, comment.line, text))
        }));
    }
    for file in tree.files() {
        if file.path.ends_with(".md") && file.path != STYLE_PAGE {
            let lines = file.text.lines().enumerate();
            violations.extend(lines.filter_map(|(at, line)| {
                worst_words(line).map(|text| Violation::at(&file.path, at + 1, text))
            }));
        }
    }
    violations
}

/// A doc comment: consecutive lines of one kind.
struct DocComment {
    /// The number of its first line.
    line: usize,
    /// The text of the comment, without the slashes.
    text: String,
}

/// Returns the mistake in a comment, if there is one.
fn message(comment: &str) -> Option<String> {
    question(comment)
        .or_else(|| one_word(comment))
        .or_else(|| worst_words(comment))
}

/// Returns the mistake in a comment that begins with a question.
fn question(comment: &str) -> Option<String> {
    let mut words = comment.split_whitespace();
    let first = words.next()?;
    let bare = first.trim_end_matches(|letter: char| !letter.is_alphanumeric());
    let opening = if QUESTIONS.contains(&bare) {
        bare.to_owned()
    } else {
        let second = words.next().filter(|second| is_question(second))?;
        PREPOSITIONS
            .contains(&first)
            .then(|| format!("{first} {second}"))?
    };
    Some(format!(
        "a doc comment does not begin with `{opening}`, say what the item is or does"
    ))
}

/// Returns the mistake in a comment of one word.
fn one_word(comment: &str) -> Option<String> {
    let mut words = comment.split_whitespace();
    let first = words.next()?;
    words
        .next()
        .is_none()
        .then(|| format!("`{first}` is no sentence, say what the item is or does"))
}

/// Returns whether a word in small letters is one of [`QUESTIONS`].
fn is_question(word: &str) -> bool {
    let mut questions = QUESTIONS.iter().map(|question| question.to_lowercase());
    questions.any(|question| question == word)
}

fn worst_words(text: &str) -> Option<String> {
    let text = text.to_lowercase();
    let (worst, plain) = WORST.iter().find(|(worst, _)| text.contains(worst))?;
    Some(format!("write `{plain}` in the place of `{worst}`"))
}

fn doc_comments(source: &str) -> Vec<DocComment> {
    let mut comments: Vec<DocComment> = Vec::new();
    let mut kind = None;
    for (at, line) in source.lines().enumerate() {
        let Some((found, text)) = doc_line(line) else {
            kind = None;
            continue;
        };
        match comments.last_mut().filter(|_| kind == Some(found)) {
            Some(comment) => {
                comment.text.push(' ');
                comment.text.push_str(text);
            }
            None => comments.push(DocComment {
                line: at + 1,
                text: text.to_owned(),
            }),
        }
        kind = Some(found);
    }
    comments
}

/// Returns the marker and the text of a line of a doc comment.
fn doc_line(line: &str) -> Option<(&'static str, &str)> {
    let line = line.trim_start();
    let markers = ["///", "//!"];
    let marker = markers
        .into_iter()
        .find(|marker| line.starts_with(*marker) && !line.starts_with("////"))?;
    Some((marker, line[marker.len()..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<String> {
        let violations = check(&Tree::of(&[(path, text)]));
        violations.iter().map(ToString::to_string).collect()
    }

    fn assert_bad(text: &str, start: &str) {
        let found = lines("crates/a/src/b.rs", text);
        assert!(
            found.len() == 1 && found[0].starts_with(start),
            "{start:?} expected, found {found:?}"
        );
    }

    #[test]
    fn doc_comments_that_state_something_are_good() {
        let text = "//! A page.\n\n/// Returns whether it is there.\n///\n/// When it is not, nothing happens.\n#[x]\nfn a() {}\n";
        assert_eq!(lines("crates/a/src/b.rs", text), [""; 0]);
        assert_eq!(
            lines("crates/a/src/b.rs", "// Why: speed.\n//// How\n"),
            [""; 0]
        );
    }

    #[test]
    fn doc_comments_begin_with_no_question() {
        for word in QUESTIONS {
            assert_bad(
                &format!("//! A page.\n\n/// {word} it is.\nfn a() {{}}\n"),
                "crates/a/src/b.rs:3:",
            );
        }
        assert_bad(
            "//! What is read\n//! and written.\n",
            "crates/a/src/b.rs:1:",
        );
        assert_bad("//! A b.\n/// Why.\n", "crates/a/src/b.rs:2:");
        assert_bad(
            "//! A b.\n/// By what it is found.\n",
            "crates/a/src/b.rs:2:",
        );
        assert_bad(
            "//! A b.\n/// After how many calls.\n",
            "crates/a/src/b.rs:2:",
        );
    }

    #[test]
    fn doc_comments_of_one_word_are_refused() {
        assert_bad(
            "//! A page.\n    /// Bytes.\n    a: A,\n",
            "crates/a/src/b.rs:2:",
        );
    }

    #[test]
    fn tests_may_note_in_one_word() {
        assert_eq!(lines("crates/a/tests/it/b.rs", "//! MariaDB.\n"), [""; 0]);
    }

    #[test]
    fn tests_begin_doc_comments_with_no_question() {
        for path in ["crates/a/tests/it/b.rs", "crates/a/benches/b.rs"] {
            for text in ["//! What it does.\n", "//! By what it is found.\n"] {
                let found = lines(path, text);
                assert!(found.len() == 1 && found[0].starts_with(path), "{found:?}");
            }
        }
    }

    #[test]
    fn the_worst_words_are_refused_in_comments_and_pages() {
        for (worst, plain) in WORST {
            assert_bad(
                &format!("//! It works {worst} so.\n"),
                "crates/a/src/b.rs:1:",
            );
            let found = lines("docs/a.md", &format!("# A\n\nIt is so {worst} here.\n"));
            assert!(found[0].starts_with("docs/a.md:3:") && found[0].contains(plain));
            assert_eq!(lines(STYLE_PAGE, worst), [""; 0]);
        }
    }
}
