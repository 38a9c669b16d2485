//! Snapshots of older programs.

use actix_persistence_persistent_actor::Recovery;

use super::ledger::{Ledger, entered, json, save, with};
use crate::logging::{collect, has_line};
use crate::world::run;

#[test]
fn a_snapshot_of_an_older_version_or_name_is_the_start_of_the_recovery() {
    run(|| async {
        let world = with(&[("entered:v1", "1"), ("entered:v1", "2")]).await;
        for (manifest, text) in [
            ("ledger.sum:v2", "1"),
            ("sum:v2", "1"),
            ("ledger.sum:v3", r#"{"cents":1,"entries":1}"#),
        ] {
            save(&world, 1, json(manifest, text)).await;
            let (entries, _) = entered(&world, Ledger::new).await;
            assert_eq!(entries[..2], ["snapshot 1: 1", "2: 2"], "{manifest}");
        }
    });
}

#[test]
fn only_where_snapshots_are_optional_is_one_passed_over_with_a_warning() {
    run(|| async {
        collect();
        let world = with(&[("entered:v1", "1"), ("entered:v1", "2")]).await;
        save(&world, 1, json("ledger.sum:v1", "1")).await;
        let optional = |log: &_| Ledger {
            recovery: Recovery::default().with_snapshot_is_optional(true),
            ..Ledger::new(log)
        };
        let (entries, answer) = entered(&world, optional).await;
        assert_eq!(entries[..3], ["1: 1", "2: 2", "recovered at 2"]);
        assert_eq!(answer.unwrap(), (103, 3));
        has_line(&[
            "WARN",
            "Ledger|1",
            "passed over",
            "no step reads version 1 of \"ledger.sum\"",
        ]);
    });
}
