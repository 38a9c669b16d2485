//! The table of the futures that the kind `cancel` drops has all of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use actix_persistence_torture::dropped_futures;

/// Public functions that give futures which the kind does not drop by their own names: a crate, or a function of it, and
/// the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "actix-persistence::at_least_once",
        "a projection of a test, whose journal and read model end with it",
    ),
    (
        "actix-persistence::exactly_once",
        "a projection of a test, whose journal and read model end with it",
    ),
    (
        "actix-persistence::grouped",
        "a projection of a test, whose journal and read model end with it",
    ),
    (
        "journal-actor",
        "within the calls of actors, which are dropped here",
    ),
    (
        "offset-actor",
        "within the calls of actors, which are dropped here",
    ),
    (
        "projection",
        "one call of an offset store each, which goes on in a task of that store",
    ),
    (
        "snapshot-actor",
        "within the calls of actors, which are dropped here",
    ),
    (
        "state-actor",
        "within the calls of actors, which are dropped here",
    ),
    (
        "store-actor",
        "within the calls of actors, which are dropped here",
    ),
    (
        "sql",
        "within tasks of the stores, which go on when their callers are gone",
    ),
    ("testkit", "takes the place of a store in tests"),
    (
        "persistent-actor::finished",
        "the wait within `stop`, which is dropped here",
    ),
    (
        "persistent-actor::replay_actor",
        "the whole of `replay`, which is dropped here",
    ),
    (
        "persistent-actor::subscribe",
        "the whole of `events` and of `dead_letters`, which are dropped here",
    ),
    (
        "storage-api::make_in",
        "calls of a store, in a task of that store",
    ),
    (
        "storage-api::connection_of",
        "within `transact`, which is dropped here, and within change handlers",
    ),
    (
        "storage-api::transact_returning",
        "the whole of `transact`, which is dropped here",
    ),
];

/// The return type of a function that gives a future, or a stream, has one of these.
const FORMS: [&str; 3] = ["Future", "Stream", "Subscription"];

/// Returns the name of the function that this begins with, if it gives a future.
fn future_in(text: &str) -> Option<&str> {
    let (is_async, rest) = match text.strip_prefix("async fn ") {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix("fn ")?),
    };
    let name = rest.split(['(', '<']).next()?;
    let signature = rest.split(['{', ';']).next()?;
    let bounds = signature.split("\n    where").next()?;
    let returned = bounds
        .rsplit_once("->")
        .map_or("", |(_, returned)| returned);
    let gives = is_async || FORMS.iter().any(|form| returned.contains(form));
    gives.then_some(name)
}

/// Adds the names of the public functions below this folder that give futures.
fn add_futures_of(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap();
        if name == "tests" {
            continue;
        }
        if path.is_dir() {
            add_futures_of(&path, names);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            // Also in comments, where nothing follows that is a function.
            let public = text
                .match_indices("pub ")
                .map(|(at, word)| &text[at + word.len()..]);
            names.extend(public.filter_map(future_in).map(str::to_owned));
        }
    }
}

/// Returns the names of the crates that are published.
fn published() -> impl Iterator<Item = String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let is_published = |folder: &Path| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml"));
        manifest.is_ok_and(|manifest| !manifest.contains("publish = false"))
    };
    let folders = fs::read_dir(crates)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    folders
        .filter(move |folder| is_published(folder))
        .map(|folder| folder.file_name().unwrap().to_str().unwrap().to_owned())
}

#[test]
fn every_public_future_is_dropped_or_has_a_reason_not_to_be() {
    let dropped: BTreeSet<_> = dropped_futures().collect();
    let mut found = BTreeSet::new();
    for package in published() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../{package}/src"));
        let mut names = BTreeSet::new();
        add_futures_of(&folder, &mut names);
        found.extend(names.into_iter().map(|name| (package.clone(), name)));
    }
    for known in [
        "stop",
        "stopped",
        "load_snapshot",
        "changes_by_slices",
        "select_one",
        "events",
    ] {
        let is_found = found.iter().any(|(_, name)| name == known);
        assert!(is_found, "{known} is not found in {found:?}");
    }
    let exceptions_of = |(package, name): &(String, String)| {
        let own = format!("{package}::{name}");
        let matching = EXCEPTIONS
            .iter()
            .filter(move |(what, _)| what == package || *what == own);
        matching.map(|(what, _)| *what).collect::<Vec<_>>()
    };
    let left_out: Vec<_> = found
        .iter()
        .filter(|future| !dropped.contains(future.1.as_str()) && exceptions_of(future).is_empty())
        .collect();
    assert!(left_out.is_empty(), "nothing drops {left_out:?}");
    let used: BTreeSet<_> = found.iter().flat_map(exceptions_of).collect();
    let idle: Vec<_> = EXCEPTIONS
        .iter()
        .filter(|(what, _)| !used.contains(what))
        .collect();
    assert!(idle.is_empty(), "exceptions that fit nothing: {idle:?}");
}

#[test]
fn each_form_of_a_public_future_is_recognised() {
    let future = [
        "async fn one(&self) {",
        "fn two<A>(\n        &self,\n    ) -> impl Future<Output = A> + use<A> {",
        "fn three(&self, to: &str) -> PersistenceIdsStream {",
        "fn four(&self) -> Subscription<DeadLetter> {",
    ];
    let names: Vec<_> = future.into_iter().filter_map(future_in).collect();
    assert_eq!(names, ["one", "two", "three", "four"]);
    let none = [
        "fn five(&self) -> usize { future }",
        "fn six<F>(f: F) -> usize\n    where\n        F: Fn() -> BoxFuture<'static, ()>,\n    {",
        "struct Future;",
    ];
    assert_eq!(none.into_iter().find_map(future_in), None);
}
