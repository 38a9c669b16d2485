//! `cargo xtask gate`: what is checked before a release, by programs that not every machine has.
//!
//! A program that is not installed is named, with the command that installs it, and is no failure.

use std::process::{Command, ExitCode, Stdio};

use crate::child;
use crate::progress::Step;
use crate::workspace::cargo;

/// A subcommand of cargo that somebody else maintains.
struct Gate {
    /// The word after `cargo`.
    subcommand: &'static str,
    arguments: &'static [&'static str],
    /// A statement of what it checks.
    checks: &'static str,
}

/// The crates whose public items others build on: a plugin, and its tests.
const GATES: [Gate; 4] = [
    Gate {
        subcommand: "deny",
        arguments: &["--all-features", "check"],
        checks: "licences, known vulnerabilities and sources of every dependency (deny.toml)",
    },
    Gate {
        subcommand: "semver-checks",
        arguments: &[
            "-p",
            "actix-persistence-storage-api",
            "-p",
            "actix-persistence-tck",
        ],
        checks: "whether the version says what changed since the last release",
    },
    Gate {
        subcommand: "public-api",
        arguments: &["-p", "actix-persistence-storage-api", "--simplified"],
        checks: "the public items of storage-api, for a reviewer",
    },
    Gate {
        subcommand: "public-api",
        arguments: &["-p", "actix-persistence-tck", "--simplified"],
        checks: "the public items of tck, for a reviewer",
    },
];

/// Runs what is installed; fails if any of that fails.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let mut passed = true;
    let mut summary = String::new();
    for gate in &GATES {
        let verdict = if installed(gate) {
            let step = Step::start(gate.checks);
            let mut command = cargo(gate.subcommand);
            command.args(gate.arguments);
            let success = child::run(command)?.success();
            step.end(if success { "ok" } else { "FAILED" });
            passed &= success;
            if success { "ok" } else { "FAILED" }
        } else {
            "not installed"
        };
        summary += &line(gate, verdict);
    }
    print!("\n{summary}");
    Ok(if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn installed(gate: &Gate) -> bool {
    let mut program = Command::new(format!("cargo-{}", gate.subcommand));
    // Each of them answers this; the answer itself is of no interest.
    program.args([gate.subcommand, "--help"]);
    program.stdout(Stdio::null()).stderr(Stdio::null());
    program.status().is_ok()
}

fn line(gate: &Gate, verdict: &str) -> String {
    let mut line = format!("{verdict:<14} {}: {}", gate.subcommand, gate.checks);
    if verdict == "not installed" {
        line += &format!(" (cargo install cargo-{})", gate.subcommand);
    }
    line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_missing_is_named_with_its_installation() {
        let gate = Gate {
            subcommand: "of-nobody",
            arguments: &[],
            checks: "nothing",
        };
        assert!(!installed(&gate));
        assert_eq!(
            line(&gate, "not installed"),
            "not installed  of-nobody: nothing (cargo install cargo-of-nobody)\n"
        );
        assert_eq!(line(&gate, "ok"), "ok             of-nobody: nothing\n");
    }
}
