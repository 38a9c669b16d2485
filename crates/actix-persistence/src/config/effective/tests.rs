//! The effective config as a user sees it.

use crate::Config;
use crate::config::{NamedCode, PluginKind};

const KINDS: [PluginKind; 1] = [PluginKind {
    name: "sqlite",
    secret_keys: &["api-key"],
}];

#[test]
fn shows_each_value_with_its_place_and_no_secret() {
    let text = r#"[persistence]
max-concurrent-recoveries = 7
[persistence.journal.accounts]
kind = "sqlite"
url = "x://me:secret@host/db"
api-key = 12345
"odd key" = ["C:\\x", "x://me:secret@host"]
tls.password = "secret"
tls.secrets = { deep = "secret" }
tls.ca = "ca.pem"
[persistence.journal-plugin-fallback]
write-timeout = "5 s"
[persistence.journal-plugin-fallback.circuit-breaker]
max-failures = 3
[persistence.journal-plugin-fallback.replay-filter]
window-size = 20
"#;
    let config = Config::from_toml(text, "app.toml")
        .unwrap()
        .with("persistence.journal.accounts.serializer", "json")
        .with(
            "persistence.journal.accounts.circuit-breaker.call-timeout",
            "1s",
        );
    let resolution = config.resolve(&KINDS, &NamedCode::default());
    assert_eq!(resolution.mistakes.check(), Ok(()));
    assert_eq!(
        resolution.settings.journals.stores[0].effective_toml(),
        r#"[persistence.journal.accounts]
api-key = "***"  # app.toml:6
compression = "off"  # default
compression-min-bytes = 1024  # default
initialize-timeout = "30s"  # default
kind = "sqlite"  # app.toml:4
max-concurrent-recoveries = 7  # app.toml:2
max-held-requests = 10000  # default
"odd key" = ['C:\x', "x://me:***@host"]  # app.toml:7
recovery-event-timeout = "30s"  # default
recovery-permit-timeout = "2m"  # default
serializer = "json"  # code
url = "x://me:***@host/db"  # app.toml:5
write-timeout = "5 s"  # app.toml:12

[persistence.journal.accounts.circuit-breaker]
call-timeout = "1s"  # code
exponential-backoff = 1.0  # default
max-failures = 3  # app.toml:14
max-reset-timeout = "36500d"  # default
random-factor = 0.0  # default
reset-timeout = "30s"  # default

[persistence.journal.accounts.query]
held-back-timeout = "30s"  # default
max-back-off = "30s"  # default
page-size = 1000  # default
refresh-interval = "3s"  # default

[persistence.journal.accounts.replay-filter]
debug = false  # default
max-old-writers = 10  # default
mode = "fail"  # default
window-size = 20  # app.toml:16

[persistence.journal.accounts.tls]
ca = "ca.pem"  # app.toml:10
password = "***"  # app.toml:8

[persistence.journal.accounts.tls.secrets]
deep = "***"  # app.toml:9
"#
    );
    let settings = format!("{:?}", resolution.settings);
    assert!(
        !settings.contains("secret@") && !settings.contains("12345"),
        "{settings}"
    );
}

#[test]
fn a_breaker_that_is_only_in_the_fallback_is_shown_under_the_plugin_id() {
    let text = r#"[persistence.snapshot-store.sqlite]
[persistence.snapshot-store-plugin-fallback.circuit-breaker]
max-failures = 3
"#;
    let resolution = Config::from_toml(text, "app.toml")
        .unwrap()
        .resolve(&KINDS, &NamedCode::default());
    assert_eq!(
        resolution.settings.snapshot_stores.stores[0].effective_toml(),
        r#"[persistence.snapshot-store.sqlite]
bytes-per-second = 8388608  # default
compression = "off"  # default
compression-min-bytes = 1024  # default
initialize-timeout = "30s"  # default
kind = "sqlite"  # default
load-timeout = "30s"  # default
max-concurrent-calls = 16  # default
max-held-requests = 10000  # default
save-timeout = "1m"  # default
serializer = "messagepack"  # default
snapshot-is-optional = false  # default

[persistence.snapshot-store.sqlite.circuit-breaker]
call-timeout = "20s"  # default
exponential-backoff = 1.0  # default
max-failures = 3  # app.toml:3
max-reset-timeout = "36500d"  # default
random-factor = 0.0  # default
reset-timeout = "1m"  # default
"#
    );
}

#[test]
fn what_a_state_store_names_is_shown_by_entity_type() {
    let text = r#"[persistence.state.sqlite]
url = "sqlite://me:hidden@blog.db"
custom-table."Blog.Post" = "post"
[persistence.state-plugin-fallback]
change-event-journal = ""
"#;
    let config = Config::from_toml(text, "app.toml").unwrap();
    let resolution = config.resolve(&KINDS, &NamedCode::default());
    assert_eq!(resolution.mistakes.check(), Ok(()));
    assert_eq!(
        resolution.settings.state_stores.stores[0].effective_toml(),
        r#"[persistence.state.sqlite]
change-event-journal = ""  # app.toml:5
compression = "off"  # default
compression-min-bytes = 1024  # default
initialize-timeout = "30s"  # default
kind = "sqlite"  # default
max-concurrent-calls = 16  # default
max-concurrent-recoveries = 50  # default
max-held-requests = 10000  # default
recovery-permit-timeout = "2m"  # default
recovery-timeout = "30s"  # default
serializer = "messagepack"  # default
url = "sqlite://me:***@blog.db"  # app.toml:2
write-timeout = "30s"  # default

[persistence.state.sqlite.circuit-breaker]
call-timeout = "10s"  # default
exponential-backoff = 1.0  # default
max-failures = 10  # default
max-reset-timeout = "36500d"  # default
random-factor = 0.0  # default
reset-timeout = "30s"  # default

[persistence.state.sqlite.custom-table]
"Blog.Post" = "post"  # app.toml:3

[persistence.state.sqlite.query]
held-back-timeout = "30s"  # default
max-back-off = "30s"  # default
page-size = 1000  # default
refresh-interval = "3s"  # default
"#
    );
}

#[test]
fn what_variables_say_is_shown_as_what_the_key_expects() {
    let config = Config::from_toml("[persistence.journal.sqlite]\n", "app.toml").unwrap();
    let journal = "ACTIX_PERSISTENCE__JOURNAL__SQLITE__";
    let config = config.with_env([
        (format!("{journal}CIRCUIT_BREAKER__MAX_FAILURES"), "3"),
        (format!("{journal}CIRCUIT_BREAKER__RANDOM_FACTOR"), "1"),
        (format!("{journal}REPLAY_FILTER__DEBUG"), "on"),
        (format!("{journal}LANES"), "2"),
        (format!("{journal}WRITE_TIMEOUT"), "60 s"),
        (format!("{journal}MAX_CONCURRENT_RECOVERIES"), "7"),
        (format!("{journal}URL"), "0042"),
    ]);
    let resolution = config.resolve(&KINDS, &NamedCode::default());
    assert_eq!(resolution.mistakes.check(), Ok(()));
    let shown = resolution.settings.journals.stores[0].effective_toml();
    for line in [
        "max-failures = 3  # environment variable ",
        "random-factor = 1.0  # environment variable ",
        "debug = true  # environment variable ",
        "lanes = 2  # environment variable ",
        "write-timeout = \"1m\"  # environment variable ",
        "max-concurrent-recoveries = 7  # environment variable ",
        "url = \"0042\"  # environment variable ",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
}
