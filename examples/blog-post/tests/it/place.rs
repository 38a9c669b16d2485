//! A blog of a test's own.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use actix_persistence_test_servers::Database;
use tempfile::TempDir;

use crate::own_database::OwnDatabase;

/// The database of one blog, and the way to reach it.
pub(crate) struct Place {
    folder: TempDir,
    config: Option<&'static str>,
    database: Option<OwnDatabase>,
}

impl Place {
    /// A file in the working directory, without a config file.
    pub(crate) fn default() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            config: None,
            database: None,
        }
    }

    /// The same with its config file.
    pub(crate) fn sqlite() -> Self {
        Self {
            config: Some("sqlite.toml"),
            ..Self::default()
        }
    }

    pub(crate) fn postgres() -> Self {
        Self {
            config: Some("postgres.toml"),
            database: Some(OwnDatabase::create(Database::Postgres, "blog")),
            ..Self::default()
        }
    }

    pub(crate) fn mysql() -> Self {
        Self {
            config: Some("mysql.toml"),
            database: Some(OwnDatabase::create(Database::MariaDb, "blog")),
            ..Self::default()
        }
    }

    /// The program with these arguments.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_blog-post"));
        command.current_dir(&self.folder);
        if let Some(config) = self.config {
            let folder = env!("CARGO_MANIFEST_DIR");
            command.args(["--config", &format!("{folder}/config/{config}")]);
        }
        if let Some(database) = &self.database {
            let (url, password) = database.address();
            command.env("ACTIX_PERSISTENCE__STATE__BLOG__URL", &url);
            command.env("ACTIX_PERSISTENCE__OFFSET_STORE__BLOG__URL", &url);
            command.env("BLOG_PASSWORD", password);
        }
        command.args(arguments);
        command
    }

    /// Returns the output of the program with this on its standard input.
    pub(crate) fn output(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = program.stdin.take().unwrap();
        let input = input.to_owned();
        let writing = std::thread::spawn(move || {
            // A program that reads no input may have ended.
            let _ = stdin.write_all(input.as_bytes());
        });
        let output = program.wait_with_output().unwrap();
        writing.join().unwrap();
        output
    }

    /// Returns the lines that it prints when it works.
    pub(crate) fn lines(&self, arguments: &[&str], input: &str) -> Vec<String> {
        let output = self.output(arguments, input);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        lines_of(&output.stdout)
    }
}

pub(crate) fn lines_of(output: &[u8]) -> Vec<String> {
    let text = String::from_utf8(output.to_vec()).unwrap();
    text.lines().map(str::to_owned).collect()
}
