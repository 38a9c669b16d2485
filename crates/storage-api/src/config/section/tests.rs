//! Values and mistakes that the reader of a section returns.

use super::*;

fn item(value: impl Into<Value>, line: u32) -> Item {
    Item {
        value: value.into(),
        origin: Origin::file("app.toml", line),
    }
}

#[test]
fn reports_every_mistake_at_once_with_file_line_and_known_keys() {
    let mut section = Section::new("persistence.journal.a", Origin::file("app.toml", 3));
    section.insert("busy-timeout", item(5, 4));
    section.insert("max-falures", item(1, 5));
    section.insert("synchronous", item("of", 6));

    let mut reader = section.reader();
    let url = reader.required_string("url");
    let timeout = reader.duration_or("busy-timeout", Duration::from_secs(5));
    let full = reader.choice_or("synchronous", &[("full", true), ("normal", false)], true);
    let errors = reader.finish().unwrap_err();

    assert_eq!((url.as_str(), timeout.as_secs(), full), ("", 5, true));
    assert_eq!(
        errors.to_string(),
        "app.toml:3: 'persistence.journal.a.url' is missing\n\
         app.toml:4: 'persistence.journal.a.busy-timeout' must be a duration with its unit, such as \"10s\" or \"250ms\", not 5\n\
         app.toml:6: 'persistence.journal.a.synchronous' must be \"full\" or \"normal\", not \"of\"\n\
         app.toml:5: unknown key 'persistence.journal.a.max-falures'; known keys: busy-timeout, synchronous, url"
    );
}

#[test]
fn gives_values_and_defaults() {
    let section = Section::new("s", Origin::code())
        .with("name", "x")
        .with("count", 7)
        .with("ratio", 0.5)
        .with("wait", "2s")
        .with("size", "1KiB")
        .with("on", true);
    let mut reader = section.reader();
    assert_eq!(reader.string_or("name", "y"), "x");
    assert_eq!(reader.integer_or("count", 1, 1..=10), 7);
    assert_eq!(reader.float_or("ratio", 0.1, 0.0..=1.0), 0.5);
    assert_eq!(reader.duration_or("wait", Duration::ZERO).as_secs(), 2);
    assert_eq!(reader.bytes_or("size", 0), 1024);
    assert!(reader.boolean_or("on", false));
    assert_eq!(reader.integer_or("missing", 3, 1..=10), 3);
    assert_eq!(reader.finish(), Ok(()));
}

#[test]
fn numbers_outside_their_range_are_mistakes() {
    let section = Section::new("s", Origin::code())
        .with("count", 11)
        .with("below", -1);
    let mut reader = section.reader();
    assert_eq!(reader.integer_or("count", 1, 1..=10), 1);
    assert_eq!(reader.integer_or("below", 1, 0..=10), 1);
    assert_eq!(reader.finish().unwrap_err().errors().len(), 2);
}

#[test]
fn a_value_that_may_hold_a_password_is_not_shown() {
    let section = Section::new("s", Origin::code()).with("on", "postgres://me:secret@host/db");
    let mut reader = section.reader();
    reader.boolean_or("on", true);
    assert!(!reader.finish().unwrap_err().to_string().contains("secret"));
}

#[test]
fn falls_back_section_by_section() {
    let breaker = |max: i64| Section::new("b", Origin::code()).with("max-failures", max);
    let mut own = Section::new("a", Origin::code()).with("circuit-breaker", breaker(3));
    let fallback = Section::new("f", Origin::code())
        .with("circuit-breaker", breaker(10).with("call-timeout", "1s"))
        .with("write-timeout", "9s");
    own.fall_back_to(&fallback);

    let mut reader = own.reader();
    assert_eq!(reader.string("write-timeout").as_deref(), Some("9s"));
    let breaker = reader.section("circuit-breaker").unwrap();
    let mut reader = breaker.reader();
    assert_eq!(reader.integer_or("max-failures", 0, 0..=99), 3);
    assert_eq!(reader.string("call-timeout").as_deref(), Some("1s"));
}

#[test]
fn an_unknown_key_gets_the_nearest_known_one_and_those_taken_out_before() {
    let mut section = Section::new("s", Origin::code()).with("write-timout", "1s");
    section.also_known(["kind", "write-timeout"]);
    let mut reader = section.reader();
    reader.string("url");
    assert_eq!(
        reader.finish().unwrap_err().to_string(),
        "code: unknown key 's.write-timout'; did you mean 'write-timeout'? known keys: kind, url, write-timeout"
    );
}

#[test]
fn debug_shows_the_keys_of_a_section_but_no_values() {
    let inner = Section::new("s.tls", Origin::code()).with("key", "inner-secret");
    let section = Section::new("s", Origin::file("app.toml", 3))
        .with("password", "outer-secret")
        .with("tls", inner);
    assert_eq!(
        format!("{section:?}"),
        r#"Section { path: "s", origin: app.toml:3, keys: ["password", "tls"] }"#
    );
}
