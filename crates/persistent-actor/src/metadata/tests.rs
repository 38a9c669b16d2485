//! Metadata by itself: its limits, its stored form, its scopes.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use futures_util::FutureExt;
use serde::Serialize;

use super::*;
use crate::error::panics::caught;

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn full() -> Metadata {
    let metadata = Metadata::new()
        .with_correlation_id("c")
        .and_then(|metadata| metadata.with_causation_id("b"))
        .and_then(|metadata| metadata.with_user("ann"))
        .and_then(|metadata| metadata.with_trace_context(TRACEPARENT, Some("a=1")))
        .and_then(|metadata| metadata.with_entry("key", "value"));
    metadata.unwrap()
}

fn correlated(id: &str) -> Metadata {
    Metadata::new().with_correlation_id(id).unwrap()
}

/// Returns what a journal would give back.
fn stored(metadata: &Metadata) -> Metadata {
    Metadata::of_stored(metadata.payload().cloned())
}

#[test]
fn what_is_stored_is_read_again() {
    let metadata = full();
    let payload = metadata.payload().unwrap();
    assert_eq!(&*payload.manifest, "actix-persistence.metadata:v1");
    assert_eq!(payload.serializer_id, 1);
    let read = stored(&metadata);
    assert_eq!(read, metadata);
    assert_eq!(read.correlation_id(), Some("c"));
    assert_eq!(read.causation_id(), Some("b"));
    assert_eq!(read.user(), Some("ann"));
    assert_eq!(read.traceparent(), Some(TRACEPARENT));
    assert_eq!(read.tracestate(), Some("a=1"));
    assert_eq!(read.entry("key"), Some("value"));
    assert_eq!(read.entries().collect::<Vec<_>>(), [("key", "value")]);
    assert_eq!(read.foreign(), None);
    assert_ne!(read, correlated("c"));
}

#[test]
fn the_stored_form_is_frozen() {
    let metadata = correlated("c").with_entry("k", "v").unwrap();
    let bytes = b"\x82\xaecorrelation_id\xa1c\xa7entries\x81\xa1k\xa1v";
    assert_eq!(metadata.payload().unwrap().bytes, &bytes[..]);
}

#[test]
fn metadata_without_data_is_not_stored() {
    for empty in [Metadata::new(), Metadata::of(Fields::default())] {
        assert!(empty.is_empty());
        assert_eq!(empty.payload(), None);
        assert_eq!(empty, Metadata::new());
    }
    assert!(!full().is_empty());
}

#[test]
fn fields_of_a_newer_program_are_passed_over() {
    #[derive(Serialize)]
    struct Newer {
        correlation_id: &'static str,
        tenant: &'static str,
        hops: Vec<u32>,
    }
    let newer = Newer {
        correlation_id: "c",
        tenant: "acme",
        hops: vec![1],
    };
    let bytes = rmp_serde::to_vec_named(&newer).unwrap();
    let payload = Payload::new(1, "actix-persistence.metadata:v1", bytes);
    assert_eq!(Metadata::of_stored(Some(payload)), correlated("c"));
}

#[test]
fn what_another_tool_stored_has_no_fields_and_is_shown_as_it_is() {
    let good = full().payload().unwrap().clone();
    let mut torn = good.clone();
    torn.bytes.truncate(5);
    for payload in [
        Payload::new(2, "akka", &b"{}"[..]),
        Payload::new(1, "actix-persistence.metadata:v2", good.bytes),
        torn,
    ] {
        let foreign = Metadata::of_stored(Some(payload.clone()));
        assert_eq!(foreign.foreign(), Some(&payload));
        assert_eq!(foreign.correlation_id(), None);
        assert!(!foreign.is_empty());
        assert_eq!(foreign.payload(), Some(&payload), "it is stored as it was");
        assert_ne!(foreign, Metadata::new());
        let changed = foreign.with_user("ann").unwrap();
        assert_eq!(changed, Metadata::new().with_user("ann").unwrap());
    }
}

#[test]
fn the_cause_takes_no_room_from_what_the_application_sets() {
    let text = "x".repeat(Metadata::MAX_TEXT_BYTES - 1);
    let mut metadata = correlated(&text);
    for key in 0..7 {
        metadata = metadata.with_entry(key.to_string(), &text).unwrap();
    }
    let id = actix_persistence_storage_api::PersistenceId::of("Order", "81");
    let carried = Carried::NOTHING.changed_to(metadata).after(&id, 7);
    let caused = carried.into_metadata();
    assert_eq!(caused.causation_id(), Some("Order|81#7"));
    assert_eq!(caused.with_user("x").unwrap().user(), Some("x"));
}

#[test]
fn a_text_or_a_whole_that_is_too_large_is_refused_when_it_is_set() {
    let longest = "x".repeat(Metadata::MAX_TEXT_BYTES);
    let longer = longest.clone() + "x";
    let too_long = |what| InvalidMetadata::TooLong {
        what,
        bytes: longer.len(),
    };
    let empty = Metadata::new;
    for (set, what) in [
        (empty().with_correlation_id(&longer), "the correlation id"),
        (empty().with_causation_id(&longer), "the causation id"),
        (empty().with_user(&longer), "the user"),
        (empty().with_entry(&longer, ""), "the key of an entry"),
        (empty().with_entry("", &longer), "the value of an entry"),
    ] {
        assert_eq!(set, Err(too_long(what)));
    }
    let mut full = empty().with_user(&longest).unwrap();
    for key in 0..7 {
        full = full.with_entry(key.to_string(), &longest[1..]).unwrap();
    }
    let more = full.clone().with_correlation_id("x");
    let bytes = Metadata::MAX_BYTES + 1;
    assert_eq!(more, Err(InvalidMetadata::TooLarge { bytes }));
    assert_eq!(stored(&full), full);
    let caused = full.with_causation_id(&longest).unwrap();
    let more = caused.with_correlation_id("x");
    assert_eq!(more, Err(InvalidMetadata::TooLarge { bytes }));
    let trace = empty().with_trace_context("00", None);
    assert!(matches!(trace, Err(InvalidMetadata::TraceContext { .. })));
    let trace = empty().with_trace_context(TRACEPARENT, Some("="));
    assert!(matches!(trace, Err(InvalidMetadata::TraceContext { .. })));
}

#[test]
fn logs_show_neither_the_user_nor_entries() {
    let shown = format!("{:?}", full());
    assert!(shown.contains("\"c\""), "{shown}");
    assert!(
        !shown.contains("ann") && !shown.contains("value"),
        "{shown}"
    );
}

#[test]
fn scopes_nest_and_are_left_by_a_panic() {
    let (outer, inner) = (correlated("outer"), correlated("inner"));
    outer.in_scope(|| {
        inner.in_scope(|| assert_eq!(Metadata::current(), inner));
        assert_eq!(Metadata::current(), outer);
        let panic = caught(|| inner.in_scope(|| panic!("in a scope")));
        assert_eq!(panic.unwrap_err(), "in a scope");
        assert_eq!(Metadata::current(), outer);
    });
    assert!(Metadata::current().is_empty());
}

#[test]
fn a_future_has_its_metadata_whenever_it_is_polled_and_nothing_else_has() {
    let metadata = correlated("a");
    let mut ends = false;
    let seen = poll_fn(|_| match std::mem::replace(&mut ends, true) {
        false => Poll::Pending,
        true => Poll::Ready(Metadata::current()),
    });
    let mut future = pin!(metadata.scope(|| {
        let made_in = Metadata::current();
        seen.map(|seen| (made_in, seen))
    }));
    let cx = &mut Context::from_waker(Waker::noop());
    assert!(future.as_mut().poll(cx).is_pending());
    assert!(Metadata::current().is_empty());
    let seen = correlated("b").in_scope(|| future.as_mut().poll(cx));
    assert_eq!(seen, Poll::Ready((metadata.clone(), metadata)));
}

#[test]
fn a_future_in_a_scope_may_go_to_another_thread() {
    fn check<T: Send>(_: T) {}
    check(full().scope(|| async {}));
    check(full());
}
