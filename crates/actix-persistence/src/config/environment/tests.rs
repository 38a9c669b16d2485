//! The meaning of environment variables, and the reports about those that have none.

use crate::Config;

use super::*;

const FILE: &str = r#"[persistence.journal]
plugin = "accounts"
[persistence.journal.accounts]
kind = "sqlite"
url = "sqlite://file.db"
[persistence.journal.EU_Orders]
kind = "sqlite"
[persistence.journal."old.stock__1"]
kind = "sqlite"
"#;

fn with(variables: &[(&str, &str)]) -> Config {
    let config = Config::from_toml(FILE, "app.toml").unwrap();
    config.with_env(variables.iter().copied())
}

/// Returns the values of the environment, each as `path = value`.
fn set_by(variables: &[(&str, &str)]) -> Vec<String> {
    let config = with(variables);
    assert_eq!(config.mistakes, []);
    let mut found = Vec::new();
    collect(&config.root, &mut found);
    found
}

fn collect(section: &Section, found: &mut Vec<String>) {
    for (key, item) in section.iter() {
        match &item.value {
            Value::Section(inner) => collect(inner, found),
            Value::Untyped(untyped) => {
                found.push(format!("{} = {}", section.path_of(key), untyped.as_str()));
            }
            Value::List(items) => {
                found.push(format!("{} has {}", section.path_of(key), items.len()))
            }
            _ => {}
        }
    }
}

fn mistakes(variables: &[(&str, &str)]) -> Vec<String> {
    let mistakes = with(variables).mistakes;
    mistakes.iter().map(ToString::to_string).collect()
}

#[test]
fn two_underscores_stand_between_keys_and_one_for_a_hyphen() {
    let set = set_by(&[
        (
            "ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__URL",
            "sqlite://env.db",
        ),
        ("ACTIX_PERSISTENCE__MAX_CONCURRENT_RECOVERIES", "7"),
        ("actix_persistence__snapshot_store__Plugin", "accounts"),
    ]);
    assert_eq!(
        set,
        [
            "persistence.journal.accounts.url = sqlite://env.db",
            "persistence.max-concurrent-recoveries = 7",
            "persistence.snapshot-store.plugin = accounts",
        ]
    );
}

#[test]
fn every_plugin_id_of_the_file_can_be_named() {
    let set = set_by(&[
        ("ACTIX_PERSISTENCE__JOURNAL__EU_ORDERS__URL", "a"),
        ("ACTIX_PERSISTENCE__JOURNAL__OLD_STOCK_1__URL", "b"),
        ("ACTIX_PERSISTENCE__JOURNAL__US_ORDERS__URL", "c"),
    ]);
    assert_eq!(
        set,
        [
            "persistence.journal.EU_Orders.url = a",
            "persistence.journal.old.stock__1.url = b",
            "persistence.journal.us-orders.url = c",
        ]
    );
}

#[test]
fn a_name_that_may_stand_for_two_keys_is_refused_unless_it_is_one_of_them() {
    let file = "[persistence.journal.a-b]\n[persistence.journal.A_B]\n";
    let config = || Config::from_toml(file, "app.toml").unwrap();
    let refused = config().with_env([("ACTIX_PERSISTENCE__JOURNAL__a_b__URL", "x")]);
    assert_eq!(
        refused.mistakes[0].to_string(),
        "environment variable ACTIX_PERSISTENCE__JOURNAL__a_b__URL: the name may stand for any of 'A_B', 'a-b'; \
         give them names that differ in a letter or digit"
    );
    let taken = config().with_env([("ACTIX_PERSISTENCE__JOURNAL__A_B__URL", "x")]);
    assert_eq!(taken.mistakes, []);
}

#[test]
fn variables_of_others_are_left_alone() {
    let set = set_by(&[
        ("PATH", "/bin"),
        ("ACTIX_PERSISTENCE_TEST_SERVER", "x"),
        ("ACTIX_PERSISTENCE_JOURNAL__PLUGIN", "x"),
        ("ACTIX_PERSISTENCE_", "x"),
        ("ÄÄÄÄÄÄÄÄÄÄÄÄ", "x"),
    ]);
    assert_eq!(set, [""; 0]);
}

#[test]
fn a_list_is_written_as_in_toml() {
    let name = "ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__HOSTS";
    let list = |text| set_by(&[(name, text)]);
    assert_eq!(
        list(r#" ["a", "b"] "#),
        ["persistence.journal.accounts.hosts has 2"]
    );
    for text in ["[a, b]", "[1]\nx = 2", "[", "[{}]"] {
        let expected = format!("persistence.journal.accounts.hosts = {text}");
        assert_eq!(list(text), [expected]);
    }
}

#[test]
fn a_variable_replaces_no_section_and_no_other_variable() {
    let found = mistakes(&[
        ("ACTIX_PERSISTENCE__JOURNAL", "secret"),
        ("ACTIX_PERSISTENCE__JOURNAL__PLUGIN__URL", "secret"),
        ("ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__URL", "x"),
        ("ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__Url", "secret"),
    ]);
    assert_eq!(
        found,
        [
            "environment variable ACTIX_PERSISTENCE__JOURNAL: 'persistence.journal' is a section; name one of its keys",
            "environment variable ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__Url: 'persistence.journal.accounts.url' is also \
             set by environment variable ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__URL",
            "environment variable ACTIX_PERSISTENCE__JOURNAL__PLUGIN__URL: 'persistence.journal.plugin' is no section; \
             it has no keys",
        ]
    );
}

#[test]
fn a_name_that_is_no_path_is_refused_however_long_it_is() {
    let long = format!("ACTIX_PERSISTENCE__{}", "A__".repeat(100_000));
    for name in [
        "ACTIX_PERSISTENCE__",
        "ACTIX_PERSISTENCE__JOURNAL____URL",
        "ACTIX_PERSISTENCE__JOURNAL__",
        long.as_str(),
    ] {
        let found = mistakes(&[(name, "x")]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].ends_with(
                "the name is no path of keys; write it like ACTIX_PERSISTENCE__JOURNAL__ACCOUNTS__URL"
            ),
            "{}",
            found[0]
        );
    }
}

#[cfg(unix)]
#[test]
fn text_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStringExt;

    let value = OsString::from_vec(vec![0xff]);
    let name = OsString::from("ACTIX_PERSISTENCE__JOURNAL__PLUGIN");
    let config = Config::new().with_env([(name, value)]);
    assert_eq!(
        config.mistakes[0].to_string(),
        "environment variable ACTIX_PERSISTENCE__JOURNAL__PLUGIN: the value is not UTF-8 text"
    );
}
