//! Commands of a plugin's own: their turn, their breaker, and how they are refused.

use actix_persistence_storage_api::{
    CommandAnswer, CommandRules, CommandTurn, JournalCapabilities, JournalCommand, Operation,
    PageLimit, PersistenceId, ReplayRange, StorageError, StorageErrorKind,
};
use futures_util::FutureExt;

use crate::fixture::{
    Fixture, failure, id, is_stored, now, on_paused_clock, seconds, settings, unknown,
};
use crate::scripted_journal::{Call, Probe, settle};

/// A command that the journal does not know.
struct Strange(CommandRules);

impl JournalCommand for Strange {
    type Answer = u64;

    fn rules(&self) -> CommandRules {
        self.0.clone()
    }
}

/// The answer of a command, which must be there by now.
async fn answer<T>(asked: impl Future<Output = T>) -> T {
    settle().await;
    asked.now_or_never().expect("an answer by now")
}

fn failed() -> StorageError {
    StorageError::new(StorageErrorKind::Unavailable, Operation::RunReadingCommand)
}

#[test]
fn a_command_sent_before_initialisation_is_answered_after_it() {
    on_paused_clock(async {
        let mut fixture = Fixture::starting(settings(), JournalCapabilities::default());
        let initialize = fixture.calls.next().await;
        let asked = fixture.handle.ask(Probe(CommandRules::beside()));
        let alone = fixture.handle.ask(Probe(CommandRules::alone()));
        assert!(fixture.calls.is_quiet().await);
        initialize.works();
        for turn in [CommandTurn::Beside, CommandTurn::Alone] {
            let called = fixture.calls.next().await;
            assert_eq!(called.call, Call::Command(turn));
            called.works();
        }
        assert_eq!(answer(asked).await.unwrap(), 7);
        assert_eq!(answer(alone).await.unwrap(), 7);
    });
}

#[test]
fn a_command_is_refused_while_the_journal_cannot_be_initialised() {
    on_paused_clock(async {
        let mut fixture = Fixture::starting(settings(), JournalCapabilities::default());
        let asked = fixture.handle.ask(Probe(CommandRules::alone()));
        let error = StorageError::new(StorageErrorKind::SchemaMismatch, Operation::Initialize);
        fixture.calls.next().await.fails(error);
        let error = answer(asked).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Unavailable);
        assert!(error.is_not_stored());
        assert_eq!(error.persistence_id(), None);
    });
}

#[test]
fn a_command_that_the_journal_does_not_know_is_refused_by_name() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for (rules, is_not_stored) in [
            (CommandRules::beside(), false),
            (CommandRules::in_order(id("a")), true),
        ] {
            let asked = fixture.handle.ask(Strange(rules));
            fixture.calls.next().await.works();
            let error = answer(asked).await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Unsupported);
            // What changes nothing has no effect.
            assert_eq!(error.is_not_stored(), is_not_stored);
            let text = error.to_string();
            let expected = "journal \"scripted\" does not know the command it::commands::Strange";
            assert!(text.contains(expected), "{text}");
        }
    });
}

#[test]
fn an_answer_to_another_command_is_reported_with_both_names() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let asked = fixture.handle.ask(Strange(CommandRules::beside()));
        let probe = Probe(CommandRules::beside());
        let called = fixture.calls.next().await;
        called.answers(CommandAnswer::to(&probe, 7));
        let error = answer(asked).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Backend);
        let text = error.to_string();
        assert!(
            text.contains("::Strange") && text.contains("::Probe"),
            "{text}"
        );
    });
}

#[test]
fn a_command_beside_the_others_waits_for_nothing() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, write) = fixture.busy().await;
        let asked = fixture.handle.ask(Probe(CommandRules::beside()));
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::Command(CommandTurn::Beside));
        busy.works();
        assert!(is_stored(&now(write).await));
        called.works();
        assert_eq!(answer(asked).await.unwrap(), 7);
    });
}

#[test]
fn a_command_after_an_id_waits_for_that_id_alone() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _write) = fixture.busy().await;
        let of_busy = fixture.handle.ask(Probe(CommandRules::after(id("busy"))));
        let of_other = fixture.handle.ask(Probe(CommandRules::after(id("other"))));
        let called = fixture.calls.next().await;
        assert_eq!(called.call, Call::Command(CommandTurn::After(id("other"))));
        called.works();
        assert_eq!(answer(of_other).await.unwrap(), 7);
        assert!(fixture.calls.is_quiet().await);
        busy.works();
        let called = fixture.calls.next().await;
        // Nothing waits for it.
        let later = fixture.write_nr("busy", 2);
        fixture.calls.next_write().await.0.works();
        assert!(is_stored(&now(later).await));
        called.works();
        assert_eq!(answer(of_busy).await.unwrap(), 7);
    });
}

#[test]
fn a_command_in_order_stands_between_the_writes_of_its_id() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, first) = fixture.busy().await;
        let asked = fixture
            .handle
            .ask(Probe(CommandRules::in_order(id("busy"))));
        let later = fixture.write_nr("busy", 2);
        assert!(fixture.calls.is_quiet().await);
        busy.works();
        assert!(is_stored(&now(first).await));
        let called = fixture.calls.next().await;
        let turn = CommandTurn::InOrder(id("busy"));
        assert_eq!(called.call, Call::Command(turn));
        assert!(fixture.calls.is_quiet().await);
        called.works();
        assert_eq!(answer(asked).await.unwrap(), 7);
        fixture.calls.next_write().await.0.works();
        assert!(is_stored(&now(later).await));
    });
}

#[test]
fn a_late_command_in_order_keeps_the_writes_of_its_id_waiting() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let asked = fixture.handle.ask(Probe(CommandRules::in_order(id("a"))));
        let called = fixture.calls.next().await;
        tokio::time::advance(seconds(10)).await;
        let error = answer(asked).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Timeout);
        assert_eq!(error.persistence_id(), Some(&id("a")));
        assert!(!error.is_not_stored(), "it may still be carried out");
        let write = fixture.write("a");
        assert!(fixture.calls.is_quiet().await);
        called.works();
        fixture.calls.next_write().await.0.works();
        assert!(is_stored(&now(write).await));
    });
}

#[test]
fn an_open_breaker_refuses_a_command_that_counts() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for _ in 0..10 {
            let asked = fixture.handle.ask(Probe(CommandRules::beside()));
            fixture.calls.next().await.fails(failed());
            assert!(answer(asked).await.is_err());
        }
        for rules in [CommandRules::beside(), CommandRules::after(id("a"))] {
            let error = answer(fixture.handle.ask(Probe(rules))).await.unwrap_err();
            let text = error.to_string();
            assert!(text.contains("reads of journal \"scripted\""), "{text}");
        }
        assert!(fixture.calls.is_quiet().await);

        // Writes have a breaker of their own, which is that of commands that change something.
        let write = fixture.write("a");
        fixture.calls.next().await.works();
        assert!(is_stored(&now(write).await));
        let error = unknown(StorageErrorKind::Unavailable);
        fixture.fail_writes(10, &error).await;
        for rules in [CommandRules::in_order(id("a")), CommandRules::alone()] {
            let error = answer(fixture.handle.ask(Probe(rules))).await.unwrap_err();
            let text = error.to_string();
            assert!(text.contains("writes of journal \"scripted\""), "{text}");
            assert!(error.is_not_stored());
        }
    });
}

#[test]
fn a_command_without_breaker_passes_an_open_one_and_counts_for_none() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let turns = || {
            let ids = [
                CommandRules::after(id("a")),
                CommandRules::in_order(id("a")),
            ];
            let others = [CommandRules::beside(), CommandRules::alone()];
            ids.into_iter().chain(others)
        };
        let limit = seconds(3_600);
        for rules in std::iter::repeat_n((), 10).flat_map(|()| turns()) {
            let asked = fixture.handle.ask(Probe(rules.without_breaker(limit)));
            let error = StorageError::new(StorageErrorKind::Backend, Operation::RunCommand);
            fixture.calls.next().await.fails(error);
            assert!(answer(asked).await.is_err());
        }
        let write = fixture.write("a");
        fixture.calls.next().await.works();
        assert!(is_stored(&now(write).await), "no breaker has counted");

        let error = unknown(StorageErrorKind::Backend);
        fixture.fail_writes(10, &error).await;
        for rules in turns() {
            let asked = fixture.handle.ask(Probe(rules.without_breaker(limit)));
            fixture.calls.next().await.works();
            assert_eq!(answer(asked).await.unwrap(), 7);
        }
        // It has not closed the breaker either.
        assert!(failure(now(fixture.write("a")).await).is_not_stored());
    });
}

#[test]
fn a_command_without_breaker_may_take_as_long_as_it_says() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for rules in [CommandRules::beside(), CommandRules::in_order(id("a"))] {
            let rules = rules.without_breaker(seconds(600));
            let asked = fixture.handle.ask(Probe(rules.clone()));
            let called = fixture.calls.next().await;
            tokio::time::advance(seconds(590)).await;
            called.works();
            assert_eq!(answer(asked).await.unwrap(), 7);

            let asked = fixture.handle.ask(Probe(rules));
            let called = fixture.calls.next().await;
            tokio::time::advance(seconds(600)).await;
            let error = answer(asked).await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Timeout);
            called.works();
        }
    });
}

#[test]
fn a_command_whose_asker_has_left_is_not_sent() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let (busy, _write) = fixture.busy().await;
        for rules in [
            CommandRules::after(id("busy")),
            CommandRules::in_order(id("busy")),
            CommandRules::alone(),
        ] {
            drop(fixture.handle.ask(Probe(rules)));
        }
        let later = fixture.write("other");
        busy.works();
        let (called, ids) = fixture.calls.next_write().await;
        assert_eq!(ids, ["other"]);
        called.works();
        assert!(is_stored(&now(later).await));
        assert!(fixture.calls.is_quiet().await);
    });
}

#[test]
fn a_command_under_way_goes_on_without_its_asker() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let asked = fixture.handle.ask(Probe(CommandRules::beside()));
        let called = fixture.calls.next().await;
        drop(asked);
        assert!(fixture.handle.drained().now_or_never().is_none());
        called.works();
        fixture.handle.drained().await;
    });
}

#[test]
fn a_command_that_panics_is_answered() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        for rules in [CommandRules::beside(), CommandRules::alone()] {
            let asked = fixture.handle.ask(Probe(rules));
            fixture.calls.next().await.panics();
            let error = answer(asked).await.unwrap_err();
            assert_eq!(error.kind(), StorageErrorKind::Backend);
        }
        let write = fixture.write("a");
        fixture.calls.next().await.works();
        assert!(is_stored(&now(write).await));
    });
}

#[test]
fn a_command_about_an_invalid_id_is_refused() {
    on_paused_clock(async {
        let fixture = Fixture::ready().await;
        let invalid = PersistenceId::of_unique("");
        let asked = fixture.handle.ask(Probe(CommandRules::in_order(invalid)));
        let error = answer(asked).await.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::Unsupported);
        assert!(error.is_not_stored());
    });
}

#[test]
fn a_command_that_waits_when_the_handle_goes_is_answered() {
    on_paused_clock(async {
        let Fixture { handle, mut calls } =
            Fixture::starting(settings(), JournalCapabilities::default());
        calls.next().await.fails(StorageError::new(
            StorageErrorKind::Unavailable,
            Operation::Initialize,
        ));
        let asked = handle.ask(Probe(CommandRules::alone()));
        drop(handle);
        assert!(calls.recv().await.is_none());
        assert!(answer(asked).await.unwrap_err().is_not_stored());
    });
}

#[test]
fn replays_go_on_beside_a_command_that_is_alone() {
    on_paused_clock(async {
        let mut fixture = Fixture::ready().await;
        let asked = fixture.handle.ask(Probe(CommandRules::alone()));
        let called = fixture.calls.next().await;
        let page = fixture
            .handle
            .replay(id("a"), ReplayRange::ALL, PageLimit::DEFAULT);
        let read = fixture.handle.read_highest_sequence_nr(id("a"));
        fixture.calls.next().await.works();
        fixture.calls.next().await.works();
        assert!(now(page).await.is_ok());
        assert!(now(read).await.is_ok());
        called.works();
        assert_eq!(answer(asked).await.unwrap(), 7);
    });
}
