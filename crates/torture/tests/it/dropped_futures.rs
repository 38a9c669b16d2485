//! The table of the futures that the kind `cancel` drops has all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use actix_persistence_torture::dropped_futures;

/// Returns the names of the public functions of a crate that give futures.
fn functions_of(package: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{package}/src"));
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text = fs::read_to_string(path).unwrap();
        let lines = text.lines().map(str::trim_start);
        let functions = lines.filter_map(|line| line.strip_prefix("pub async fn "));
        let name = |line: &str| line.split(['(', '<']).next().map(str::to_owned);
        names.extend(functions.filter_map(name));
    }
    names
}

#[test]
fn every_public_future_of_the_facade_is_dropped() {
    let dropped: BTreeSet<_> = dropped_futures().collect();
    let functions = ["actix-persistence", "cleanup"].map(functions_of).concat();
    assert!(functions.len() > 20, "too few were found: {functions:?}");
    let left_out: Vec<_> = functions
        .iter()
        .filter(|name| !dropped.contains(name.as_str()))
        .collect();
    assert!(left_out.is_empty(), "nobody drops {left_out:?}");
}
