//! States that are too large, or no JSON where JSON is asked for.

use actix_persistence_storage_api::{
    Payload, StateDelete, StateExtensions, StateUpdate, StorageErrorKind,
};

use super::{id, store};
use crate::steps::assert_error;
use crate::{OnServer, Tables};

/// A state with its tags may be as large as `max-state-bytes`, and a larger one is refused with the name of the key.
///
/// # Panics
/// If it is otherwise.
pub async fn a_state_above_the_limit_is_refused_and_says_which_key(tables: &dyn Tables) {
    let section = tables.section().with("max-state-bytes", 10);
    let none = StateExtensions::default();
    let states = tables.state_store_with(section, &none).await;
    let of_bytes = |revision, bytes| {
        let payload = Payload::new(1, "m", vec![1; bytes]);
        StateUpdate::new(id("a"), revision, payload)
    };
    for (update, says) in [
        (of_bytes(1, 11), "'max-state-bytes'"),
        (of_bytes(1, 6).with_tags(["red", "bl"]), "with its tags"),
    ] {
        let error = states.upsert(update).await.expect_err("it is too large");
        assert_error(&error, StorageErrorKind::TooLarge, says);
    }
    store(&*states, of_bytes(1, 6).with_tags(["red", "b"])).await;
    store(&*states, of_bytes(2, 10)).await;
}

/// A column of JSON gives JSON back byte by byte, and takes nothing else; tables of bytes are none of it.
///
/// # Panics
/// If it is otherwise.
pub async fn a_column_of_json_keeps_json_as_it_was_written_and_refuses_the_rest(
    tables: &dyn OnServer,
) {
    let section = tables.section().with("payload-column", "json");
    let none = StateExtensions::default();
    let states = tables.state_store_with(section, &none).await;
    let of_text = |revision, text: &str| {
        let payload = Payload::new(2, "m", text.as_bytes().to_vec());
        StateUpdate::new(id("a"), revision, payload)
    };
    let written = " {\"b\": 1, \"a\" : [1.0, \"\u{1f980}\"]}\n";
    store(&*states, of_text(1, written)).await;
    let found = states.get(&id("a")).await.expect("it can be read").state;
    let found = found.expect("there is a state").payload;
    assert_eq!(&*found.bytes, written.as_bytes());
    let error = states.upsert(of_text(2, "{")).await;
    let error = error.expect_err("it is no JSON");
    assert_error(&error, StorageErrorKind::Unsupported, "'payload-column");
    states
        .delete(StateDelete::new(id("a"), 2))
        .await
        .expect("it can be deleted");
    store(&*states, of_text(3, "null")).await;

    let bytes = tables.plugin().state_store(&tables.section(), &none);
    let error = bytes
        .expect("the section has no mistake")
        .initialize()
        .await;
    let error = error.expect_err("the tables hold JSON");
    assert_error(&error, StorageErrorKind::SchemaMismatch, "'payload-column'");
}
