//! Runs a program of the guide.

use std::path::Path;
use std::process::Command;

/// Returns a command that runs the program of this name, and takes the arguments after it.
pub(crate) fn program(name: &str) -> Command {
    if name == "getting_started" {
        return Command::new(env!("CARGO_BIN_EXE_getting_started"));
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_guide"));
    command.arg(name);
    command
}

/// Returns the output of the program, run with these arguments in this folder; it must end well.
pub(crate) fn stdout_of(name: &str, folder: &Path, arguments: &[&str]) -> String {
    let (stdout, stderr) = output_of(name, folder, arguments);
    assert_eq!(stderr, "");
    stdout
}

/// The same of a program that complains on standard error.
pub(crate) fn output_of(name: &str, folder: &Path, arguments: &[&str]) -> (String, String) {
    let output = program(name)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    (String::from_utf8(output.stdout).unwrap(), stderr)
}
