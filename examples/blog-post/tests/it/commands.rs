//! Tests of each command, and of what it refuses.

use crate::place::{Place, lines_of};
use crate::watching::Watching;

const SAMPLE: &str = include_str!("../../sample.csv");

/// The sample, and what is found of it afterwards.
fn applies_the_sample(place: &Place) {
    let run = |arguments: &[&str]| place.lines(arguments, "");
    let applied = place.lines(&["apply"], SAMPLE);
    assert_eq!(applied.last().unwrap(), "rumours\trevision 2");
    assert_eq!(run(&["counts"]), ["0 drafts, 2 published"]);
    assert_eq!(run(&["find", "About actors"]), ["actors\t3\tAbout actors"]);
    assert!(run(&["find", "Actors"]).is_empty(), "the title was changed");
    assert!(run(&["find", "Rumours"]).is_empty(), "it was deleted");
    let last = [
        ("actors", "3\tpublished\tAbout actors"),
        ("durable", "2\tpublished\tDurable state"),
        ("rumours", "2\tdeleted"),
    ];
    let last = last.map(|(name, now)| (name.to_owned(), now.to_owned()));
    Watching::start(place).until(&last.into());
    assert_eq!(
        run(&["write", "rumours", "Facts", "It is so."]),
        ["revision 3"]
    );
    assert_eq!(run(&["show", "rumours"]), ["Facts (draft)", "It is so."]);
    assert_eq!(run(&["counts"]), ["1 drafts, 2 published"]);
    assert_eq!(run(&["publish", "rumours"]), ["revision 4"]);
    assert_eq!(
        run(&["publish", "rumours"]),
        ["revision 4"],
        "it is already"
    );
    assert_eq!(run(&["delete", "durable"]), ["revision 3"]);
    assert_eq!(run(&["counts"]), ["0 drafts, 2 published"]);
}

#[test]
fn the_sample_is_applied_without_a_config_file() {
    applies_the_sample(&Place::default());
}

#[test]
fn the_sample_is_applied_on_sqlite() {
    applies_the_sample(&Place::sqlite());
}

#[test]
fn the_sample_is_applied_on_postgres() {
    applies_the_sample(&Place::postgres());
}

#[test]
fn the_sample_is_applied_on_mysql() {
    applies_the_sample(&Place::mysql());
}

#[test]
fn what_is_not_there_can_neither_be_shown_nor_published_nor_deleted() {
    let place = Place::default();
    for command in ["show", "publish", "delete"] {
        let output = place.output(&[command, "nothing"], "");
        assert_eq!(output.status.code(), Some(2));
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(error, "error: there is no such post\n");
    }
    assert_eq!(place.lines(&["counts"], ""), ["0 drafts, 0 published"]);
    assert!(place.lines(&["watch", "--once"], "").is_empty());
}

#[test]
fn a_line_that_makes_no_sense_is_refused_and_the_next_one_is_applied() {
    let place = Place::default();
    let output = place.output(
        &["apply"],
        "paint,wall\nwrite,wall,Wall,\"white, with\na window\"\n",
    );
    assert_eq!(output.status.code(), Some(1));
    let expected = [
        "refused: a line is write,ID,TITLE,TEXT or publish,ID or delete,ID",
        "wall\trevision 1",
    ];
    assert_eq!(lines_of(&output.stdout), expected);
    let shown = place.lines(&["show", "wall"], "");
    assert_eq!(shown, ["Wall (draft)", "white, with", "a window"]);
}
