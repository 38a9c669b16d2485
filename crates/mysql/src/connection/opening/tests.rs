//! The requirements on a server.

use super::*;

fn server(text: &str) -> Server {
    Server {
        is_mariadb: text.contains("MariaDB"),
        version: version_of(text),
        text: text.to_owned(),
        max_allowed_packet: 16 * 1024 * 1024,
        flush_log_at_commit: 1,
        has_binary_log: false,
        sync_binary_log: 0,
        is_read_only: false,
        logs_statements: false,
    }
}

fn options() -> MysqlOptions {
    MysqlOptions::new("mysql://user@localhost/bank")
}

fn text(error: Result<(), SqlError>) -> String {
    match error {
        Err(SqlError::Refused { message, .. }) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn old_servers_are_refused_by_name() {
    for good in [
        "8.0.16",
        "8.4.3",
        "9.1.0-commercial",
        "10.6.1-MariaDB",
        "10.11.14-MariaDB-0+deb12u2",
        "5.5.5-10.11.2-MariaDB-log",
        "11.8.3-MariaDB",
    ] {
        server(good).check_version().unwrap();
    }
    for (bad, expected) in [
        ("5.7.44", "the server is MySQL 5.7.44; use 8.0.16 or newer"),
        (
            "10.5.9-MariaDB",
            "the server is MariaDB 10.5.9-MariaDB; use 10.6.0 or newer",
        ),
        ("", "the server is MySQL ; use 8.0.16 or newer"),
    ] {
        assert_eq!(text(server(bad).check_version()), expected);
    }
}

#[test]
fn a_server_that_may_lose_commits_is_refused_unless_that_is_wanted() {
    let lax = Server {
        flush_log_at_commit: 2,
        ..server("8.4.0")
    };
    let refused = text(lax.check_writing(&options()));
    assert!(
        refused.contains("innodb_flush_log_at_trx_commit is 2"),
        "{refused}"
    );
    lax.check_writing(&options().with_durability(Durability::Server))
        .unwrap();
    let unsynced = Server {
        has_binary_log: true,
        ..server("8.4.0")
    };
    let refused = text(unsynced.check_writing(&options()));
    assert!(refused.contains("sync_binlog is 0"), "{refused}");
    server("8.4.0").check_writing(&options()).unwrap();
}

/// As a number, each of the names would be 0.
#[test]
fn every_level_of_read_only_keeps_writers_away() {
    for writable in ["0", "OFF"] {
        assert!(!is_read_only(writable), "{writable}");
    }
    for level in ["1", "ON", "NO_LOCK", "NO_LOCK_NO_ADMIN"] {
        assert!(is_read_only(level), "{level}");
    }
}

#[test]
fn limits_must_fit_into_a_packet() {
    let fits = |bytes| options().with_store(|store| store.with_max_event_bytes(bytes));
    let packet = 16 * 1024 * 1024;
    server("8.4.0")
        .check_writing(&fits(packet - PACKET_BESIDE))
        .unwrap();
    let refused = text(server("8.4.0").check_writing(&fits(packet)));
    assert!(
        refused.contains("max_allowed_packet") && refused.contains("'max-event-bytes'"),
        "{refused}"
    );
}

#[test]
fn commits_show_early_unless_the_binary_log_is_synced_first() {
    let early = |has_binary_log, sync_binary_log| {
        let server = Server {
            has_binary_log,
            sync_binary_log,
            ..server("10.11.6-MariaDB")
        };
        server.shows_commits_early()
    };
    assert_eq!(early(false, 1), Some("it has no binary log"));
    assert_eq!(early(true, 0), Some("its sync_binlog is not 1"));
    assert_eq!(early(true, 1), None);
}
