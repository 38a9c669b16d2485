//! Every page of the guide is in its table of contents.

use crate::tree::{Tree, Violation};

const FOLDER: &str = "docs/guide";
const SUMMARY: &str = "SUMMARY.md";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let path = format!("{FOLDER}/{SUMMARY}");
    let Some(summary) = tree.text(&path) else {
        return Vec::new();
    };
    let missing = tree.below(FOLDER).filter_map(|file| {
        let page = file.path.strip_prefix(FOLDER)?.strip_prefix('/')?;
        let is_page = page.ends_with(".md") && page != SUMMARY;
        (is_page && !summary.contains(&format!("]({page})")))
            .then(|| Violation::of(&file.path, format!("is not in {path}")))
    });
    let listed = summary.lines().filter_map(|line| {
        let (_, link) = line.split_once("](")?;
        link.strip_suffix(')')
    });
    let gone = listed.filter_map(|page| {
        let exists = tree.text(&format!("{FOLDER}/{page}")).is_some();
        (!exists).then(|| Violation::of(&path, format!("lists {page}, which does not exist")))
    });
    missing.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_contents_agree() {
        let summary = ("docs/guide/SUMMARY.md", "# Summary\n\n- [A](a.md)\n");
        let count = |pages: &[(&str, &str)]| check(&Tree::of(&[&[summary], pages].concat())).len();
        assert_eq!(count(&[("docs/guide/a.md", "")]), 0);
        assert_eq!(
            count(&[("docs/guide/a.md", ""), ("docs/guide/b.md", "")]),
            1
        );
        assert_eq!(count(&[]), 1);
    }
}
