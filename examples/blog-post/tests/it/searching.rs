//! Posts are found by their words as they are now, on every database.

use crate::place::Place;

fn finds_what_is_written_now(place: &Place) {
    let run = |arguments: &[&str]| place.lines(arguments, "");
    assert!(run(&["search", "mailbox"]).is_empty());
    place.lines(&["apply"], include_str!("../../sample.csv"));
    assert_eq!(run(&["search", "mailbox"]), ["actors\tAbout actors"]);
    assert_eq!(run(&["search", "ACTORS state"]), ["actors\tAbout actors"]);
    let both = ["actors\tAbout actors", "durable\tDurable state"];
    assert_eq!(run(&["search", "state"]), both);
    assert!(run(&["search", "rumours"]).is_empty(), "it was deleted");
    assert!(run(&["search", "mailbox", "durable"]).is_empty());

    run(&["write", "actors", "On actors", "Übersicht, nothing else."]);
    assert!(
        run(&["search", "mailbox"]).is_empty(),
        "it was written anew"
    );
    assert_eq!(run(&["search", "übersicht"]), ["actors\tOn actors"]);
    assert!(run(&["search", "..."]).is_empty(), "there is no word");
}

#[test]
fn posts_are_found_by_their_words_on_sqlite() {
    finds_what_is_written_now(&Place::default());
}

#[test]
fn posts_are_found_by_their_words_on_postgres() {
    finds_what_is_written_now(&Place::postgres());
}

#[test]
fn posts_are_found_by_their_words_on_mysql() {
    finds_what_is_written_now(&Place::mysql());
}
