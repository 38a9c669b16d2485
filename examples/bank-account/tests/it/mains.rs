//! The short program of each database, and the config files.

use actix_persistence_test_servers::Database;

use crate::backend::{Backend, SharedServer, Sqlite};
use crate::bank::Bank;

/// Runs a program on one database three times.
fn books_once_per_id(program: &str, address: &str) {
    let run = |id: &str| {
        let output = std::process::Command::new(program)
            .args([address, id])
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(run("tx-1"), "applied, 1000 cents\n");
    assert_eq!(run("tx-1"), "duplicate, 1000 cents\n");
    assert_eq!(run("tx-2"), "applied, 2000 cents\n");
}

/// Imports the sample with the config file of a database, with another address put in.
fn imports_the_sample(config: &str, backend: &dyn Backend) {
    let bank = Bank::new();
    let folder = env!("CARGO_MANIFEST_DIR");
    let (config, sample) = (
        format!("{folder}/config/{config}"),
        format!("{folder}/sample.csv"),
    );
    let (address, password) = without_password(&backend.address());
    let run = |arguments: &[&str]| {
        let mut command = bank.command(&["--config", &config]);
        for store in ["JOURNAL", "SNAPSHOT_STORE", "STATE", "OFFSET_STORE"] {
            command.env(format!("ACTIX_PERSISTENCE__{store}__BANK__URL"), &address);
        }
        command.env("BANK_PASSWORD", &password);
        let output = command.args(arguments).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        String::from_utf8(output.stdout).unwrap()
    };
    let summary = run(&["import", &sample]);
    assert!(summary.ends_with("duplicate 2 malformed 0\n"), "{summary}");
    let default = Bank::new();
    default.stdout_of(&["import", &sample]);
    for account in ["DE-1001", "DE-1002", "AT-2001"] {
        let expected = default.stdout_of(&["balance", account]);
        assert_eq!(run(&["balance", account]), expected);
        let expected = default.stdout_of(&["history", account]);
        assert_eq!(run(&["history", account]), expected);
    }
    assert_eq!(run(&["balances"]), default.stdout_of(&["balances"]));
    assert_eq!(run(&["statement"]), default.stdout_of(&["statement"]));
    assert!(!backend.events().is_empty());
}

/// The password of a URL apart from the rest.
fn without_password(url: &str) -> (String, String) {
    let parts = url.split_once("://").and_then(|(scheme, rest)| {
        let (login, place) = rest.rsplit_once('@')?;
        let (user, password) = login.split_once(':')?;
        Some((format!("{scheme}://{user}@{place}"), password.to_owned()))
    });
    parts.unwrap_or_else(|| (url.to_owned(), String::new()))
}

mod sqlite {
    use super::*;

    #[test]
    fn the_short_program_books_once_per_id() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bank.db");
        books_once_per_id(env!("CARGO_BIN_EXE_sqlite"), file.to_str().unwrap());
    }

    #[test]
    fn the_config_file_works() {
        imports_the_sample("sqlite.toml", &Sqlite::new());
    }
}

mod postgres {
    use super::*;

    #[test]
    fn the_short_program_books_once_per_id() {
        let backend = SharedServer::find(Database::Postgres);
        books_once_per_id(env!("CARGO_BIN_EXE_postgres"), &backend.address());
    }

    #[test]
    fn the_config_file_works() {
        let backend = SharedServer::find(Database::Postgres);
        imports_the_sample("postgres.toml", &backend);
    }
}

mod mysql {
    use super::*;

    #[test]
    fn the_short_program_books_once_per_id() {
        let backend = SharedServer::find(Database::MariaDb);
        books_once_per_id(env!("CARGO_BIN_EXE_mysql"), &backend.address());
    }

    #[test]
    fn the_config_file_works() {
        let backend = SharedServer::find(Database::MariaDb);
        imports_the_sample("mysql.toml", &backend);
    }
}
