//! The answers to a recovery that only looks at its id, and the cases in which it takes the id over after all.

use actix_persistence_journal_actor::Standing;
use actix_persistence_storage_api::{Fence, Operation, StorageError, StorageErrorKind, WriterId};

use crate::fixture::{Fixture, id, is_stored, now, on_paused_clock, seconds};
use crate::scripted_journal::Call;

fn failure() -> StorageError {
    StorageError::new(StorageErrorKind::Backend, Operation::WriteMessages)
}

#[test]
fn a_look_waits_for_that_ids_write_and_takes_nothing_over() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let write = fixture.write("a");
        let called = fixture.calls.next().await;
        let look = fixture.handle.look(id("a"), WriterId::NIL);
        assert!(fixture.calls.is_quiet().await);
        called.works();
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::Head(id("a")));
        called.works();
        assert!(is_stored(&now(write).await));
        let expected = Standing {
            highest_sequence_nr: 7,
            deleted_to: 0,
            fence: Fence::TakesOver { from: 1 },
        };
        assert_eq!(now(look).await.unwrap(), expected);
    });
}

#[test]
fn a_look_after_a_write_that_certainly_failed_takes_nothing_over() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let write = fixture.write("a");
        fixture.calls.next().await.fails(failure().not_stored());
        now(write).await;
        let _look = fixture.handle.look(id("a"), WriterId::NIL);
        assert_eq!(fixture.calls.next().await.call, Call::Head(id("a")));
    });
}

#[test]
fn a_look_after_a_write_of_unknown_outcome_takes_the_id_over_once() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let write = fixture.write("a");
        fixture.calls.next().await.fails(failure());
        now(write).await;
        // Whoever only reads never does.
        let head = fixture.handle.read_head(id("a"));
        fixture.calls.next().await.works();
        assert_eq!(now(head).await.unwrap().epoch, 1);

        let look = fixture.handle.look(id("a"), WriterId::NIL);
        let called = fixture.calls.next().await;
        assert!(matches!(called.call, Call::TakeOver(_)), "{called:?}");
        called.fails(failure());
        assert!(now(look).await.is_err());

        let look = fixture.handle.look(id("a"), WriterId::NIL);
        let called = fixture.calls.next().await;
        assert!(matches!(called.call, Call::TakeOver(_)), "{called:?}");
        called.works();
        assert_eq!(now(look).await.unwrap().fence, Fence::Holds(1));

        let _look = fixture.handle.look(id("a"), WriterId::NIL);
        assert_eq!(fixture.calls.next().await.call, Call::Head(id("a")));
    });
}

#[test]
fn a_look_while_a_late_write_goes_on_waits_for_it_and_takes_the_id_over() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let write = fixture.write("a");
        let late = fixture.calls.next().await;
        tokio::time::sleep(seconds(11)).await;
        assert!(!is_stored(&now(write).await), "nobody waits any more");
        let look = fixture.handle.look(id("a"), WriterId::NIL);
        assert!(fixture.calls.is_quiet().await);
        late.works();
        let called = fixture.calls.next().await;
        assert!(matches!(called.call, Call::TakeOver(_)), "{called:?}");
        called.works();
        assert_eq!(now(look).await.unwrap().fence, Fence::Holds(1));
    });
}

#[test]
fn looks_at_ids_that_have_to_be_taken_over_share_a_call() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for name in ["a", "b"] {
            let write = fixture.write(name);
            fixture.calls.next().await.fails(failure());
            now(write).await;
        }
        let (busy, _reply) = fixture.busy().await;
        let looks = ["a", "b"].map(|name| fixture.handle.look(id(name), WriterId::NIL));
        assert!(fixture.calls.is_quiet().await);
        busy.works();
        let called = fixture.calls.next().await;
        let Call::TakeOver(requests) = &called.call else {
            panic!("{called:?}");
        };
        assert_eq!(requests.len(), 2);
        called.works();
        for look in looks {
            assert_eq!(now(look).await.unwrap().fence, Fence::Holds(1));
        }
    });
}
