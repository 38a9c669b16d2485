//! docs/guide/schema-evolution.md

// ANCHOR: imports
use actix_persistence::{ShapeLock, prelude::*};
use serde::{Deserialize, Serialize};
// ANCHOR_END: imports

use crate::program::stdout_of;

// ANCHOR: shape_lock
#[derive(Serialize, Deserialize)]
enum ParcelEvent {
    Moved { city: String, country: String },
    Delivered,
}

impl Event for ParcelEvent {
    const MANIFEST: &'static str = "parcel.event";
    const VERSION: u32 = 1;
}

#[test]
fn what_is_stored_keeps_its_shape() {
    let moved = ParcelEvent::Moved {
        city: "Berlin".to_owned(),
        country: "DE".to_owned(),
    };
    ShapeLock::new("tests/shapes")
        .event("moved", &moved)
        .event("delivered", &ParcelEvent::Delivered)
        .check();
}
// ANCHOR_END: shape_lock

#[test]
fn each_release_reads_what_those_before_it_stored() {
    let folder = tempfile::tempdir().unwrap();
    let program = "schema_evolution";
    let run = |release| -> Vec<String> {
        let output = stdout_of(program, folder.path(), &["parcels.db", release]);
        output.lines().map(str::to_owned).collect()
    };
    let stored = |number| format!("stored as {number}");
    assert_eq!(run("first"), [stored(1), stored(2), stored(3)]);
    assert_eq!(run("second"), [stored(4)]);
    let moved = |number, city, country, by| {
        format!("{number}: Moved {{ city: {city:?}, country: {country:?}, by: {by} }}")
    };
    let before = [
        moved(1, "Berlin", "DE", "Post"),
        moved(2, "Aachen", "DE", "Post"),
        moved(2, "Mons", "BE", "Post"),
        moved(4, "Lille", "FR", "Post"),
    ];
    let readers_first = run("readers-first");
    assert_eq!(readers_first[..4], before);
    let refused = "error: the write was rejected: it cannot be stored as parcel.moved:v2: version 2 knows the post only";
    assert_eq!(readers_first[4..], [stored(5), refused.to_owned()]);
    let today = run("today");
    assert_eq!(today[..4], before);
    let after = [moved(5, "Paris", "FR", "Post"), stored(6), stored(7)];
    assert_eq!(today[4..], after);
    let told = "error: the command was not processed, because its actor could not be recovered: could not decode event 2 of \
                \"Parcel|1\", stored by serializer 1 as \"parcel.way:v1\": unknown manifest \"parcel.way:v1\"; this program reads \
                versions 1 to 3 of \"parcel.moved\"";
    assert_eq!(run("forgetful"), [told]);
    let seventh = moved(7, "Lyon", "FR", "Rail");
    assert_eq!(run("today")[6], seventh);
}
