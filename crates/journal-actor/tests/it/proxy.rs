//! The actor as a journal.

use std::sync::Arc;

use actix_persistence_journal_actor::JournalProxy;
use actix_persistence_storage_api::{
    AnyCommand, CommandRules, Journal, JournalCapabilities, Operation, PageLimit, ReplayRange,
    StorageError, StorageErrorKind, TakeOverRequest, WriteOutcome, WriterId,
};

use crate::fixture::{Fixture, atomic_write, id, not_stored, on_paused_clock, settings};
use crate::scripted_journal::{Call, Probe, ScriptedJournal};

#[test]
fn a_call_with_several_ids_gives_its_outcomes_in_order() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let proxy = JournalProxy::new(fixture.handle.clone());
        let writes = vec![
            atomic_write("b", 1, 1, 1),
            atomic_write("a", 1, 1, 1),
            atomic_write("b", 2, 1, 1),
        ];
        let calls = async {
            // The first finds the lane idle; the second has waited meanwhile.
            let (called, ids) = fixture.calls.next_write().await;
            assert_eq!(ids, ["a", "b", "b"]);
            let rejection = WriteOutcome::Rejected(not_stored(StorageErrorKind::TooLarge));
            called.outcomes(vec![WriteOutcome::Stored, rejection, WriteOutcome::Skipped]);
        };
        let (outcomes, ()) = tokio::join!(proxy.write_messages(writes), calls);
        let outcomes = outcomes.unwrap();
        assert!(
            matches!(
                outcomes.as_slice(),
                [
                    WriteOutcome::Rejected(_),
                    WriteOutcome::Stored,
                    WriteOutcome::Skipped
                ]
            ),
            "{outcomes:?}"
        );
        assert!(proxy.write_messages(Vec::new()).await.unwrap().is_empty());
    });
}

#[test]
fn every_method_reaches_the_journal() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let proxy = JournalProxy::new(fixture.handle.clone());
        let a = id("a");
        let serve = async {
            for expected in ["TakeOver", "Replay", "ReadHighest", "Delete"] {
                let called = fixture.calls.next().await;
                assert!(format!("{called:?}").starts_with(expected), "{called:?}");
                called.works();
            }
            let called = fixture.calls.next().await;
            assert_eq!(called.call, Call::ReadHighest(id("a")));
            let operation = Operation::ReadHighestSequenceNr;
            called.fails(StorageError::new(StorageErrorKind::Corrupt, operation));
            fixture.calls.next().await.works();
        };
        let ask = async {
            proxy.initialize().await.unwrap();
            let request = |name| TakeOverRequest::new(id(name), WriterId::NIL);
            let taken = proxy
                .take_over(&[request("b"), request("a")])
                .await
                .unwrap();
            assert_eq!(taken.len(), 2);
            assert_eq!(taken[1].highest_sequence_nr, 7);
            let page = PageLimit::DEFAULT;
            let page = proxy.replay_messages(&a, ReplayRange::ALL, page).await;
            assert!(!page.unwrap().more);
            assert_eq!(proxy.read_highest_sequence_nr(&a).await.unwrap(), 7);
            proxy.delete_messages_to(&a, 1.into()).await.unwrap();
            let error = proxy.read_highest_sequence_nr(&a).await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Corrupt);
            let probe = AnyCommand::new(Probe(CommandRules::beside()));
            let answer = proxy.run_command(&probe).await.unwrap().unwrap();
            assert_eq!(answer.take::<Probe>(), Some(7));
        };
        tokio::join!(serve, ask);
    });
}

#[tokio::test]
async fn can_be_spawned_without_a_system() {
    let capabilities = JournalCapabilities::default().with_tags();
    let (journal, mut calls) = ScriptedJournal::new(capabilities.clone());
    let proxy = JournalProxy::spawn(Arc::new(journal), settings()).unwrap();
    calls.next().await.works();
    proxy.initialize().await.unwrap();
    assert_eq!(proxy.capabilities(), capabilities);
    let read = tokio::spawn({
        let proxy = proxy.clone();
        async move { proxy.read_highest_sequence_nr(&id("a")).await }
    });
    calls.next().await.works();
    assert_eq!(read.await.unwrap().unwrap(), 7);
}
