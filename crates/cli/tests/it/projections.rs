//! Looking at projections, and managing them, while no process runs them.

use actix_persistence::storage_api::{OffsetStore, ParkedRequest};
use serde_json::json;

use crate::bank::account;
use crate::ledger::{Ledger, after, key};

#[test]
fn the_list_says_how_each_projection_is() {
    let ledger = Ledger::with_events(9);
    assert_eq!(ledger.output(&["list"]), "");
    let (balances, mails) = (key("balances"), key("mails"));
    ledger.project(&balances, 1, 9);
    ledger.project(&balances.clone().with_version(2), 1, 4);
    ledger.project(&mails, 3, 0);
    ledger.park(&balances.clone().with_version(2), &account(0));
    ledger.halt(&mails, 1, "no route to host");
    ledger.output(&["pause", "mails"]);

    let listed = ledger.output(&["list", "--journal", "books"]);
    let lines: Vec<_> = listed.lines().collect();
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(words(lines[0])[..3], ["NAME", "VERSION", "LIVE"]);
    let reached = |second| format!("1970-01-01T00:00:0{second}Z");
    assert_eq!(
        words(lines[1]),
        [
            "balances",
            "1",
            "yes",
            "1",
            "0",
            "-",
            "-",
            "-",
            &reached(9),
            "caught",
            "up"
        ]
    );
    assert_eq!(
        words(lines[2])[..9],
        ["balances", "2", "-", "1", "0", "-", "-", "1", &reached(4)]
    );
    assert!(lines[2].contains('d'), "it is behind by years: {listed}");
    assert_eq!(
        words(lines[3]),
        [
            "mails", "1", "yes", "3", "0", "yes", "1", "-", "-", "unknown"
        ]
    );
    assert_eq!(lines.len(), 4);

    let listed = ledger.json(&["list", "--json"]);
    assert_eq!(listed[0]["name"], "balances");
    assert_eq!(listed[0]["handled"], 9);
    assert_eq!(listed[0]["caught_up"], json!(null), "no journal was named");
    assert_eq!(listed[1]["parked"], 1);
    assert_eq!(listed[2]["halted"], 1);
    let listed = ledger.json(&["list", "--json", "--journal", "books"]);
    assert_eq!(listed[0]["behind_seconds"], 0.0);
    assert_eq!(listed[1]["caught_up"], false);
    assert_eq!(listed[2]["behind_seconds"], json!(null));
}

#[test]
fn the_shares_of_a_projection_are_shown_with_holder_and_reason() {
    let ledger = Ledger::with_events(9);
    let mails = key("mails");
    ledger.project(&mails, 2, 4);
    ledger.step(&mails, |commit| commit.with_handled(3));
    ledger.halt(&mails, 1, "no route to host");
    let shown = ledger.output(&["show", "mails"]);
    for expected in [
        "mails@1: live; no process runs it\n",
        "share 0, slices 0 to 511: held by teller, lease ends in ",
        "  handled 7, the last one of 1970-01-01T00:00:04Z\n  continues after 0/1.5.0.0:\n",
        "share 1, slices 512 to 1023: held by no process\n  handled 0\n",
        "  attempts since the last progress: 1\n  halted: no route to host\n  continues at the start\n",
    ] {
        assert!(shown.contains(expected), "{expected:?} is not in:\n{shown}");
    }
    let shown = ledger.json(&["show", "mails@1", "--json", "--journal", "books"]);
    assert_eq!(shown["name"], "mails");
    assert_eq!(shown["share"][0]["holder"], "teller");
    assert_eq!(shown["share"][0]["slices"], json!([0, 511]));
    assert_eq!(shown["share"][0]["caught_up"], false);
    assert_eq!(shown["share"][1]["halted"], "no route to host");
    assert_eq!(shown["share"][1]["progress"][0]["offset"], "");
}

#[test]
fn a_projection_is_paused_resumed_and_divided_without_a_process() {
    let ledger = Ledger::with_events(1);
    let mails = key("mails");
    ledger.project(&mails, 2, 0);
    ledger.halt(&mails, 1, "no route to host");
    for _ in 0..2 {
        ledger.output(&["pause", "mails"]);
        assert!(ledger.record(&mails).unwrap().paused);
    }
    ledger.output(&["resume", "mails"]);
    let record = ledger.record(&mails).unwrap();
    assert!(!record.paused && record.shares[1].halted.is_none());
    let said = ledger.output(&["divide", "mails", "5"]);
    assert_eq!(said, "mails@1 has 5 shares\n");
    assert_eq!(ledger.record(&mails).unwrap().shares.len(), 5);
    for shares in ["0", "1025", "many"] {
        ledger.refusal(&["divide", "mails", shares], 2);
    }
}

#[test]
fn a_reset_says_what_it_would_do_and_does_it_with_yes() {
    let ledger = Ledger::with_events(200);
    let (mails, at_200) = (key("mails"), after(200).to_string());
    ledger.project(&mails, 1, 200);
    // A minute is left for clocks that differ.
    for (to, expected, continues) in [
        (&["--to-start"][..], "", "at the start"),
        (
            &["--to-offset", "0/1.8.0.0:"],
            "0/1.8.0.0:",
            "after 0/1.8.0.0:",
        ),
        (
            &["--to-time", "1970-01-01T00:02:30Z"],
            "0/1.90.0.0:",
            "after 0/1.90.0.0:",
        ),
        (
            &["--to-time", "1970-01-01T00:02:30Z", "--journal", "books"],
            "0/1.90.0.0:",
            "after 0/1.90.0.0:",
        ),
        (&["--to-time", "1970-01-01"], "", "at the start"),
        (&["--to-time", "2100-01-01"], &at_200, "after 0/1.201.0.0:"),
    ] {
        let words = [&["reset", "mails"], to].concat();
        let before = ledger.offsets(&mails);
        let said = ledger.refusal(&words, 2);
        assert!(
            said.contains(&format!("would continue {continues}")),
            "{said}"
        );
        assert!(said.contains("--yes"), "{said}");
        assert_eq!(ledger.offsets(&mails), before);
        let said = ledger.output(&[&words[..], &["--yes"]].concat());
        assert_eq!(said, format!("mails@1 continues {continues}\n"));
        assert_eq!(ledger.offsets(&mails), [expected]);
    }
}

#[test]
fn an_offset_that_does_not_fit_is_refused_with_and_without_yes() {
    let ledger = Ledger::with_events(3);
    let mails = key("mails");
    ledger.project(&mails, 1, 2);
    let states = key("states");
    ledger.block_on(async {
        let store = ledger.store().await;
        store.register(&states, 1, "0/1.2.0:").await.unwrap();
    });
    for (words, code, expected) in [
        (
            &["mails", "--to-offset", "0/1.2.0:"][..],
            1,
            "of another kind than the offset",
        ),
        (
            &["mails", "--to-offset", "3/8.2.0.0:"],
            1,
            "in partition 3 of 8",
        ),
        (&["mails", "--to-offset", "17"], 1, "is no offset"),
        (
            &["states", "--to-time", "1970-01-01"],
            1,
            "of another kind than the offset",
        ),
        (&["mails", "--to-time", "yesterday"], 2, "2026-01-31"),
        (&["mails"], 2, "--to-start"),
        (
            &["mails", "--to-start", "--to-time", "1970-01-01"],
            2,
            "cannot be used with",
        ),
        (
            &["mails", "--to-start", "--journal", "books"],
            2,
            "--to-time",
        ),
    ] {
        for yes in [&[][..], &["--yes"]] {
            let words = [&["reset"], words, yes].concat();
            let said = ledger.refusal(&words, code);
            assert!(said.contains(expected), "{words:?}: {said}");
        }
    }
    assert_eq!(ledger.offsets(&mails), [after(2).to_string()]);
    assert_eq!(ledger.offsets(&states), ["0/1.2.0:"]);
}

/// A script gets an empty output, and a person a line.
fn assert_says_that_there_is_none(ledger: &Ledger, command: &str, line: &str) {
    let run = ledger.run(&[command, "mails"]);
    assert!(run.status.success() && run.stdout.is_empty(), "{run:?}");
    assert_eq!(String::from_utf8(run.stderr).unwrap(), format!("{line}\n"));
}

#[test]
fn what_was_skipped_is_printed_the_latest_first() {
    let ledger = Ledger::with_events(1);
    let mails = key("mails");
    ledger.project(&mails, 1, 0);
    assert_says_that_there_is_none(&ledger, "skipped", "nothing was skipped");
    ledger.skip(&mails, "event 1 of Account|0");
    ledger.skip(&mails, "event 2 of Account|0");
    let line = |number| format!("1970-01-01T00:00:08Z event {number} of Account|0: too much\n");
    let skipped = ledger.output(&["skipped", "mails"]);
    assert_eq!(skipped, line(2) + &line(1));
    let skipped = ledger.json(&["skipped", "mails", "--json", "--limit", "1"]);
    assert_eq!(
        skipped,
        json!([{
            "item": "event 2 of Account|0",
            "offset": "0/1.4.0.0:",
            "reason": "too much",
            "time": "1970-01-01T00:00:08Z",
        }])
    );
}

#[test]
fn what_is_parked_is_printed_and_asked_for() {
    let ledger = Ledger::with_events(1);
    let mails = key("mails");
    ledger.project(&mails, 1, 0);
    assert_says_that_there_is_none(&ledger, "parked", "no id is parked");
    let ids = [account(1), account(2)];
    for id in &ids {
        ledger.park(&mails, id);
    }
    let requests = || {
        let parked = ledger.block_on(async {
            let store = ledger.store().await;
            store.parked(&mails, 0..=1023, None, 9).await.unwrap()
        });
        parked
            .iter()
            .map(|parked| parked.request)
            .collect::<Vec<_>>()
    };
    let said = ledger.output(&["parked", "mails"]);
    let expected = "Account|1: 2 waiting since 1970-01-01T00:00:07Z, retries: 0; event 5 of Account|1: too much\n";
    assert!(said.starts_with(expected), "{said}");
    assert_eq!(said.lines().count(), 2);
    let said = ledger.output(&["parked", "mails", "--limit", "1"]);
    assert_eq!(said, expected);
    let items = ledger.json(&["parked", "mails", "Account|2", "--json"]);
    assert_eq!(items[0]["reason"], "too much");
    assert_eq!(items[1]["item"], "event 6 of Account|2");
    assert_eq!(items[1]["reason"], json!(null));
    assert_eq!(requests(), [None, None]);

    let said = ledger.refusal(&["drop", "mails", "Account|1"], 2);
    assert!(said.contains("every item"), "{said}");
    assert!(said.contains("Account|1: 2 waiting"), "{said}");
    assert!(
        !said.contains("Account|2") && said.contains("--yes"),
        "{said}"
    );
    assert_eq!(requests(), [None, None]);

    let said = ledger.output(&["drop", "mails", "Account|1", "--yes"]);
    assert_eq!(said, "mails@1 is asked to drop Account|1\n");
    assert_eq!(requests(), [Some(ParkedRequest::DropAll), None]);
    let parked = ledger.output(&["parked", "mails"]);
    assert!(parked.contains("too much; is asked to drop\n"), "{parked}");
    ledger.output(&["drop", "mails", "--first", "Account|2", "--yes"]);
    let expected = [ParkedRequest::DropAll, ParkedRequest::DropFirst].map(Some);
    assert_eq!(requests(), expected);
    let retried = ledger.run(&["retry", "mails", "--all"]);
    assert!(retried.status.success(), "{retried:?}");
    let said = String::from_utf8(retried.stderr).unwrap();
    assert!(said.contains("no process runs mails@1"), "{said}");
    assert_eq!(requests(), [Some(ParkedRequest::Retry); 2]);

    for (words, code, expected) in [
        (&["retry", "mails", "Account|3"][..], 1, "Account|3"),
        (
            &["parked", "mails", "Account|3"],
            1,
            "Account|3 is not parked",
        ),
        (&["retry", "mails", ""], 1, "is no persistence id"),
        (&["retry", "mails"], 2, "--all"),
        (
            &["drop", "mails", "--all", "Account|1", "--yes"],
            2,
            "--all",
        ),
    ] {
        let said = ledger.refusal(words, code);
        assert!(said.contains(expected), "{words:?}: {said}");
    }
}

/// Somebody who asks for a retry of what nothing goes on with is told.
#[test]
fn a_request_on_a_halted_share_says_that_it_waits() {
    let ledger = Ledger::with_events(1);
    let mails = key("mails");
    ledger.project(&mails, 1, 0);
    ledger.park(&mails, &account(1));
    let warns = |words: &[&str]| {
        let output = ledger.run(words);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let warning = "share 0 of mails@1 is halted";
    assert!(!warns(&["retry", "mails", "Account|1"]).contains(warning));
    assert!(!warns(&["parked", "mails"]).contains(warning));
    ledger.halt(&mails, 0, "too much");
    for words in [
        &["retry", "mails", "Account|1"][..],
        &["retry", "mails", "--all"],
        &["drop", "mails", "Account|1", "--yes"],
        &["parked", "mails"],
    ] {
        let said = warns(words);
        assert!(
            said.contains(warning) && said.contains("is resumed"),
            "{said}"
        );
        assert!(!said.contains("is paused"), "{said}");
    }
    ledger.output(&["pause", "mails"]);
    assert!(warns(&["retry", "mails", "--all"]).contains("mails@1 is paused"));
    ledger.output(&["resume", "mails"]);
    let said = warns(&["retry", "mails", "--all"]);
    assert!(
        !said.contains("is paused") && !said.contains(warning),
        "{said}"
    );
}

#[test]
fn a_projection_is_removed_with_yes_and_its_other_versions_stay() {
    let ledger = Ledger::with_events(1);
    let (mails, second) = (key("mails"), key("mails").with_version(2));
    ledger.project(&mails, 2, 0);
    ledger.project(&second, 1, 0);
    let said = ledger.refusal(&["remove", "mails"], 1);
    assert!(said.contains("name one of mails@1, mails@2"), "{said}");
    let said = ledger.refusal(&["remove", "mails@1"], 2);
    for expected in [
        "mails@1, which is live,",
        "2 shares",
        "read model stays",
        "--yes",
    ] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(ledger.record(&mails).is_some());
    ledger.output(&["remove", "mails@1", "--yes"]);
    assert_eq!(ledger.record(&mails), None);
    let record = ledger.record(&second).unwrap();
    assert!(!record.live);
    let said = ledger.refusal(&["remove", "mails@1", "--yes"], 1);
    assert!(
        said.contains("no projection mails@1; there are mails@2"),
        "{said}"
    );
}

#[test]
fn a_version_is_made_live_once_it_has_what_the_live_one_has() {
    let ledger = Ledger::with_events(9);
    let (old, new) = (key("mails"), key("mails").with_version(2));
    ledger.project(&old, 1, 7);
    ledger.project(&new, 1, 5);
    let words = ["make-live", "mails@2", "--within", "1"];
    let said = ledger.refusal(&words, 1);
    assert!(
        said.contains("was not ready to be live within 1s"),
        "{said}"
    );
    let is_live = |key| ledger.record(key).unwrap().live;
    assert!(is_live(&old) && !is_live(&new));
    assert!(!ledger.record(&old).unwrap().paused, "it goes on");

    ledger.reach(&new, 9);
    assert_eq!(ledger.output(&words), "mails@2 is live\n");
    assert!(is_live(&new) && !is_live(&old));
    assert!(ledger.record(&old).unwrap().paused);
    assert_eq!(ledger.output(&words), "mails@2 is live\n");

    // Back to the old one, which is behind: its processes go on, and it has to catch up.
    ledger.output(&["resume", "mails@1"]);
    ledger.reach(&old, 9);
    ledger.output(&["make-live", "mails@1", "--within", "60"]);
    assert!(is_live(&old) && !is_live(&new));
}

#[test]
fn an_unknown_projection_is_an_error_that_names_those_that_are_there() {
    let ledger = Ledger::with_events(1);
    for words in [
        &["show", "mials"][..],
        &["watch", "mials"],
        &["pause", "mials"],
        &["resume", "mials"],
        &["reset", "mials", "--to-start", "--yes"],
        &["divide", "mials", "3"],
        &["skipped", "mials"],
        &["parked", "mials"],
        &["retry", "mials", "--all"],
        &["drop", "mials", "--all", "--yes"],
        &["remove", "mials", "--yes"],
        &["make-live", "mials"],
    ] {
        let said = ledger.refusal(words, 1);
        assert!(said.contains("there is no projection in this"), "{said}");
    }
    ledger.project(&key("mails"), 1, 0);
    let said = ledger.refusal(&["show", "mials"], 1);
    assert!(
        said.contains("there is no projection mials; there are mails@1"),
        "{said}"
    );
    let said = ledger.refusal(&["show", "mails@x"], 2);
    assert!(said.contains("as in balances@2"), "{said}");
    let said = ledger.refusal(&["list", "--offset-store", "ledger"], 1);
    assert!(said.contains("'ledger'"), "{said}");
    let said = ledger.refusal(&["list", "--journal", "ledger"], 1);
    assert!(said.contains("'ledger'"), "{said}");
}

#[test]
fn no_database_or_table_is_made_for_a_look_at_projections() {
    let ledger = Ledger::with_events(1);
    std::fs::remove_file(ledger.file()).unwrap();
    let said = ledger.refusal(&["list"], 1);
    assert!(said.contains("there is no database"), "{said}");
    assert!(said.contains("makes no database and no table"), "{said}");
    assert!(!ledger.file().exists());
    std::fs::write(ledger.file(), "").unwrap();
    let said = ledger.refusal(&["list"], 1);
    assert!(said.contains("the tables of the"), "{said}");
    assert_eq!(std::fs::metadata(ledger.file()).unwrap().len(), 0);
}

#[test]
fn only_the_stores_that_are_needed_are_opened() {
    let ledger = Ledger::with_events(3);
    ledger.project(&key("mails"), 1, 3);
    let config = std::fs::read_to_string(ledger.config()).unwrap();
    let lost = |store: &str| {
        format!(
            "[persistence.{store}.lost]\nkind = \"sqlite\"\nurl = \"sqlite:///no/such/lost.db\"\n"
        )
    };
    let others = ["journal", "snapshot-store", "state"].map(lost).concat();
    std::fs::write(ledger.config(), format!("{config}{others}")).unwrap();
    assert!(ledger.output(&["list"]).contains("mails"));
    ledger.output(&["reset", "mails", "--to-start", "--yes"]);
    let said = ledger.refusal(&["reset", "mails", "--to-time", "1970-01-01", "--yes"], 1);
    assert!(said.contains("lost"), "{said}");
}
