//! The results of the hunts: the bugs that were found, by whom, and how fast.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::bug::Bug;
use crate::progress::seconds;
use crate::workspace;

/// The results that the page about reliability shows.
pub(crate) const RESULTS: &str = "docs/reliability/planted.json";

/// The outcome of the hunt for a bug.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Outcome {
    pub(super) bug: String,
    pub(super) breaks: String,
    /// A kind and its backend, or tests.
    pub(super) hunter: String,
    pub(super) found: bool,
    pub(super) seconds: f64,
    /// The first sentence about it of whoever found it.
    pub(super) says: Option<String>,
}

/// Enters an outcome into a file of results, which keeps the order of the lists; what is no bug any more goes.
pub(super) fn enter(file: &Path, bugs: &[Bug], mut outcome: Outcome) -> anyhow::Result<()> {
    let says = outcome.says.take();
    outcome.says = says.map(|says| below(&workspace::root(), &says));
    let mut results = match fs::read(file) {
        Ok(text) => read(&text).with_context(|| file.display().to_string())?,
        Err(_) => Vec::new(),
    };
    results.retain(|one| one.bug != outcome.bug);
    results.push(outcome);
    let place = |one: &Outcome| bugs.iter().position(|bug| bug.name == one.bug);
    results.retain(|one| place(one).is_some());
    results.sort_by_key(place);
    let mut text = serde_json::to_vec_pretty(&results)?;
    text.push(b'\n');
    Ok(fs::write(file, text)?)
}

/// Returns the text with the paths below this folder made relative to it: the results stand in the repository.
fn below(root: &Path, text: &str) -> String {
    text.replace(&format!("{}/", root.display()), "")
}

fn read(text: &[u8]) -> serde_json::Result<Vec<Outcome>> {
    serde_json::from_slice(text)
}

/// Returns the names of the bugs that a file of results has as found.
pub(crate) fn found(results: &str) -> Vec<String> {
    let results = read(results.as_bytes()).unwrap_or_default();
    let found = results.into_iter().filter(|one| one.found);
    found.map(|one| one.bug).collect()
}

/// Returns the table of a file of results; an empty one if there are none that can be read.
pub(crate) fn table(results: &str) -> String {
    table_of(&read(results.as_bytes()).unwrap_or_default())
}

/// Returns the table, as it stands in the docs.
pub(super) fn table_of(outcomes: &[Outcome]) -> String {
    let mut table = "| Bug | It breaks | Found by | After |\n|---|---|---|--:|\n".to_owned();
    for outcome in outcomes {
        let after = match outcome.found {
            true => seconds(Duration::from_secs_f64(outcome.seconds)),
            false => "never".to_owned(),
        };
        table += &format!(
            "| `{}` | {} | {} | {after} |\n",
            outcome.bug, outcome.breaks, outcome.hunter
        );
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(bug: &str, seconds: f64) -> Outcome {
        Outcome {
            bug: bug.to_owned(),
            breaks: "a promise".to_owned(),
            hunter: "`sim` on memory".to_owned(),
            found: true,
            seconds,
            says: None,
        }
    }

    #[test]
    fn what_is_said_of_a_bug_names_no_folder_of_a_machine() {
        let says = "/a/b/target/log is short, /a/c is not";
        let expected = "target/log is short, /a/c is not";
        assert_eq!(below(Path::new("/a/b"), says), expected);
    }

    #[test]
    fn the_last_result_of_a_bug_takes_the_place_of_the_one_before() {
        let list = |name: &str| {
            format!(
                "[[bug]]\nname = \"{name}\"\nbreaks = \"b\"\nkind = \"sim\"\nbackend = \"memory\"\n\
                 [[bug.change]]\nfile = \"a.rs\"\nfind = \"x\"\nreplace = \"PLANTED\"\n"
            )
        };
        let list = [list("a"), list("b")].concat();
        let path = format!("{}/kinds.toml", super::super::LISTS);
        let bugs = super::super::read_all(&crate::tree::Tree::of(&[(&path, &list)])).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("results.json");
        for one in [
            outcome("b", 1.0),
            outcome("a", 2.0),
            outcome("gone", 3.0),
            outcome("b", 4.0),
        ] {
            enter(&file, &bugs, one).unwrap();
        }
        let results = fs::read_to_string(&file).unwrap();
        assert_eq!(found(&results), ["a", "b"]);
        assert!(table(&results).ends_with(
            "| `a` | a promise | `sim` on memory | 2.0 s |\n| `b` | a promise | `sim` on memory | 4.0 s |\n"
        ));
    }
}
