//! The pages of the guide whose programs need nothing but arguments.

use crate::program::{output_of, stdout_of};

fn lines(name: &str, folder: &std::path::Path, arguments: &[&str]) -> Vec<String> {
    let output = stdout_of(name, folder, arguments);
    output.lines().map(str::to_owned).collect()
}

/// docs/guide/getting-started.md
#[test]
fn the_bell_goes_on_counting_in_the_second_run() {
    let folder = tempfile::tempdir().unwrap();
    let program = "getting_started";
    let run = || lines(program, folder.path(), &["bell.db"]);
    assert_eq!(run(), ["rung 1 times", "rung 2 times"]);
    assert_eq!(run(), ["rung 3 times", "rung 4 times"]);
}

/// docs/guide/own-tables.md
#[test]
fn the_table_of_the_shop_is_made_once_and_keeps_step() {
    let folder = tempfile::tempdir().unwrap();
    let program = "own_tables";
    for _ in 0..2 {
        let expected = ["ann has 2 orders of 1200 cents"];
        assert_eq!(lines(program, folder.path(), &["shop.db"]), expected);
    }
}

/// docs/guide/backups.md
#[test]
fn the_copy_of_the_ledger_holds_what_was_booked_before() {
    let folder = tempfile::tempdir().unwrap();
    let program = "backups";
    let expected = [
        "booked, now 500",
        "copied: true",
        "booked, now 700",
        "in the copy 500",
    ];
    let arguments = ["ledger.db", "copy.db"];
    assert_eq!(lines(program, folder.path(), &arguments), expected);
}

/// docs/guide/persisting.md
#[test]
fn the_log_is_written_in_the_order_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let program = "persisting";
    let expected = [
        "outer-1",
        "outer-2",
        "inner-1",
        "inner-2",
        "the next command",
        "Tahiti",
        "Sydney",
        "all of them, 6 lines now",
        "answered: 6",
        "all of them, 6 lines now",
        "answered: 6",
        "measured, nothing is stored yet",
        "wind",
        "between wind and water",
        "water",
        "everything is stored, 8 lines",
        "the next command",
        "answered: 10",
    ];
    assert_eq!(lines(program, folder.path(), &[]), expected);
}

/// docs/guide/replying.md
#[test]
fn a_buyer_is_answered_once_and_noticed_besides() {
    let folder = tempfile::tempdir().unwrap();
    let program = "replying";
    let mut output = lines(program, folder.path(), &[]);
    // The notice goes to another actor, before or after the answer.
    output.sort();
    let expected = ["left: 1", "notice: reserved", "sold out", "ticket: 1"];
    assert_eq!(output, expected);
}

/// docs/guide/stashing.md
#[test]
fn customers_wait_until_the_shop_opens_and_the_third_is_sent_away() {
    let folder = tempfile::tempdir().unwrap();
    let program = "stashing";
    let output = lines(program, folder.path(), &[]);
    let before = [
        "by default: capacity 4096, overflow drop",
        "0 sold",
        "Cem is told to come again",
        "open, 2 are waiting",
    ];
    assert_eq!(output[..4], before);
    let served: Vec<_> = output.iter().filter(|l| l.ends_with("served")).collect();
    assert_eq!(served, ["Ann is served", "Ben is served"]);
    assert_eq!(
        output[4..].iter().filter(|l| l.starts_with("sold")).count(),
        2
    );
}

/// docs/guide/recovery.md
#[test]
fn the_ledger_is_there_again_and_is_read_without_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    let program = "recovery";
    let run = || lines(program, folder.path(), &["ledger.db"]);
    let first = [
        "0 events, 0 cents",
        "120 cents",
        "100 cents at event 1",
        "event 1: 100 cents",
        "event 2: 20 cents",
    ];
    assert_eq!(run(), first);
    let second = run();
    let again = ["2 events, 120 cents", "140 cents", "100 cents at event 1"];
    assert_eq!(second[..3], again);
    assert_eq!(second.len(), 6);
}

/// docs/guide/metadata.md
#[test]
fn the_order_and_the_stock_have_the_metadata_of_the_request() {
    let folder = tempfile::tempdir().unwrap();
    let program = "metadata";
    let expected = [
        r#"taking a lamp for Some("order 81")"#,
        r#"the last lamp went to Some("ann")"#,
        r#"event 1 of Some("order 81"), because of Some("request 7"), on the shelf None"#,
        r#"event 1 of Some("order 81"), because of Some("Order|81#1"), on the shelf Some("north")"#,
    ];
    assert_eq!(lines(program, folder.path(), &[]), expected);
}

/// docs/guide/durable-state.md
#[test]
fn the_post_is_deleted_and_its_revisions_go_on_in_the_second_run() {
    let folder = tempfile::tempdir().unwrap();
    let program = "durable_state";
    for before in [0, 3] {
        let expected = [
            format!("Untitled at revision {}", before + 1),
            "1 paragraphs".to_owned(),
            format!("Untitled at revision {}", before + 2),
            "2 paragraphs".to_owned(),
            format!("seen: Untitled at revision {}", before + 2),
            format!("deleted at revision {}", before + 3),
            "gone".to_owned(),
            "there is none".to_owned(),
        ];
        assert_eq!(lines(program, folder.path(), &["blog.db"]), expected);
    }
}

/// docs/guide/durable-state.md
#[test]
fn the_words_of_a_post_are_those_of_its_last_state() {
    let folder = tempfile::tempdir().unwrap();
    let program = "driver_connection";
    let output = lines(program, folder.path(), &["blog.db"]);
    assert_eq!(output, ["6 words", "4 words"]);
}

/// docs/guide/event-queries.md
#[test]
fn readers_of_events_go_on_from_an_offset_that_was_kept() {
    let folder = tempfile::tempdir().unwrap();
    let program = "event_queries";
    let expected = [
        "Account|ann: 2000",
        "Account|bob: 3000",
        "Account|ann: 4000",
        "4 events",
        "2 of bob",
    ];
    assert_eq!(lines(program, folder.path(), &[]), expected);
}

/// docs/guide/projections.md
#[test]
fn a_table_of_balances_is_made_of_events() {
    let folder = tempfile::tempdir().unwrap();
    let expected = ["Account|ann has 2030", "Account|bob has 10"];
    assert_eq!(lines("projections", folder.path(), &[]), expected);
}

/// docs/guide/state-queries.md
#[test]
fn the_display_shows_each_shelf_and_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let program = "state_queries";
    let expected = [
        "[\"Shelf|atlases\", \"Shelf|poems\"]",
        "Shelf|atlases: 1",
        "Shelf|poems: 7",
        "Shelf|atlases is gone",
    ];
    assert_eq!(lines(program, folder.path(), &[]), expected);
}

/// docs/guide/failures.md
#[test]
fn the_jar_breaks_and_is_there_again_without_the_shard() {
    let folder = tempfile::tempdir().unwrap();
    let program = "failures";
    let expected = [
        "1 pieces",
        "rejected, the jar goes on",
        "the write was rejected: encoded as jar.put-in:v1 it takes more than 1048576 bytes, the limit of its store",
        "dropped: Err(MailboxError(Mailbox has closed))",
        "2 pieces",
        "an actor with the persistence id \"Jar|kitchen\" is already running; await its end with `stopped`, or start with `start_when_stopped`",
        "3 pieces",
    ];
    let (stdout, stderr) = output_of(program, folder.path(), &[]);
    assert_eq!(stdout.lines().collect::<Vec<_>>(), expected);
    assert!(stderr.contains("the jar broke"), "{stderr}");
}

/// docs/guide/behaviours.md
#[test]
fn the_checkout_is_in_the_same_phase_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let program = "behaviours";
    let run = |arguments: &[&str]| lines(program, folder.path(), arguments);
    let first = run(&["checkout.db", "tea", "cup", "check-out"]);
    assert_eq!(
        first,
        [
            "Shopping, 0 items",
            "tea: 1 items",
            "cup: 2 items",
            "check-out: checked out"
        ]
    );
    let second = run(&["checkout.db", "milk", "ship", "pay"]);
    assert_eq!(
        second,
        [
            "Paying, 2 items",
            "milk: not now",
            "pay: paid",
            "ship: shipped tea and cup"
        ]
    );
}

/// docs/guide/command-sourcing.md
#[test]
fn taps_are_opened_once_and_never_in_replay() {
    let folder = tempfile::tempdir().unwrap();
    let program = "command_sourcing";
    let run = |arguments: &[&str]| lines(program, folder.path(), arguments);
    let first = run(&["garden.db", "roses:3", "beans:2", "roses:9"]);
    assert_eq!(
        first,
        [
            "opening the tap of the roses",
            "opening the tap of the beans",
            "opening the tap of the roses",
            "beans: 2 litres",
            "roses: 10 litres"
        ]
    );
    let second = run(&["garden.db", "beans:1"]);
    assert_eq!(
        second,
        [
            "opening the tap of the beans",
            "beans: 3 litres",
            "roses: 10 litres"
        ]
    );
}

/// docs/guide/read-only-commands.md
#[test]
fn questions_see_what_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let program = "read_only_commands";
    let expected = [
        "lent: 1",
        "lent: 1",
        "lent: 2",
        "Emma and Dune at event 2",
        "lent: 3",
    ];
    assert_eq!(lines(program, folder.path(), &[]), expected);
}

/// docs/guide/several-processes.md
#[test]
fn a_command_that_another_process_refuses_is_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let program = "several_processes";
    let expected = [
        "both are empty: 0 0",
        "stored here: 1",
        "refused there: another writer took over, the write was not stored",
        "sent again: 2",
        "stale: 1",
        "fresh: 2",
        "a write finds out: 3",
    ];
    assert_eq!(lines(program, folder.path(), &["baskets.db"]), expected);
}
