//! The meaning of HOCON, and the reports about a text that is none.

use std::fs;

use super::*;

fn source(environment: &[(&str, &str)]) -> Source {
    let environment = environment.iter();
    let environment = environment.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Source {
        environment: Some(environment.collect()),
        ..Source::text("app.conf")
    }
}

fn document(text: &str) -> Document {
    parse(text, &source(&[])).unwrap()
}

fn error(text: &str) -> String {
    parse(text, &source(&[])).unwrap_err().to_string()
}

/// Returns the value of a path below `persistence`.
fn text_at(document: &Document, path: &str) -> Option<String> {
    let mut section = &document.root;
    let (sections, key) = path.rsplit_once('.').unwrap();
    for name in sections.split('.') {
        match &section.get(name)?.value {
            Value::Section(inner) => section = inner,
            _ => return None,
        }
    }
    section.reader().string(key)
}

#[test]
fn the_section_of_akka_pekko_or_ours_is_read() {
    for text in [
        "persistence { journal { plugin = a } }",
        "akka.persistence.journal.plugin = a",
        "akka { persistence { journal { plugin = a } } }",
        r#"{ "pekko": { "persistence": { "journal": { "plugin": "a" } } } }"#,
    ] {
        let document = document(text);
        let plugin = text_at(&document, "persistence.journal.plugin");
        assert_eq!(plugin.as_deref(), Some("a"), "{text}");
        assert!(document.mistakes.is_empty() && document.warnings.is_empty());
    }
}

#[test]
fn what_is_not_ours_is_named_in_one_warning() {
    let text = "data = /var\nakka { loglevel = INFO, actor {}, persistence {} }\npersistance {}";
    let document = document(text);
    assert_eq!(document.warnings.len(), 1);
    for key in ["'data'", "'akka.loglevel'", "'akka.actor'", "'persistance'"] {
        assert!(
            document.warnings[0].contains(key),
            "{:?}",
            document.warnings
        );
    }
}

#[test]
fn a_file_without_the_section_or_with_two_is_a_mistake() {
    let mistakes = |text| document(text).mistakes[0].to_string();
    assert_eq!(
        mistakes(""),
        "app.conf: 'persistence' is not in the file, and neither is 'akka.persistence' or 'pekko.persistence'"
    );
    assert_eq!(
        mistakes("persistence {}\nakka.persistence {}"),
        "app.conf: 'persistence' is in the file as 'persistence' and as 'akka.persistence'; keep one"
    );
}

#[test]
fn substitutions_includes_and_null_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.conf");
    fs::write(
        folder.path().join("base.conf"),
        "persistence { a = 1, b = 2 }",
    )
    .unwrap();
    let text = "include \"base.conf\"\nname = bank\npersistence {\n  b = null\n  c = ${name}\".db\"\n  \
                c = ${?SET}\n  d = x\n  d = ${?UNSET}\n}\n";
    let file = Source {
        environment: Some(HashMap::from([("SET".to_owned(), "other.db".to_owned())])),
        ..Source::file("app.conf".into(), &path)
    };
    let document = parse(text, &file).unwrap();
    let value = |key| text_at(&document, &format!("persistence.{key}"));
    assert_eq!(value("a").as_deref(), Some("1"));
    assert_eq!(value("b"), None);
    assert_eq!(value("c").as_deref(), Some("other.db"));
    assert_eq!(value("d").as_deref(), Some("x"));
}

#[test]
fn a_broken_text_is_an_error_with_its_place_that_quotes_nothing() {
    for text in [
        "persistence {\n",
        "persistence {\n url = \"secret",
        "}",
        "persistence {}\n}\npersistence.a = secret",
        "persistence = [",
        "a = 1\n\"secret\" \"secret2\" {",
        "[1, 2]",
        "a = ${secret",
        "persistence { url : = secret }",
        "= secret",
        "a.. = secret",
        "\"\"\"secret",
        "a = \"\\u00zz secret\"",
        "include required(\"secret.conf",
    ] {
        let shown = error(text);
        assert!(shown.starts_with("app.conf:"), "{shown}");
        assert!(!shown.contains("secret"), "{shown}");
    }
    let lines = "a = 1\nb = 2\nc = }\n";
    assert!(error(lines).starts_with("app.conf:3:"), "{}", error(lines));
}

#[test]
fn what_a_text_refers_to_must_be_there_and_is_named() {
    assert_eq!(
        error("persistence.a = ${data.folder}"),
        "app.conf: cannot resolve the config: could not resolve substitution (data.folder)"
    );
    assert!(error("a = ${b}\nb = ${a}").contains("circular substitution"));
    assert!(error("include required(file(\"/no/such.conf\"))").contains("/no/such.conf"));
}

#[test]
fn bytes_that_are_no_text_are_found_by_their_line() {
    let error = parse_bytes(b"a = 1\nb = \xff", &source(&[])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "app.conf:2:1: not valid HOCON: the file is not UTF-8 text"
    );
}

#[test]
fn a_text_that_would_use_up_the_stack_is_refused_and_the_process_goes_on() {
    let many = 100_000;
    let dots = ".a".repeat(many);
    for text in [
        "{a:".repeat(many),
        format!("a={}", "[".repeat(many)),
        format!("a{dots}=1"),
        format!("a={{a{dots}=1}}"),
        format!("a{dots} =\n {{}}"),
        "a.a.a.a.a =\n {".repeat(many),
        "a.a.a.a.a\n {".repeat(many),
        format!("a=${{?a{dots}}}"),
        format!("{}a=1", "\"a\".".repeat(many)),
        format!("{}a=1", "\"=\".".repeat(many)),
        "a+=1\n".repeat(many),
        (1..many)
            .map(|n| format!("a{}=${{a{n}}}\n", n - 1))
            .collect(),
        "a={a:${a}}\n".repeat(many),
    ] {
        let start: String = text.chars().take(20).collect();
        let error = error(&text);
        assert!(error.contains("too"), "{start}: {error}");
    }
}

#[test]
fn the_deepest_text_within_the_bounds_is_read_or_refused_soon() {
    let links = 250;
    let chain: String = (1..links)
        .map(|n| format!("a{}=${{a{n}}}\n", n - 1))
        .collect();
    for text in [
        format!("{}b=1", "a.".repeat(47)),
        format!("{}b=1{}", "a.a.a{\n".repeat(15), "}".repeat(15)),
        format!("{chain}a{}=1", links - 1),
        "a+=1\n".repeat(links),
        (1..60)
            .map(|n| format!("a{n}={{a:${{?a{}}}}}\n", n - 1))
            .collect(),
    ] {
        let document = document(&format!("{text}\npersistence.x = y"));
        let x = text_at(&document, "persistence.x");
        assert_eq!(x.as_deref(), Some("y"));
    }
    let deep = document(&format!("persistence.{}b=1", "a.".repeat(40)));
    assert!(
        deep.mistakes[0]
            .message
            .ends_with("is nested too deeply; no key is there")
    );
}

#[test]
fn dots_and_braces_in_text_and_comments_are_no_nesting() {
    let dots = ".".repeat(500);
    let text = format!(
        "# {dots} {{\n// {dots}\npersistence {{\n a = \"{dots} \\\" {{\"\n b = \"\"\"{dots}\n{{\"\"\"\n hosts = [{}1.1.1.1]\n}}\n",
        "10.0.0.1, ".repeat(100)
    );
    let document = document(&text);
    let a = text_at(&document, "persistence.a");
    assert_eq!(a.unwrap().len(), 504);
}

#[test]
fn a_text_whose_substitutions_would_make_it_huge_is_refused() {
    let line = |n: usize, value: String| format!("a{n} = {value}\n");
    let doubled: String = (1..100)
        .map(|n| line(n, format!("${{a{0}}}${{a{0}}}", n - 1)))
        .collect();
    let sections: String = (1..100)
        .map(|n| line(n, format!("{{ x = ${{a{0}}}, y = ${{a{0}}} }}", n - 1)))
        .collect();
    let itself = "a0 = ${a0}${a0}\n".repeat(100);
    // Each value holds the next one and a copy of it.
    let nested = (1..22).rev().fold("b = x".to_owned(), |inner, n| {
        format!("b {{ {inner} }}\na = ${{p{}.b}}", ".b".repeat(n))
    });
    for text in [doubled, sections, itself, format!("p {{ {nested} }}")] {
        let start: String = text.chars().take(20).collect();
        let error = error(&format!("a0 = x\n{text}"));
        assert!(error.contains("of the same value"), "{start}: {error}");
    }
}

#[test]
fn a_fallback_that_many_stores_copy_is_within_the_bounds() {
    let stores: String = (0..12)
        .map(|n| format!("s{n} = ${{fallback}} {{ url = \"sqlite://s{n}.db\" }}\n"))
        .collect();
    let text = format!("fallback {{ kind = sqlite }}\npersistence.journal {{\n{stores}}}");
    let kind = text_at(&document(&text), "persistence.journal.s11.kind");
    assert_eq!(kind.as_deref(), Some("sqlite"));
}
