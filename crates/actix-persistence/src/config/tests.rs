//! The sources of a config.

use super::*;

fn keys(config: &Config) -> Vec<String> {
    let mut keys = Vec::new();
    list_keys(&config.root, &mut |path, origin| {
        keys.push(format!("{path} ({origin})"));
    });
    keys
}

#[test]
fn a_file_is_read_and_its_name_stands_in_every_origin() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.toml");
    std::fs::write(&path, "[persistence]\nmax-concurrent-recoveries = 7\n").unwrap();
    let config = Config::from_file(&path).unwrap();
    assert_eq!(
        keys(&config),
        [format!(
            "persistence.max-concurrent-recoveries ({}:2)",
            path.display()
        )]
    );
}

#[test]
fn a_missing_file_is_named_with_the_folder_that_was_searched() {
    let error = Config::from_file("no-such-folder/app.toml").unwrap_err();
    let here = std::env::current_dir().unwrap();
    let expected = format!(
        "cannot find the config file '{}'; create it or name another",
        here.join("no-such-folder/app.toml").display()
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.toml");
    let of_bytes = |bytes: usize| {
        let last = "\n[persistence]\n";
        std::fs::write(&path, "#".repeat(bytes - last.len()) + last).unwrap();
        Config::from_file(&path)
    };
    let config = of_bytes(1024 * 1024).unwrap();
    assert_eq!(
        keys(&config),
        [format!("persistence ({}:2)", path.display())]
    );
    let expected = format!(
        "cannot read the config file '{}', because it has more than 1048576 bytes; name a config file",
        path.display()
    );
    let error = of_bytes(1024 * 1024 + 1).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_folder_is_no_config_file() {
    let folder = tempfile::tempdir().unwrap();
    let error = Config::from_file(folder.path()).unwrap_err();
    let expected = format!(
        "cannot read the config file '{}'; check that it is a file and that this user may read it",
        folder.path().display()
    );
    assert_eq!(error.to_string(), expected);
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn a_file_with_a_syntax_error_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.toml");
    std::fs::write(&path, "[persistence").unwrap();
    let error = Config::from_file(&path).unwrap_err();
    let expected = format!(
        "{}:1:13: not valid TOML: unclosed table, expected `]`",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn code_can_say_what_a_file_can_and_wins() {
    let config = Config::from_toml("[a]\nx = 1\ny = 2\n[a.b]\nz = 3\n", "app.toml")
        .unwrap()
        .with("a.x", 10)
        .with("a.b.new", true)
        .with("c.d.e", "text");
    assert_eq!(
        keys(&config),
        [
            "a.b.new (code)",
            "a.b.z (app.toml:5)",
            "a.x (code)",
            "a.y (app.toml:3)",
            "c.d.e (code)",
        ]
    );
}

#[test]
fn a_section_as_value_sets_its_keys_and_keeps_the_others() {
    let given = Section::new("elsewhere", Origin::code())
        .with("x", 10)
        .with("b", Section::default().with("new", 4));
    let config = Config::from_toml("[a]\nx = 1\ny = 2\n[a.b]\nz = 3\n", "app.toml")
        .unwrap()
        .with("a", given)
        .with("a.declared", Section::default());
    assert_eq!(
        keys(&config),
        [
            "a.b.new (code)",
            "a.b.z (app.toml:5)",
            "a.declared (code)",
            "a.x (code)",
            "a.y (app.toml:3)",
        ]
    );
    let Value::Section(a) = &config.root.get("a").unwrap().value else {
        panic!("'a' is no section");
    };
    let Value::Section(declared) = &a.get("declared").unwrap().value else {
        panic!("'a.declared' is no section");
    };
    assert_eq!(declared.path(), "a.declared");
}

#[test]
fn what_is_said_last_wins_even_if_it_is_of_another_sort() {
    let config = Config::new().with("a.b", 1).with("a.b.c", 2);
    assert_eq!(keys(&config), ["a.b.c (code)"]);
    assert_eq!(keys(&config.with("a", 3)), ["a (code)"]);
}

#[test]
fn debug_shows_no_values() {
    let config = Config::new()
        .with("persistence.journal.a.password", "secret")
        .with("persistence.journal.a.url", "x://me:secret@host");
    assert_eq!(
        format!("{config:?}"),
        "{persistence.journal.a.password (code), persistence.journal.a.url (code)}"
    );
}
