//! The tables of the page about reliability, made from what was run.

use crate::planted;
use crate::sums;
use crate::tree::Tree;

/// The page that shows the tables, each between two markers.
pub(crate) const PAGE: &str = "docs/RELIABILITY.md";

/// A table: its markers, the file that it is made from, and how.
struct Table {
    begin: &'static str,
    end: &'static str,
    source: &'static str,
    make: fn(&str) -> String,
}

const TABLES: [Table; 2] = [
    Table {
        begin: "<!-- sums of the ledger -->\n",
        end: "<!-- end of the sums -->\n",
        source: sums::LEDGER,
        make: sums::table,
    },
    Table {
        begin: "<!-- results of the planted bugs -->\n",
        end: "<!-- end of the results -->\n",
        source: planted::RESULTS,
        make: planted::table,
    },
];

/// Returns the path and the new text of the page, if there is one and a table is out of date.
pub(crate) fn outdated_page(tree: &Tree) -> Option<(String, String)> {
    let page = tree.text(PAGE)?;
    let rewritten = TABLES.iter().fold(page.to_owned(), |page, table| {
        let source = tree.text(table.source).unwrap_or_default();
        table.rewritten(&page, source).unwrap_or(page)
    });
    (rewritten != page).then(|| (PAGE.to_owned(), rewritten))
}

impl Table {
    /// Returns the page with this table anew; none if its markers are not there.
    fn rewritten(&self, page: &str, source: &str) -> Option<String> {
        let Self { begin, end, .. } = self;
        let (before, rest) = page.split_once(begin)?;
        let (_, after) = rest.split_once(end)?;
        Some(format!(
            "{before}{begin}{}{end}{after}",
            (self.make)(source)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_rewritten_between_their_markers_alone() {
        let [first, second] = &TABLES;
        let page = |one: &str, two: &str| {
            format!(
                "A\n{}{one}{}B\n{}{two}{}Z\n",
                first.begin, first.end, second.begin, second.end
            )
        };
        let tree = |page: &str| Tree::of(&[(PAGE, page)]);
        let fresh = page(&sums::table(""), &planted::table(""));
        let outdated = outdated_page(&tree(&page("old\n", "older\n")));
        assert_eq!(outdated, Some((PAGE.to_owned(), fresh.clone())));
        assert_eq!(outdated_page(&tree(&fresh)), None);
        assert_eq!(outdated_page(&tree("no markers")), None);
    }
}
