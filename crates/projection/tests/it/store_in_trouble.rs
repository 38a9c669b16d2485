//! An offset store that is not ready yet.

use std::sync::Arc;

use actix_persistence_offset_actor::{OffsetSettings, OffsetStoreProxy};
use actix_persistence_storage_api::{Operation, StorageErrorKind};
use actix_persistence_testkit::Fault;

use crate::fixture::{Fixture, Heard, LONG, id_in, until};

/// The error came once the time to initialise was over, which is half a minute by default.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_status_says_why_the_offset_store_is_not_ready() {
    let fixture = Fixture::new();
    let store = fixture.offset_store();
    let full = Fault::new(StorageErrorKind::Unavailable).with_message("the disk is full");
    let fails = store.on(Operation::Initialize).fail(full);
    let mut settings = OffsetSettings::new("tests");
    settings.initialize_timeout = LONG * 2;
    let proxy = OffsetStoreProxy::spawn(store, settings).unwrap();
    let heard = Heard::new();
    let projection = fixture.start(Arc::new(proxy), Arc::clone(&heard), |_| {});
    until(async || projection.status().error.is_some()).await;
    let status = projection.status();
    let error = status.error.as_deref().unwrap();
    assert!(error.contains("the disk is full"), "{error}");
    assert!(!status.is_healthy(LONG));
    fails.end();
    fixture.say(&id_in(0), 1, "one").await;
    until(async || heard.words() == ["one"]).await;
    assert_eq!(projection.status().error, None);
    projection.stop().await;
}
