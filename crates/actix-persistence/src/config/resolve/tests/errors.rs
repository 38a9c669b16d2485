//! The text of every mistake, as a user reads it.

use super::*;

#[test]
fn one_mistake_one_line() {
    let cases = [
        // Unknown keys.
        (
            "[persistance]\n",
            "app.toml:1: unknown key 'persistance'; did you mean 'persistence'? known keys: persistence",
        ),
        (
            "[server]\nport = 80\n",
            "app.toml:1: unknown key 'server'; known keys: persistence",
        ),
        (
            "[persistence]\nmax_concurrent_recoveries = 5\n",
            "app.toml:2: unknown key 'persistence.max_concurrent_recoveries'; did you mean 'max-concurrent-recoveries'? \
             known keys: back-off, dead-letters, internal-stash, journal, journal-plugin-fallback, \
             max-concurrent-recoveries, offset-store, offset-store-plugin-fallback, published-events, snapshot-store, snapshot-store-plugin-fallback, \
             state, state-plugin-fallback",
        ),
        (
            "[persistence.internal-stash]\noverflow = \"discard\"\n",
            "app.toml:2: 'persistence.internal-stash.overflow' must be \"wait\" or \"fail\" or \"drop\" or \"reply\", not \"discard\"",
        ),
        (
            "[persistence.back-off]\nmaximum = \"1s\"\n",
            "app.toml:2: unknown key 'persistence.back-off.maximum'; \
             known keys: keep-stash, max, max-restarts, min, on-conflict, random-factor, reset-after",
        ),
        (
            "[persistence.journal]\nplugn = \"a\"\n[persistence.journal.a]\nkind = \"memory\"\n",
            "app.toml:2: unknown key 'persistence.journal.plugn'; did you mean 'plugin'? known keys: a, plugin",
        ),
        (
            "[persistence.journal.memory.circuit-breaker]\nmax-falures = 5\n",
            "app.toml:2: unknown key 'persistence.journal.memory.circuit-breaker.max-falures'; \
             did you mean 'max-failures'? known keys: call-timeout, exponential-backoff, max-failures, \
             max-reset-timeout, random-factor, reset-timeout",
        ),
        // Unknown names.
        (
            "[persistence.journal]\nplugin = \"acounts\"\naccounts.kind = \"memory\"\naudit.kind = \"memory\"\n",
            "app.toml:2: 'persistence.journal.plugin' names the unknown plugin id \"acounts\"; \
             did you mean \"accounts\"? known plugin ids: accounts, audit",
        ),
        (
            "[persistence.journal]\nplugin = \"memory\"\n",
            "app.toml:2: 'persistence.journal.plugin' names the unknown plugin id \"memory\"; known plugin ids: none; \
             each has a section [persistence.journal.<plugin id>]",
        ),
        (
            "[persistence.snapshot-store]\nplugin = \"persistence.journal.a\"\na.kind = \"memory\"\n",
            "app.toml:2: 'persistence.snapshot-store.plugin' names the unknown plugin id \"persistence.journal.a\"; \
             known plugin ids: a",
        ),
        (
            "[persistence.journal.a]\nkind = \"sqlit\"\n",
            "app.toml:2: 'persistence.journal.a.kind' names the unknown kind \"sqlit\"; \
             did you mean \"sqlite\"? known kinds: memory, sqlite",
        ),
        (
            "[persistence.snapshot-store.accounts]\nurl = \"sqlite://a.db\"\n",
            "app.toml:1: 'persistence.snapshot-store.accounts.kind' is missing, and \"accounts\" is no kind of plugin; \
             known kinds: memory, sqlite",
        ),
        (
            "[persistence.journal.memory]\nserializer = \"xml\"\n",
            "app.toml:2: 'persistence.journal.memory.serializer' names the unknown serializer \"xml\"; known serializers: json, messagepack; register it with 'Builder::serializer'",
        ),
        (
            "[persistence.journal.memory]\ncompression = \"gzip\"\n",
            "app.toml:2: 'persistence.journal.memory.compression' must be \"off\" or \"zstd\", not \"gzip\"",
        ),
        // Wrong types.
        (
            "persistence = 5\n",
            "app.toml:1: 'persistence' must be a section, not 5",
        ),
        (
            "[[persistence.journal]]\nplugin = \"a\"\n",
            "app.toml:1: 'persistence.journal' must be a section, not a list",
        ),
        (
            "[persistence.journal]\nplugin = 5\n",
            "app.toml:2: 'persistence.journal.plugin' must be a string, not 5",
        ),
        (
            "[persistence.journal.plugin]\nkind = \"memory\"\n",
            "app.toml:1: 'persistence.journal.plugin' must be a string, not a section",
        ),
        (
            "[persistence.journal.memory]\nkind = 5\n",
            "app.toml:2: 'persistence.journal.memory.kind' must be a string, not 5",
        ),
        (
            "[persistence.journal.memory]\nwrite-timeout = 10\n",
            "app.toml:2: 'persistence.journal.memory.write-timeout' must be a duration with its unit, \
             such as \"10s\" or \"250ms\", not 10",
        ),
        (
            "[persistence.journal.memory]\ncircuit-breaker = 10\n",
            "app.toml:2: 'persistence.journal.memory.circuit-breaker' must be a section, not 10",
        ),
        (
            "[persistence.back-off]\nkeep-stash = \"yes\"\n",
            "app.toml:2: 'persistence.back-off.keep-stash' must be true or false, not \"yes\"",
        ),
        (
            "[persistence.back-off]\nmax-restarts = 1979-05-27\n",
            "app.toml:2: 'persistence.back-off.max-restarts' must not be a date; put text in quotes",
        ),
        // Values that cannot be used.
        (
            "[persistence]\nmax-concurrent-recoveries = 0\n",
            "app.toml:2: 'persistence.max-concurrent-recoveries' must be from 1 to 4294967295, not 0",
        ),
        (
            "[persistence]\npublished-events.capacity = 0\n",
            "app.toml:2: 'persistence.published-events.capacity' must be from 1 to 1048576, not 0",
        ),
        (
            "[persistence]\ninternal-stash.capacity = -1\n",
            "app.toml:2: 'persistence.internal-stash.capacity' must be from 1 to 4294967295, not -1",
        ),
        (
            "[persistence.journal.memory]\nlanes = 0\n",
            "app.toml:2: 'persistence.journal.memory.lanes' must be from 1 to 1024, not 0",
        ),
        (
            "[persistence.journal.memory]\nreplay-filter.window-size = 0\n",
            "app.toml:2: 'persistence.journal.memory.replay-filter.window-size' must be from 1 to 4294967295, not 0",
        ),
        (
            "[persistence.journal-plugin-fallback]\nreplay-filter.max-old-writers = 0\n",
            "app.toml:2: 'persistence.journal-plugin-fallback.replay-filter.max-old-writers' \
             must be from 1 to 4294967295, not 0",
        ),
        (
            "[persistence.journal.memory]\nreplay-filter.mode = \"repair\"\n",
            "app.toml:2: 'persistence.journal.memory.replay-filter.mode' must be \"repair-by-discard-old\" or \
             \"fail\" or \"warn\" or \"off\", not \"repair\"",
        ),
        (
            "[persistence.journal.memory]\ninitialize-timeout = \"0s\"\n",
            "app.toml:2: 'persistence.journal.memory.initialize-timeout' must be longer than 0s",
        ),
        (
            "[persistence.snapshot-store.memory.circuit-breaker]\nmax-reset-timeout = \"1s\"\n",
            "app.toml:2: 'persistence.snapshot-store.memory.circuit-breaker.max-reset-timeout' \
             must not be shorter than 'reset-timeout'",
        ),
        (
            "[persistence.snapshot-store.memory.circuit-breaker]\nexponential-backoff = 0.5\n",
            "app.toml:2: 'persistence.snapshot-store.memory.circuit-breaker.exponential-backoff' \
             must be from 1 to 1000, not 0.5",
        ),
        (
            "[persistence.back-off]\nrandom-factor = nan\n",
            "app.toml:2: 'persistence.back-off.random-factor' must be from 0 to 1, not NaN",
        ),
        (
            "[persistence.back-off]\nmin = \"5s\"\nmax = \"1s\"\n",
            "app.toml:3: 'persistence.back-off.max' must not be shorter than 'min'",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(mistakes(&config(text)), expected, "{text}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once_in_the_order_of_the_file() {
    let text = r#"[persistence.snapshot-store]
plugin = "b"
[persistence.journal]
plugin = "x"
[persistence.journal.a]
kind = "oracle"
write-timeout = 10
[persistence.back-off]
min = "fast"
[persistance]
"#;
    assert_eq!(
        mistakes(&config(text)),
        "app.toml:2: 'persistence.snapshot-store.plugin' names the unknown plugin id \"b\"; known plugin ids: none; \
         each has a section [persistence.snapshot-store.<plugin id>]\n\
         app.toml:4: 'persistence.journal.plugin' names the unknown plugin id \"x\"; did you mean \"a\"? \
         known plugin ids: a\n\
         app.toml:6: 'persistence.journal.a.kind' names the unknown kind \"oracle\"; known kinds: memory, sqlite\n\
         app.toml:7: 'persistence.journal.a.write-timeout' must be a duration with its unit, \
         such as \"10s\" or \"250ms\", not 10\n\
         app.toml:9: 'persistence.back-off.min' must be a duration with its unit, \
         such as \"10s\" or \"250ms\", not \"fast\"\n\
         app.toml:10: unknown key 'persistance'; did you mean 'persistence'? known keys: persistence"
    );
}

#[test]
fn mistakes_in_code_are_reported_like_those_in_a_file() {
    let code = Config::new()
        .with("persistence.journal.plugin", 5)
        .with("persistence..x", 1);
    assert_eq!(
        mistakes(&code),
        "code: unknown key 'persistence.'; known keys: back-off, dead-letters, internal-stash, journal, \
         journal-plugin-fallback, max-concurrent-recoveries, offset-store, offset-store-plugin-fallback, published-events, snapshot-store, \
         snapshot-store-plugin-fallback, state, state-plugin-fallback\n\
         code: 'persistence.journal.plugin' must be a string, not 5"
    );
}

#[test]
fn a_mistake_in_a_fallback_is_reported_once_as_the_file_names_it() {
    let text = r#"[persistence.journal-plugin-fallback]
kind = "sqlit"
write-timeout = 1
[persistence.journal-plugin-fallback.circuit-breaker]
call-timout = "1s"
random-factor = 2
[persistence.journal.a]
[persistence.journal.b]
circuit-breaker.max-failures = 2
"#;
    let expected = "app.toml:2: 'persistence.journal-plugin-fallback.kind' names the unknown kind \"sqlit\"; \
         did you mean \"sqlite\"? known kinds: memory, sqlite\n\
         app.toml:3: 'persistence.journal-plugin-fallback.write-timeout' must be a duration with its unit, \
         such as \"10s\" or \"250ms\", not 1\n\
         app.toml:5: unknown key 'persistence.journal-plugin-fallback.circuit-breaker.call-timout'; \
         did you mean 'call-timeout'? known keys: call-timeout, exponential-backoff, max-failures, \
         max-reset-timeout, random-factor, reset-timeout\n\
         app.toml:6: 'persistence.journal-plugin-fallback.circuit-breaker.random-factor' must be from 0 to 1, not 2";
    assert_eq!(mistakes(&config(text)), expected);
    // Even if no section falls back to it.
    let (alone, _) = text.split_once("[persistence.journal.a]").unwrap();
    assert_eq!(mistakes(&config(alone)), expected);
}

#[test]
fn what_may_be_a_secret_in_the_wrong_place_is_not_shown() {
    let text = "[persistence.journal]\nplugin = \"x://me:secret@host/db\"\na.kind = \"x://me:secret@host/db\"\n";
    assert_eq!(
        mistakes(&config(text)),
        "app.toml:2: 'persistence.journal.plugin' names an unknown plugin id; known plugin ids: a\n\
         app.toml:3: 'persistence.journal.a.kind' names an unknown kind; known kinds: memory, sqlite"
    );
}

#[test]
fn an_unknown_kind_names_its_missing_feature_or_the_known_kinds() {
    let kinds = [MADE_IN_CODE, "memory"].map(|name| PluginKind {
        name,
        secret_keys: &[],
    });
    let text = "[persistence.journal.sqlite]\n[persistence.journal.a]\nkind = \"b\"\n";
    let resolution = config(text).resolve(&kinds, &NamedCode::default());
    assert_eq!(
        resolution.mistakes.check().unwrap_err().to_string(),
        "app.toml:1: 'persistence.journal.sqlite.kind' is \"sqlite\", which needs the feature 'sqlite' of \
         actix-persistence\n\
         app.toml:3: 'persistence.journal.a.kind' names the unknown kind \"b\"; known kinds: memory"
    );
}
