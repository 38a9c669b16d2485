//! An event that no step reads makes the recovery fail, and everybody learns why.

use actix_persistence_persistent_actor::{
    DecodeError, ErrorChain, EventMeta, PersistError, RecoveryError, replay_actor, replay_events,
};
use actix_persistence_storage_api::ReplayRange;

use super::ledger::{Entered, Ledger, entered, id, json, save, with};
use crate::tally::{Log, chain};
use crate::world::run;

const READS: &str = "this program reads versions 1 to 2 of \"entered\", versions 1 to 4 of \"ledger.entered\", \
                     version 1 of \"ledger.entered-at-once\", every version of \"ledger.looked-at\" as nothing";

#[test]
fn actor_asker_and_readers_learn_which_step_is_missing() {
    for (manifest, cause) in [
        ("entered:v3", "no step reads version 3 of \"entered\""),
        (
            "ledger.entered:v5",
            "version 5 of \"ledger.entered\" is of a newer program",
        ),
        ("paid:v1", "unknown manifest \"paid:v1\""),
    ] {
        run(move || async move {
            let world = with(&[("entered:v1", "1"), (manifest, "{}"), ("entered:v1", "3")]).await;
            let told = format!(
                "could not decode event 2 of \"Ledger|1\", stored by serializer 2 as {manifest:?}: {cause}; {READS}"
            );
            let (entries, answer) = entered(&world, Ledger::new).await;
            assert_eq!(entries, [format!("recovery failed: {told}")]);
            let error = answer.unwrap_err();
            assert!(error.is_not_stored());
            let expected = format!(
                "the command was not processed, because its actor could not be recovered: {told}"
            );
            assert_eq!(ErrorChain(&error).to_string(), expected);
            let PersistError::NotRecovered(error) = error else {
                unreachable!("{error}")
            };
            assert!(
                !error.is_transient(),
                "another attempt finds no step, either"
            );

            let replayed = replay_actor(Ledger::new(&Log::default()), world.environment.clone());
            assert_eq!(chain(&replayed.await.err().unwrap()), told);
            let seen = |_: &mut (), _: &EventMeta, _: Entered| {};
            let read = replay_events(&world.environment, id(), ReplayRange::ALL, (), seen);
            assert_eq!(chain(&read.await.unwrap_err()), told);
        });
    }
}

#[test]
fn a_snapshot_without_a_step_fails_the_recovery() {
    run(|| async {
        let world = with(&[("entered:v1", "1"), ("entered:v1", "2")]).await;
        for (manifest, cause) in [
            ("ledger.sum:v1", "no step reads version 1 of \"ledger.sum\""),
            ("sum:v1", "no step reads version 1 of \"sum\""),
        ] {
            save(&world, 1, json(manifest, "1")).await;
            let (entries, answer) = entered(&world, Ledger::new).await;
            let told = format!(
                "could not decode the snapshot of \"Ledger|1\" at 1, stored by serializer 2 as {manifest:?}: {cause}; \
                 this program reads versions 2 to 3 of \"ledger.sum\", version 2 of \"sum\""
            );
            assert_eq!(entries, [format!("recovery failed: {told}")]);
            assert!(
                ErrorChain(&answer.unwrap_err())
                    .to_string()
                    .ends_with(&told)
            );
        }
    });
}

#[test]
fn a_step_that_panics_fails_the_recovery_and_its_event_is_named() {
    for (manifest, text) in [
        ("entered:v1", "13"),
        ("ledger.entered-at-once:v1", "[1,13]"),
    ] {
        run(move || async move {
            let world = with(&[("entered:v1", "1"), (manifest, text)]).await;
            let (entries, answer) = entered(&world, Ledger::new).await;
            let told = format!(
                "could not decode event 2 of \"Ledger|1\", stored by serializer 2 as {manifest:?}: \
                 a step from {manifest:?} to the form of today panicked: an unlucky number"
            );
            assert_eq!(entries, [format!("recovery failed: {told}")]);
            assert!(
                ErrorChain(&answer.unwrap_err())
                    .to_string()
                    .ends_with(&told)
            );

            let replayed = replay_actor(Ledger::new(&Log::default()), world.environment.clone());
            let error = replayed.await.err().unwrap();
            assert!(
                matches!(
                    &error,
                    RecoveryError::Event {
                        sequence_nr: 2,
                        source: DecodeError::StepPanicked { .. },
                        ..
                    }
                ),
                "{error:?}"
            );
        });
    }
}
