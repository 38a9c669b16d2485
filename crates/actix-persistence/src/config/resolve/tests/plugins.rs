//! Tests that mistakes which plugins find are reported together with those of the loader.

use super::*;

/// Reads a section as a plugin does.
fn read_as_plugin(section: &Section) -> Result<(), ConfigErrors> {
    let mut reader = section.reader();
    reader.required_string("url");
    reader.boolean_or("auto-initialize", true);
    reader.finish()
}

fn all_mistakes(text: &str) -> String {
    let mut resolution = config(text).resolve(&KINDS, &NamedCode::default());
    for journal in &resolution.settings.journals.stores {
        if let Err(errors) = read_as_plugin(&journal.section) {
            resolution.mistakes.add(journal.where_written(errors));
        }
    }
    resolution.mistakes.check().unwrap_err().to_string()
}

#[test]
fn they_are_sorted_in_and_know_the_keys_that_all_journals_share() {
    let text = r#"[persistence.journal.a]
kind = "sqlite"
auto-initialise = true
write-timout = "1s"
lanes = 0
compaction.mode = "none"
"#;
    let keys = "known keys: auto-initialize, circuit-breaker, compression, compression-min-bytes, \
                initialize-timeout, kind, lanes, \
                max-concurrent-recoveries, max-held-requests, query, recovery-event-timeout, recovery-permit-timeout, \
                replay-filter, serializer, url, write-timeout";
    let expected = format!(
        "app.toml:1: 'persistence.journal.a.url' is missing\n\
         app.toml:3: unknown key 'persistence.journal.a.auto-initialise'; did you mean 'auto-initialize'? {keys}\n\
         app.toml:4: unknown key 'persistence.journal.a.write-timout'; did you mean 'write-timeout'? {keys}\n\
         app.toml:5: 'persistence.journal.a.lanes' must be from 1 to 1024, not 0\n\
         app.toml:6: unknown key 'persistence.journal.a.compaction'; {keys}"
    );
    assert_eq!(all_mistakes(text), expected);
}

#[test]
fn a_plugins_key_in_a_fallback_is_reported_once_where_it_stands() {
    let text = r#"[persistence.journal-plugin-fallback]
kind = "sqlite"
url = "sqlite://a.db"
auto-initialize = 1
[persistence.journal.a]
[persistence.journal.b]
"#;
    assert_eq!(
        all_mistakes(text),
        "app.toml:4: 'persistence.journal-plugin-fallback.auto-initialize' must be true or false, not 1"
    );
}

#[test]
fn a_section_of_an_unknown_kind_is_not_shown_to_any_plugin() {
    let text = "[persistence.journal.a]\nkind = \"oracle\"\nwhatever = 1\n";
    assert_eq!(
        all_mistakes(text),
        "app.toml:2: 'persistence.journal.a.kind' names the unknown kind \"oracle\"; known kinds: memory, sqlite"
    );
}
