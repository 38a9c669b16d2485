//! docs/guide/serializers.md

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use actix_persistence_test_servers::Database;
use tempfile::TempDir;

use crate::own_database::OwnDatabase;
use crate::program::{program, stdout_of};

const PROGRAM: &str = "personal_data";

/// A shop with a folder for its keys, and its database, which is a file in that folder or on a server.
struct Shop {
    folder: TempDir,
    server: Option<(Database, OwnDatabase)>,
}

impl Shop {
    fn in_a_file() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            server: None,
        }
    }

    fn on(database: Database) -> Self {
        Self {
            server: Some((database, OwnDatabase::create(database, "shop"))),
            ..Self::in_a_file()
        }
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The program with its database, its keys, and a command.
    fn command(&self, command: &[&str]) -> Command {
        let mut program = program(PROGRAM);
        program.current_dir(self.folder());
        match &self.server {
            Some((_, own)) => {
                let (url, password) = own.address();
                program.env("SHOP_PASSWORD", password).arg(url)
            }
            None => program.arg("shop.db"),
        };
        program.arg("keys").args(command);
        program
    }

    fn run(&self, command: &[&str]) -> String {
        let output = self.command(command).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && stderr.is_empty(), "{stderr}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command, and kills the program when it has printed what is known.
    fn run_and_kill(&self, command: &[&str]) -> String {
        let mut child = self
            .command(command)
            .arg("wait")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let known = lines.next().unwrap().unwrap();
        assert_eq!(lines.next().unwrap().unwrap(), "waiting");
        child.kill().unwrap();
        child.wait().unwrap();
        known
    }

    /// Lets the server write to its files what it has in memory only.
    fn flush(&self) {
        let Some((database, own)) = &self.server else {
            return;
        };
        let flush = match database {
            Database::MariaDb => {
                let tables = ["event_journal", "snapshot"];
                let tables = tables.map(|table| format!("{}.{table}", own.name()));
                format!("FLUSH TABLES {} FOR EXPORT", tables.join(", "))
            }
            _ => "CHECKPOINT".to_owned(),
        };
        own.run(&flush).unwrap();
    }

    /// Returns the folder of all files of the database.
    fn data_folder(&self) -> PathBuf {
        let Some((database, own)) = &self.server else {
            return self.folder().to_owned();
        };
        let folder = match database {
            Database::MariaDb => "SELECT @@datadir",
            _ => "SHOW data_directory",
        };
        own.run(folder).unwrap().unwrap().into()
    }

    /// Returns the files of the database that hold this text, before or after everything is written to them: tables, logs, and
    /// whatever else is there. A server may use a log anew once it has written what is in it to the tables.
    fn files_with(&self, text: &str) -> Vec<String> {
        let before = self.files_now_with(text);
        self.flush();
        [before, self.files_now_with(text)].concat()
    }

    fn files_now_with(&self, text: &str) -> Vec<String> {
        let folder = self.data_folder();
        let readable = fs::read_dir(&folder).is_ok_and(|mut files| files.next().is_some());
        assert!(readable, "{} cannot be read", folder.display());
        // Of a server that others use, files may go while it looks: that is no error to it.
        let found = Command::new("grep")
            .args(["-rlazsF", "--exclude-dir=keys", "-e", text])
            .arg(&folder)
            .output()
            .unwrap();
        let found = String::from_utf8(found.stdout).unwrap();
        found.lines().map(str::to_owned).collect()
    }
}

/// A text that stands nowhere else.
fn unheard(begin: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    format!("{begin}{}-{}", std::process::id(), now.as_nanos())
}

/// Plays the life of a customer, in which the program is killed; `of_tables` and `of_logs` are parts of the names of files.
fn forgets_a_customer(shop: &Shop, of_tables: &str, of_logs: &str) {
    let email = format!("{}@example.org", unheard("ada-"));
    let ada = format!("Ada <{email}>");
    let registered = shop.run_and_kill(&["register", "Ada", &email]);
    assert_eq!(
        registered,
        format!("{ada}: 0 orders, 0 cents (from snapshot 0)")
    );
    assert_eq!(shop.files_with(&email), [""; 0]);

    // What is about nobody is found, so that the search would find the rest.
    let note = unheard("parcel-");
    // A page of a log may end within one of the two.
    shop.run_and_kill(&["note", &format!("{note} {note}")]);
    let found = shop.files_with(&note);
    for part in [of_tables, of_logs] {
        let is_there = found.iter().any(|file| file.contains(part));
        assert!(is_there, "{note} is not in {part:?}: {found:?}");
    }

    let ordered = shop.run_and_kill(&["order", "100", "20", "3"]);
    assert_eq!(
        ordered,
        format!("{ada}: 3 orders, 123 cents (from snapshot 0)")
    );
    assert_eq!(shop.files_with(&email), [""; 0]);
    let known = shop.run(&[]);
    assert_eq!(
        known,
        format!("{ada}: 3 orders, 123 cents (from snapshot 3)\n")
    );

    let forgotten = shop.run(&["forget"]);
    assert_eq!(
        forgotten,
        "somebody: 3 orders, 123 cents (from snapshot 3)\n"
    );
    // The snapshot cannot be read any more, so every event is; that of the registration is shredded.
    let known = shop.run(&[]);
    assert_eq!(known, "somebody: 3 orders, 123 cents (from snapshot 6)\n");
    let again = shop.run_and_kill(&["order", "7"]);
    assert_eq!(again, "somebody: 4 orders, 130 cents (from snapshot 6)");
    assert_eq!(shop.files_with(&email), [""; 0]);
}

#[test]
fn a_customer_in_a_file_is_forgotten_and_the_orders_stay() {
    let shop = Shop::in_a_file();
    forgets_a_customer(&shop, "shop.db", "shop.db-wal");
}

#[test]
fn a_customer_on_postgres_is_forgotten_and_the_orders_stay() {
    let shop = Shop::on(Database::Postgres);
    forgets_a_customer(&shop, "/base/", "/pg_wal/");
}

#[test]
fn a_customer_on_mariadb_is_forgotten_and_the_orders_stay() {
    let shop = Shop::on(Database::MariaDb);
    forgets_a_customer(&shop, "event_journal", "/ib_logfile0");
}

#[test]
fn without_its_keys_the_database_is_of_no_use() {
    let shop = Shop::in_a_file();
    let folder = shop.folder();
    shop.run(&["register", "Ada", "ada@example.org"]);
    fs::rename(folder.join("keys"), folder.join("lost")).unwrap();
    assert_fails(folder, "a lost key is not a destroyed one");
}

#[test]
fn a_key_file_that_was_cut_off_does_not_count_as_destroyed() {
    let shop = Shop::in_a_file();
    let folder = shop.folder();
    shop.run(&["register", "Ada", "ada@example.org"]);
    let mut files = fs::read_dir(folder.join("keys")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    let whole = fs::read(&file).unwrap();
    for len in [1, 31] {
        fs::write(&file, &whole[..len]).unwrap();
        let stderr = assert_fails(folder, "a damaged key is not a destroyed one");
        assert!(stderr.contains("is cut off"), "{stderr}");
    }
    fs::write(&file, whole).unwrap();
    let known = shop.run(&[]);
    assert_eq!(
        known,
        format!("Ada <ada@example.org>: 0 orders, 0 cents (from snapshot 0)\n")
    );
}

/// Asserts that the program fails, and returns what it says.
fn assert_fails(folder: &Path, why: &str) -> String {
    let output = program(PROGRAM)
        .args(["shop.db", "keys"])
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(!output.status.success(), "{why}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_gate_counts_in_cbor() {
    let folder = tempfile::tempdir().unwrap();
    let program = "serializers";
    let run = |groups: &[&str]| {
        let arguments = [&["gate.db"], groups].concat();
        stdout_of(program, folder.path(), &arguments)
    };
    assert_eq!(run(&["3", "4"]), "3 people\n7 people\n");
    assert_eq!(run(&["1"]), "8 people\n");
}
