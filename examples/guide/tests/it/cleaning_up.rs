//! docs/guide/cleanup.md

use crate::program::stdout_of;

const PROGRAM: &str = "cleaning_up";

#[test]
fn who_has_left_is_forgotten_and_starts_anew() {
    let folder = tempfile::tempdir().unwrap();
    let run = |command: &str, names: &[&str]| {
        let arguments = [&["gym.db", command], names].concat();
        stdout_of(PROGRAM, folder.path(), &arguments)
    };
    let visits = run("visit", &["ann", "ben", "cem", "ann"]);
    assert_eq!(
        visits,
        "ann: visit 1\nben: visit 1\ncem: visit 1\nann: visit 2\n"
    );
    run("leave", &["ann", "cem"]);
    let all = ["ann", "ben", "cem", "dan"];
    assert_eq!(
        run("forget", &all),
        "Member|ann: events 1 to 3, numbers start again after 3\n\
         Member|cem: events 1 to 2, numbers start again after 2\n\
         done, 2 members are forgotten\n"
    );
    assert_eq!(run("forget", &all), "done, 0 members are forgotten\n");
    let visits = run("visit", &["ann", "ben"]);
    assert_eq!(visits, "ann: visit 1\nben: visit 2\n");
}
