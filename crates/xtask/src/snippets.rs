//! The code in the guide is pulled from files that are compiled, so that it never gets out of date.
//!
//! A line `<!-- snippet: examples/a/src/b.rs#name -->` stands right before a fence; what belongs into the fence lies
//! in that file between the comments `ANCHOR: name` and `ANCHOR_END: name`, or is the whole file without a name.
//!
//! A preprocessor of mdBook would put the code into the book alone: the pages are read in the repository, too.

use std::ops::Range;

use crate::tree::{Tree, Violation};

const FOLDER: &str = "docs/guide";
const FENCE: &str = "```";

/// A fence of a page.
struct Fence<'t> {
    /// The contents of the marker before it.
    marker: Option<&'t str>,
    /// The language that it names.
    language: &'t str,
    /// The lines between the two lines of the fence, counted from 0.
    lines: Range<usize>,
}

/// The pages of the guide as they should be, where they are not.
pub(crate) fn outdated_pages(tree: &Tree) -> Vec<(String, String)> {
    let pages = pages(tree).map(|(path, text)| (path, text, rewritten(tree, text)));
    pages
        .filter(|(_, text, rewritten)| text != rewritten)
        .map(|(path, _, rewritten)| (path.to_owned(), rewritten))
        .collect()
}

/// Returns the mistakes in the code of the guide.
pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    pages(tree)
        .flat_map(|(path, text)| {
            let violations = violations(tree, text);
            violations.map(move |(line, message)| Violation::at(path, line, message))
        })
        .collect()
}

fn pages(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    let pages = tree.below(FOLDER).filter(|file| file.path.ends_with(".md"));
    pages.map(|file| (file.path.as_str(), file.text.as_str()))
}

/// The numbers of lines, from 1, and what is wrong there.
fn violations<'t>(tree: &'t Tree, text: &'t str) -> impl Iterator<Item = (usize, String)> + 't {
    let fences = fences(text);
    let used: Vec<_> = fences.iter().map(|fence| fence.lines.start).collect();
    let unused = numbered_markers(text).filter(move |(at, _)| !used.contains(&(at + 2)));
    let unused = unused.map(|(at, _)| (at + 1, "no fence follows this marker".to_owned()));
    let lines: Vec<_> = text.lines().collect();
    let wrong = fences.into_iter().filter_map(move |fence| {
        let message = match fence.marker.map(|marker| snippet(tree, marker)) {
            None if is_rust(fence.language) => "Rust code without a snippet marker".to_owned(),
            Some(Err(message)) => message,
            Some(Ok(snippet)) if snippet != lines[fence.lines.clone()] => {
                "differs from its source, run `cargo xtask fix`".to_owned()
            }
            _ => return None,
        };
        Some((fence.lines.start, message))
    });
    wrong.chain(unused)
}

/// The page with every snippet as its source has it; one that cannot be found stays as it is.
fn rewritten(tree: &Tree, text: &str) -> String {
    let lines: Vec<_> = text.lines().collect();
    let mut page = Vec::new();
    let mut copied = 0;
    for fence in fences(text) {
        if let Some(Ok(snippet)) = fence.marker.map(|marker| snippet(tree, marker)) {
            page.extend_from_slice(&lines[copied..fence.lines.start]);
            page.extend(snippet);
            copied = fence.lines.end;
        }
    }
    page.extend_from_slice(&lines[copied..]);
    page.iter().map(|line| format!("{line}\n")).collect()
}

fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut fences = Vec::new();
    let mut marker = None;
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        if let Some(language) = line.strip_prefix(FENCE) {
            let end = lines.find(|(_, line)| *line == FENCE);
            fences.push(Fence {
                marker: marker.take(),
                language,
                lines: at + 1..end.map_or(text.lines().count(), |(end, _)| end),
            });
        } else {
            marker = marker_in(line);
        }
    }
    fences
}

fn numbered_markers(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    lines.filter_map(|(at, line)| Some((at, marker_in(line)?)))
}

fn marker_in(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- snippet: ")?.strip_suffix(" -->")
}

fn is_rust(language: &str) -> bool {
    language.split([',', ' ']).next() == Some("rust")
}

/// Returns the lines that a marker names, moved to the left.
fn snippet<'t>(tree: &'t Tree, marker: &str) -> Result<Vec<&'t str>, String> {
    let (path, name) = match marker.split_once('#') {
        Some((path, name)) => (path, Some(name)),
        None => (marker, None),
    };
    let text = tree
        .text(path)
        .ok_or_else(|| format!("there is no file `{path}`"))?;
    let mut lines: Vec<_> = text.lines().collect();
    if let Some(name) = name {
        let place = |keyword: &str| {
            let wanted = format!("{keyword}: {name}");
            let at = lines.iter().position(|line| comment_in(line) == wanted);
            at.ok_or_else(|| format!("`{path}` has no `{wanted}`"))
        };
        let (start, end) = (place("ANCHOR")?, place("ANCHOR_END")?);
        lines = lines.get(start + 1..end).unwrap_or_default().to_vec();
    }
    lines.retain(|line| !comment_in(line).starts_with("ANCHOR"));
    let indents = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = indents
        .map(|line| line.len() - line.trim_start().len())
        .min();
    let moved = lines
        .into_iter()
        .map(|line| line.get(indent.unwrap_or(0)..).unwrap_or(""));
    Ok(moved.collect())
}

/// The text of a line that is a comment, in Rust or TOML; any other line as it is.
fn comment_in(line: &str) -> &str {
    line.trim_start().trim_start_matches(['/', '#']).trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
//! A source.

impl A {
    // ANCHOR: method
    fn method() {

        // ANCHOR: call
        call();
        // ANCHOR_END: call
    }
    // ANCHOR_END: method
}
";

    fn tree(page: &str) -> Tree {
        Tree::of(&[
            ("examples/a/src/a.rs", SOURCE),
            (
                "examples/a/a.toml",
                "# ANCHOR: kind\nkind = \"file\"\n# ANCHOR_END: kind\n",
            ),
            ("docs/guide/page.md", page),
            ("docs/other.md", "```rust\nother();\n```\n"),
        ])
    }

    fn messages(page: &str) -> Vec<String> {
        check(&tree(page)).iter().map(ToString::to_string).collect()
    }

    /// The page after fixing it, which must then be in order.
    fn fixed(page: &str) -> String {
        let pages = outdated_pages(&tree(page));
        let [(path, text)] = &pages[..] else {
            panic!("one page, not {pages:?}");
        };
        assert_eq!(path, "docs/guide/page.md");
        assert_eq!(messages(text), [""; 0]);
        assert_eq!(outdated_pages(&tree(text)), []);
        text.clone()
    }

    #[test]
    fn a_snippet_is_moved_to_the_left_and_has_no_anchors() {
        let page =
            "Text.\n<!-- snippet: examples/a/src/a.rs#method -->\n```rust\nold\n```\nMore.\n";
        assert_eq!(
            messages(page),
            ["docs/guide/page.md:3: differs from its source, run `cargo xtask fix`"]
        );
        assert_eq!(
            fixed(page),
            "Text.\n<!-- snippet: examples/a/src/a.rs#method -->\n\
             ```rust\nfn method() {\n\n    call();\n}\n```\nMore.\n"
        );
    }

    #[test]
    fn every_fence_gets_its_own_snippet() {
        let page = "<!-- snippet: examples/a/src/a.rs#call -->\n```rust\n```\n```text\nas it is\n```\n\
                    <!-- snippet: examples/a/a.toml#kind -->\n```toml\nkind = 1\nkind = 2\n```\nEnd.\n";
        assert_eq!(
            fixed(page),
            "<!-- snippet: examples/a/src/a.rs#call -->\n```rust\ncall();\n```\n```text\nas it is\n```\n\
             <!-- snippet: examples/a/a.toml#kind -->\n```toml\nkind = \"file\"\n```\nEnd.\n"
        );
    }

    #[test]
    fn a_marker_without_a_name_stands_for_the_file() {
        let page = "<!-- snippet: examples/a/src/a.rs -->\n```rust\n```\n";
        let text = fixed(page);
        assert!(
            text.contains("```rust\n//! A source.\n\nimpl A {\n    fn method() {\n"),
            "{text}"
        );
    }

    #[test]
    fn a_marker_that_names_nothing_is_reported_and_its_fence_left_alone() {
        for (marker, expected) in [
            ("examples/b.rs#a", "there is no file `examples/b.rs`"),
            (
                "examples/a/src/a.rs#b",
                "`examples/a/src/a.rs` has no `ANCHOR: b`",
            ),
        ] {
            let page = format!("<!-- snippet: {marker} -->\n```rust\nold\n```\n");
            assert_eq!(
                messages(&page),
                [format!("docs/guide/page.md:2: {expected}")]
            );
            assert_eq!(outdated_pages(&tree(&page)), []);
        }
    }

    #[test]
    fn rust_without_a_marker_and_a_marker_without_a_fence_are_reported() {
        for language in ["rust", "rust,no_run"] {
            let page = format!("```{language}\nlet a = 1;\n```\n");
            let expected = "docs/guide/page.md:1: Rust code without a snippet marker";
            assert_eq!(messages(&page), [expected]);
        }
        let page = "<!-- snippet: examples/a/src/a.rs#call -->\n\n```rust\ncall();\n```\n";
        assert_eq!(
            messages(page),
            [
                "docs/guide/page.md:3: Rust code without a snippet marker",
                "docs/guide/page.md:1: no fence follows this marker",
            ]
        );
        assert_eq!(messages("```text\nlet a = 1;\n```\n"), [""; 0]);
    }
}
