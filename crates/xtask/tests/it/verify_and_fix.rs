//! `cargo xtask verify` tells everything and changes nothing; `cargo xtask fix` changes what it can.

use crate::fixture::{Fixture, Outcome};

const KIT: &str =
    "//! A kit.\n\nfn main() {\n    println!(\"test result: ok. 2 passed; 0 failed\");\n}\n";
const UNFORMATTED: &str = "//!   Alpha.\n#[test] fn passes() {  }\n";

fn fixture() -> Fixture {
    let fixture = Fixture::new().with_crate("alpha", "tck", KIT);
    fixture.write("crates/alpha/src/lib.rs", UNFORMATTED);
    fixture.write(
        "crates/storage-api/Cargo.toml",
        "[package]\nname = \"actix-persistence-storage-api\"\nedition = \"2024\"\n",
    );
    fixture.write("crates/storage-api/src/lib.rs", "//! Nothing.\n");
    fixture.write(
        "crates/storage-api/src/journal.rs",
        "/// Starts.\n///\n/// # Contract\n/// - **J-INIT-1**: starts.\nfn initialize() {}\n",
    );
    fixture
}

/// The verdicts of the closing list, by check.
fn verdicts(outcome: &Outcome) -> Vec<(&str, bool)> {
    outcome
        .end_from("format")
        .lines()
        .filter_map(|line| {
            let (check, rest) = line.split_at_checked(20)?;
            Some((check.trim(), rest.trim_start().starts_with("ok")))
        })
        .collect()
}

#[test]
fn verify_runs_every_check_and_changes_nothing() {
    let fixture = fixture();
    let outcome = fixture.run(&["verify"]);
    assert!(!outcome.success);
    assert_eq!(
        verdicts(&outcome),
        [
            ("format", false),
            ("tidy", false),
            ("dependency rule", false),
            ("shared builds", true),
            ("oldest Rust", true),
            ("clippy", true),
            ("features", true),
            ("rustdoc", true),
            ("packages", true),
            ("tests and doctests", true),
        ],
        "{}\n{}",
        outcome.stdout,
        outcome.stderr
    );
    assert!(outcome.stdout.ends_with("\n3 checks failed\n"));
    assert_eq!(fixture.read("crates/alpha/src/lib.rs"), UNFORMATTED);
}

#[test]
fn fix_formats_the_code_and_writes_the_contract_and_the_guide() {
    let fixture = fixture();
    fixture.write("docs/storage-contract.md", "old");
    let marker = "<!-- snippet: crates/alpha/src/lib.rs -->";
    fixture.write("docs/guide/alpha.md", &format!("{marker}\n```rust\n```\n"));
    let outcome = fixture.run(&["fix"]);
    assert!(outcome.success, "{}", outcome.stderr);
    let page = fixture.read("docs/storage-contract.md");
    assert!(page.contains("\n- **J-INIT-1**: starts.\n"), "{page}");
    assert_eq!(
        fixture.read("crates/alpha/src/lib.rs"),
        "//!   Alpha.\n#[test]\nfn passes() {}\n"
    );
    // As it is formatted, not as it was.
    let guide = fixture.read("docs/guide/alpha.md");
    assert!(guide.contains("```rust\n//!   Alpha.\n#[test]\nfn passes() {}\n```\n"));
}

#[test]
fn tidy_gives_the_place_of_each_violation() {
    let fixture = fixture();
    fixture.write("crates/alpha/src/nameless.rs", "fn nameless() {}\n");
    let outcome = fixture.run(&["tidy"]);
    assert!(!outcome.success);
    let expected = "crates/alpha/src/nameless.rs:1: the first line";
    assert!(outcome.stdout.contains(expected), "{}", outcome.stdout);
    assert!(outcome.stdout.ends_with(" violations\n"));
}
