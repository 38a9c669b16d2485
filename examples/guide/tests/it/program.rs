//! Runs a program of the guide.

use std::path::Path;
use std::process::Command;

/// Returns the output of the program, run with these arguments in this folder; it must end well.
pub(crate) fn stdout_of(program: &str, folder: &Path, arguments: &[&str]) -> String {
    let (stdout, stderr) = output_of(program, folder, arguments);
    assert_eq!(stderr, "");
    stdout
}

/// The same of a program that complains on standard error.
pub(crate) fn output_of(program: &str, folder: &Path, arguments: &[&str]) -> (String, String) {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    (String::from_utf8(output.stdout).unwrap(), stderr)
}
