//! `cargo xtask verify`: everything CI and reviewers care about; changes nothing.

use std::fmt::Display;
use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::progress::{Step, seconds};
use crate::workspace::{self, Workspace, cargo};
use crate::{child, dependency_rule, features, package, rust_versions, shared_builds, test, tidy};

type Check = (&'static str, fn() -> anyhow::Result<bool>);

/// The checks in their order, the cheap ones first.
const CHECKS: [Check; 10] = [
    ("format", format),
    ("tidy", tidy),
    ("dependency rule", dependencies),
    ("shared builds", shared_builds),
    ("oldest Rust", rust_versions),
    ("clippy", clippy),
    ("features", features::check),
    ("rustdoc", rustdoc),
    ("packages", package::check),
    ("tests and doctests", test::everything_passes),
];

/// Runs every check, even after one has failed, and ends with a list of them.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let mut results = Vec::new();
    for (name, check) in CHECKS {
        let step = Step::start(name);
        let passed = check().unwrap_or_else(|error| {
            println!("{error:#}");
            false
        });
        let took = step.end(verdict(passed));
        results.push((name, passed, took));
    }
    print!("\n{}", summary(&results));
    Ok(if results.iter().all(|(_, passed, _)| *passed) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn format() -> anyhow::Result<bool> {
    let mut command = cargo("fmt");
    command.args(["--all", "--", "--check"]);
    succeeds(command)
}

fn tidy() -> anyhow::Result<bool> {
    Ok(is_free_of(&tidy::check(&workspace::root())?))
}

fn dependencies() -> anyhow::Result<bool> {
    Ok(is_free_of(&dependency_rule::check(&Workspace::load()?)))
}

fn shared_builds() -> anyhow::Result<bool> {
    Ok(is_free_of(&shared_builds::check(&Workspace::load()?)?))
}

fn rust_versions() -> anyhow::Result<bool> {
    Ok(is_free_of(&rust_versions::check(&Workspace::load()?)))
}

fn clippy() -> anyhow::Result<bool> {
    let mut command = cargo("clippy");
    command.args(["--workspace", "--all-targets", "--all-features"]);
    command.args(["--", "-D", "warnings"]);
    succeeds(command)
}

fn rustdoc() -> anyhow::Result<bool> {
    let mut command = cargo("doc");
    command
        .args(["--workspace", "--all-features", "--no-deps"])
        .env("RUSTDOCFLAGS", "-D warnings");
    succeeds(command)
}

/// Prints the violations, and returns whether there is none.
fn is_free_of(violations: &[impl Display]) -> bool {
    for violation in violations {
        println!("{violation}");
    }
    violations.is_empty()
}

fn succeeds(command: Command) -> anyhow::Result<bool> {
    Ok(child::run(command)?.success())
}

fn verdict(passed: bool) -> &'static str {
    if passed { "ok" } else { "FAILED" }
}

fn summary(results: &[(&str, bool, Duration)]) -> String {
    let mut text = String::new();
    for (name, passed, took) in results {
        let verdict = verdict(*passed);
        text += &format!("{name:<20} {verdict:<6} {:>10}\n", seconds(*took));
    }
    let failed = results.iter().filter(|(_, passed, _)| !passed).count();
    match failed {
        0 => text += "verified\n",
        1 => text += "1 check failed\n",
        _ => text += &format!("{failed} checks failed\n"),
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_every_check_with_its_time() {
        let results = [
            ("tidy", true, Duration::from_millis(120)),
            ("clippy", false, Duration::from_secs(75)),
        ];
        assert_eq!(
            summary(&results),
            "tidy                 ok          0.1 s\nclippy               FAILED     75.0 s\n1 check failed\n"
        );
        assert!(summary(&results[..1]).ends_with("verified\n"));
    }
}
