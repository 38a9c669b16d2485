//! The values that are read from TOML, and the reports about a text that is none.

use super::*;

fn document(text: &str) -> Document {
    parse(text, "app.toml".into()).unwrap()
}

fn section<'s>(section: &'s Section, key: &str) -> &'s Section {
    match &section.get(key).unwrap().value {
        Value::Section(inner) => inner,
        other => panic!("{key} is {other:?}"),
    }
}

#[test]
fn every_key_knows_its_line() {
    let document = document(
        "top = 1\n\
         \n\
         [a.b.c]            # 3\n\
         x = \"text\"\n\
         list = [           # 5\n\
           1,\n\
           true,\n\
         ]\n\
         [a.b]              # 9\n\
         y.z = 2.5\n\
         inline = { q = 0x10 }\r\n\
         last = -7",
    );
    assert_eq!(document.mistakes, []);
    let root = &document.root;
    let a = section(root, "a");
    let b = section(a, "b");
    let c = section(b, "c");
    let line = |section: &Section, key: &str| section.get(key).unwrap().origin.to_string();
    assert_eq!(line(root, "top"), "app.toml:1");
    assert_eq!(line(root, "a"), "app.toml:3");
    assert_eq!(b.origin().to_string(), "app.toml:9");
    assert_eq!(c.origin().to_string(), "app.toml:3");
    assert_eq!(c.path(), "a.b.c");
    assert_eq!(line(c, "x"), "app.toml:4");
    assert_eq!(line(c, "list"), "app.toml:5");
    assert_eq!(line(section(b, "y"), "z"), "app.toml:10");
    assert_eq!(line(section(b, "inline"), "q"), "app.toml:11");
    assert_eq!(line(b, "last"), "app.toml:12");

    assert_eq!(c.get("x").unwrap().value, Value::from("text"));
    assert_eq!(section(b, "y").get("z").unwrap().value, Value::from(2.5));
    assert_eq!(
        section(b, "inline").get("q").unwrap().value,
        Value::from(16)
    );
    assert_eq!(b.get("last").unwrap().value, Value::from(-7));
    let Value::List(items) = &c.get("list").unwrap().value else {
        panic!("no list");
    };
    assert_eq!(items[0].value, Value::from(1));
    assert_eq!(items[1].value, Value::from(true));
    assert_eq!(items[1].origin.to_string(), "app.toml:7");
}

#[test]
fn syntax_errors_name_line_and_column_and_quote_nothing() {
    let cases = [
        (
            "[a\nb = 1",
            "app.toml:1:3: not valid TOML: unclosed table, expected `]`",
        ),
        (
            "a = 1\n  a = 2",
            "app.toml:2:3: not valid TOML: duplicate key",
        ),
        (
            "[a]\n[b]\n[a]\n",
            "app.toml:3:2: not valid TOML: duplicate key",
        ),
        (
            "url = \"ä\"\nwait = 10s",
            "app.toml:2:8: not valid TOML: string values must be quoted, expected literal string",
        ),
        (
            "password = 'ä' secret",
            "app.toml:1:16: not valid TOML: unexpected key or value, expected newline, `#`",
        ),
        (
            "password = \"secret",
            "app.toml:1:19: not valid TOML: invalid basic string, expected `\"`",
        ),
        (
            "password",
            "app.toml:1:9: not valid TOML: key with no value, expected `=`",
        ),
    ];
    for (text, expected) in cases {
        let error = parse(text, "app.toml".into()).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_found_by_line_and_column() {
    let error = parse_bytes(b"a = 1\nb = \"\xc3\xa4\xff\"", "app.toml".into()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "app.toml:2:7: not valid TOML: the file is not UTF-8 text"
    );
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let document = parse_bytes(b"\xef\xbb\xbfa = 1", "app.toml".into()).unwrap();
    assert_eq!(document.root.get("a").unwrap().value, Value::from(1));
}

#[test]
fn values_that_no_key_can_have_are_mistakes() {
    let document = document(
        "day = 1979-05-27\n\
         many = 99999999999999999999\n\
         list = [1, 07:32:00]\n\
         fine = 1",
    );
    let errors: Vec<_> = document.mistakes.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors,
        [
            "app.toml:1: 'day' must not be a date; put text in quotes",
            "app.toml:3: 'list[1]' must not be a date; put text in quotes",
            "app.toml:2: 'many' is a number that is too large",
        ]
    );
    let keys: Vec<_> = document.root.iter().map(|(key, _)| key).collect();
    assert_eq!(keys, ["fine", "list"]);
}
