//! A workspace without dependencies in a folder of its own.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The workspace, gone when dropped.
pub(crate) struct Fixture {
    root: TempDir,
}

impl Fixture {
    /// An empty workspace.
    pub(crate) fn new() -> Self {
        let fixture = Self {
            root: tempfile::tempdir().unwrap(),
        };
        fixture.write(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n",
        );
        fixture
    }

    /// Adds a library with a passing unit test, and the given test target with this source and no harness.
    pub(crate) fn with_crate(self, name: &str, target: &str, source: &str) -> Self {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nedition = \"2024\"\n\n\
             [[test]]\nname = \"{target}\"\nharness = false\n"
        );
        self.write(&format!("crates/{name}/Cargo.toml"), &manifest);
        self.write(
            &format!("crates/{name}/src/lib.rs"),
            "#[test]\nfn passes() {}\n",
        );
        self.write(&format!("crates/{name}/tests/{target}.rs"), source);
        self
    }

    /// Writes a file of the workspace.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Reads a file of the workspace.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder(path)).unwrap()
    }

    /// A call of a command on this workspace.
    pub(crate) fn xtask(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command
            .args(arguments)
            .env("CARGO_MANIFEST_DIR", self.folder("crates/xtask"))
            .env("CARGO_TARGET_DIR", self.folder("target"))
            .env("CARGO_NET_OFFLINE", "true")
            .stdin(Stdio::null());
        command
    }

    /// Runs a command on this workspace to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        Outcome::of(self.xtask(arguments).output().unwrap())
    }

    /// Returns the path of a file or folder of the workspace.
    pub(crate) fn folder(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }
}

/// The output and the status of a command.
pub(crate) struct Outcome {
    /// True if it ended with success.
    pub(crate) success: bool,
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
}

impl Outcome {
    fn of(output: Output) -> Self {
        Self {
            success: output.status.success(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The end of the standard output, from the line on that begins with `start`.
    pub(crate) fn end_from(&self, start: &str) -> &str {
        let at = self.stdout.rfind(&format!("\n{start}"));
        &self.stdout[at.unwrap_or_else(|| panic!("no {start:?} in\n{}", self.stdout)) + 1..]
    }
}
