//! The tables of pages that are made from what the sources state or from what was run.

use crate::tree::Tree;
use crate::{bench, planted, sums};

/// A page that shows tables, each between two markers.
struct Page {
    path: &'static str,
    tables: &'static [Table],
}

/// A table: its markers, the file that it is made from, if there is one, and how.
struct Table {
    begin: &'static str,
    end: &'static str,
    source: &'static str,
    make: fn(&str) -> String,
}

const PAGES: [Page; 2] = [
    Page {
        path: "docs/RELIABILITY.md",
        tables: &[
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
        ],
    },
    Page {
        path: "docs/guide/performance.md",
        tables: &[Table {
            begin: "<!-- rows of the bench -->\n",
            end: "<!-- end of the rows -->\n",
            source: "",
            make: |_| bench::markdown(),
        }],
    },
];

/// Returns the path and the new text of each page with a table that is out of date.
pub(crate) fn outdated_pages(tree: &Tree) -> Vec<(String, String)> {
    let pages = PAGES.iter().filter_map(|page| page.outdated(tree));
    pages.collect()
}

impl Page {
    fn outdated(&self, tree: &Tree) -> Option<(String, String)> {
        let page = tree.text(self.path)?;
        let rewritten = self.tables.iter().fold(page.to_owned(), |page, table| {
            let source = tree.text(table.source).unwrap_or_default();
            table.rewritten(&page, source).unwrap_or(page)
        });
        (rewritten != page).then(|| (self.path.to_owned(), rewritten))
    }
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
    use crate::workspace;

    #[test]
    fn tables_are_rewritten_between_their_markers_alone() {
        let Page { path, tables } = &PAGES[0];
        let [first, second] = tables else {
            panic!("two tables");
        };
        let page = |one: &str, two: &str| {
            format!(
                "A\n{}{one}{}B\n{}{two}{}Z\n",
                first.begin, first.end, second.begin, second.end
            )
        };
        let tree = |page: &str| Tree::of(&[(path, page)]);
        let fresh = page(&sums::table(""), &planted::table(""));
        let outdated = outdated_pages(&tree(&page("old\n", "older\n")));
        assert_eq!(outdated, [((*path).to_owned(), fresh.clone())]);
        assert!(outdated_pages(&tree(&fresh)).is_empty());
        assert!(outdated_pages(&tree("no markers")).is_empty());
    }

    #[test]
    fn the_tables_of_the_pages_are_up_to_date() {
        let tree = Tree::load(&workspace::root()).unwrap();
        for Page { path, tables } in &PAGES {
            let page = tree.text(path).unwrap();
            for table in *tables {
                for marker in [table.begin, table.end] {
                    assert!(page.contains(marker), "{path}: {marker}");
                }
            }
        }
        assert!(outdated_pages(&tree).is_empty());
    }
}
