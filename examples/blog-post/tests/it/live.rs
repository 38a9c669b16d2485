//! A reader that follows the changes while they are made sees the last state of every post, and each post in order.

use crate::place::{Place, lines_of};
use crate::posts::{Posts, line};
use crate::watching::Watching;

const UPDATES: usize = 1_000;
const POSTS: usize = 50;

fn follows(place: &Place) {
    let watching = Watching::start(place);
    let post = |update| format!("post-{}", update * 7_919 % POSTS);
    let updates = (0..UPDATES).map(|update| line(update, &post(update), POSTS));
    let updates: Vec<_> = updates.collect();
    let applied = place.output(&["apply"], &updates.concat());
    let mut posts = Posts::default();
    let expected: Vec<_> = updates.iter().map(|line| posts.apply(line)).collect();
    assert_eq!(lines_of(&applied.stdout), expected);
    watching.until(&posts.shown());
    assert_eq!(place.lines(&["counts"], ""), [posts.counts()]);
}

#[test]
fn every_last_state_is_seen_on_sqlite() {
    follows(&Place::default());
}

#[test]
fn every_last_state_is_seen_on_postgres() {
    follows(&Place::postgres());
}

#[test]
fn every_last_state_is_seen_on_mysql() {
    follows(&Place::mysql());
}
