//! Runs a program of the guide.

use std::path::Path;
use std::process::Command;

/// What the program prints, run with these arguments in this folder; it must end well.
pub(crate) fn stdout_of(program: &str, folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert_eq!(errors, "");
    String::from_utf8(output.stdout).unwrap()
}
