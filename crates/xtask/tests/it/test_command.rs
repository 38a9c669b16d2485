//! `cargo xtask test` counts what ran, and takes nothing for a success that is none.

use crate::fixture::Fixture;

/// A conformance kit with two cases that pass and one that is ignored.
const GOOD_KIT: &str = r#"
fn main() {
    println!("test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out");
}
"#;

#[test]
fn green_tests_end_with_the_counts_and_success() {
    let fixture = Fixture::new()
        .with_crate("alpha", "tck", GOOD_KIT)
        .with_crate("beta", "it", GOOD_KIT);
    fixture.write(
        "crates/beta/src/lib.rs",
        "//! ```\n//! assert!(true);\n//! ```\n",
    );
    let outcome = fixture.run(&["test"]);
    assert!(outcome.success, "{}", outcome.stderr);
    assert_eq!(
        outcome.end_from("tck"),
        "tck alpha: 2 passed, 0 failed\n6 passed, 0 failed, 2 skipped\n"
    );
}

#[test]
fn quick_runs_unit_tests_and_kits_only() {
    let fixture = Fixture::new()
        .with_crate("alpha", "tck", GOOD_KIT)
        .with_crate("beta", "it", "fn main() { std::process::abort() }");
    let outcome = fixture.run(&["test", "--quick"]);
    assert!(outcome.success, "{}", outcome.stderr);
    assert_eq!(
        outcome.end_from("tck"),
        "tck alpha: 2 passed, 0 failed\n4 passed, 0 failed, 1 skipped\n"
    );
}

#[test]
fn a_quick_run_does_not_compile_a_library_without_tests_as_a_test() {
    let fixture = Fixture::new().with_crate("alpha", "tck", GOOD_KIT);
    fixture.write(
        "crates/beta/Cargo.toml",
        "[package]\nname = \"beta\"\nedition = \"2024\"\n\n[lib]\ntest = false\n",
    );
    let refuses = "#[cfg(test)]\ncompile_error!(\"it has no tests\");\n";
    fixture.write("crates/beta/src/lib.rs", refuses);
    let outcome = fixture.run(&["test", "--quick"]);
    assert!(outcome.success, "{}", outcome.stderr);
    assert_eq!(
        outcome.end_from("tck"),
        "tck alpha: 2 passed, 0 failed\n3 passed, 0 failed, 1 skipped\n"
    );
}

#[test]
fn a_crash_is_counted_and_named_and_the_rest_runs() {
    let fixture = Fixture::new()
        .with_crate("alpha", "tck", "fn main() { std::process::abort() }")
        .with_crate("beta", "tck", GOOD_KIT);
    let outcome = fixture.run(&["test"]);
    assert!(!outcome.success);
    assert_eq!(
        outcome.end_from("tck alpha"),
        "tck alpha: 0 passed, 1 failed\n\
         tck beta: 2 passed, 0 failed\n\
         alpha tck: FAILED: ended with signal: 6 (SIGABRT) before its closing line\n\
         4 passed, 1 failed, 1 skipped\n"
    );
}

#[test]
fn a_failed_test_is_a_failure() {
    let fixture = Fixture::new().with_crate("alpha", "tck", GOOD_KIT);
    fixture.write(
        "crates/alpha/src/lib.rs",
        "#[test]\nfn fails() { assert!(false) }\n",
    );
    let outcome = fixture.run(&["test"]);
    assert!(!outcome.success);
    let end = outcome.end_from("alpha unit");
    let message = "crates/alpha/src/lib.rs:2:14:\n    assertion failed: false\n";
    assert!(
        end.starts_with("alpha unit tests: FAILED: 1 test\n  fails\n    thread 'fails'"),
        "{end}"
    );
    assert!(end.contains(message), "{end}");
    assert!(
        end.ends_with("failed: alpha unit tests fails\n2 passed, 1 failed, 1 skipped\n"),
        "{end}"
    );
}

#[test]
fn code_that_does_not_compile_is_a_failure() {
    let fixture = Fixture::new().with_crate("alpha", "tck", "fn main() { nonsense }");
    let outcome = fixture.run(&["test", "--quick"]);
    assert!(!outcome.success);
    assert!(outcome.stderr.contains("nonsense"), "{}", outcome.stderr);
    assert_eq!(
        outcome.end_from("the build"),
        "the build: FAILED: the tests do not compile\n0 passed, 1 failed\n"
    );
}

#[test]
fn a_package_that_does_not_exist_is_an_error() {
    let fixture = Fixture::new().with_crate("alpha", "tck", GOOD_KIT);
    let outcome = fixture.run(&["test", "-p", "alhpa"]);
    assert!(!outcome.success);
    let expected = "could not find the package \"alhpa\" in this workspace";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
}
