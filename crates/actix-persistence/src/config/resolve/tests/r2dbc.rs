//! The block `r2dbc` of the configs of Akka and Pekko.

use super::*;

const SERVERS: [PluginKind; 2] = [
    PluginKind {
        name: "postgres",
        secret_keys: &["password"],
    },
    PluginKind {
        name: "mysql",
        secret_keys: &["password"],
    },
];

fn resolve(text: &str) -> (Resolution, Vec<String>) {
    let config = Config::from_hocon(text, "app.conf").unwrap();
    config.resolve_silently(&SERVERS, &NamedCode::default())
}

fn mistakes_of(text: &str) -> String {
    let (resolution, _) = resolve(text);
    resolution.mistakes.check().unwrap_err().to_string()
}

/// Returns the kind of a store, and the keys that are left for its plugin.
fn shown<S>(stores: &StoreSections<S>) -> (&'static str, Vec<(String, String)>) {
    let [store] = &stores.stores[..] else {
        panic!("{} stores", stores.stores.len());
    };
    assert_eq!(store.plugin_id, "r2dbc");
    let section = &store.section;
    let keys = section.iter().map(|(key, _)| key.to_owned());
    let text = |key: String| {
        let text = section.reader().string(&key).unwrap_or_default();
        (key, text)
    };
    (store.kind, keys.map(text).collect())
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

#[test]
fn the_block_of_akka_becomes_the_stores_that_it_names() {
    let (resolution, warnings) = resolve(
        r#"
akka.persistence {
  journal.plugin = "akka.persistence.r2dbc.journal"
  snapshot-store.plugin = "akka.persistence.r2dbc.snapshot"
  state.plugin = "akka.persistence.r2dbc.state"
  r2dbc {
    dialect = "postgres"
    schema = "bank"
    connection-factory {
      driver = "postgres"
      url = ""
      host = "db.example.org"
      port = 6543
      database = "bank"
      user = "teller"
      password = "hunter2"
      ssl { enabled = on, mode = "VERIFY_CA", root-cert = "/ca.pem" }
      max-size = 20
      connect-timeout = 3 seconds
    }
    journal { table = "events", payload-column-type = "JSONB", publish-events = on, replay-filter.mode = off }
    query { refresh-interval = 1s, buffer-size = 50, behind-current-time = 100 millis }
  }
}
"#,
    );
    assert_eq!(resolution.mistakes.check(), Ok(()));
    let settings = resolution.settings;
    let common = [
        ("connect-timeout", "3 seconds"),
        ("database", "bank"),
        ("host", "db.example.org"),
        ("password", "hunter2"),
        ("port", "6543"),
        ("schema", "bank"),
        ("tls", "verify-ca"),
        ("tls-root-certificate", "/ca.pem"),
        ("user", "teller"),
    ];
    let mut journal = common.to_vec();
    journal.extend([("event-table", "events"), ("payload-column", "json")]);
    journal.sort_unstable();
    assert_eq!(shown(&settings.journals), ("postgres", pairs(&journal)));
    assert_eq!(
        shown(&settings.snapshot_stores),
        ("postgres", pairs(&common))
    );
    assert_eq!(shown(&settings.state_stores), ("postgres", pairs(&common)));
    for default in [
        settings.journals.default,
        settings.snapshot_stores.default,
        settings.state_stores.default,
    ] {
        assert_eq!(default.as_deref(), Some("r2dbc"));
    }
    let filter = &settings.journals.stores[0].settings.actor.replay_filter;
    assert_eq!(filter.mode, ReplayFilterMode::Off);
    let query = &settings.state_stores.stores[0].settings.query;
    assert_eq!(query.refresh_interval, Duration::from_secs(1));
    assert_eq!(query.page_size, 50);

    let ignored = [
        "connection-factory.driver",
        "connection-factory.max-size",
        "journal.publish-events",
        "query.behind-current-time",
    ];
    for key in ignored {
        let start = format!("app.conf: 'persistence.r2dbc.{key}' has no meaning here");
        let found = warnings
            .iter()
            .filter(|warning| warning.starts_with(&start));
        assert_eq!(found.count(), 1, "{key}: {warnings:#?}");
    }
    let last = "app.conf: 'persistence.r2dbc' is read as 'persistence.journal.r2dbc', \
                'persistence.snapshot-store.r2dbc', 'persistence.state.r2dbc'; write that instead";
    assert_eq!(warnings.iter().filter(|text| *text == last).count(), 1);
    assert!(warnings.iter().all(|warning| !warning.contains("hunter2")));
}

#[test]
fn only_stores_that_the_block_or_a_default_names_are_made() {
    let (resolution, warnings) = resolve(
        "pekko.persistence { state.plugin = pekko.persistence.r2dbc.state\n\
         r2dbc { schema = bank, connection-factory { dialect = mysql, host = db, ssl.enabled = off }, snapshot {} } }",
    );
    assert_eq!(resolution.mistakes.check(), Ok(()));
    let settings = resolution.settings;
    assert!(settings.journals.stores.is_empty());
    let expected = ("mysql", pairs(&[("host", "db"), ("tls", "disable")]));
    assert_eq!(shown(&settings.snapshot_stores), expected);
    assert_eq!(shown(&settings.state_stores), expected);
    assert_eq!(settings.snapshot_stores.default, None);
    assert!(warnings[0].contains("'persistence.r2dbc.schema' has no meaning here"));

    let (resolution, warnings) = resolve("akka.persistence.r2dbc.connection-factory { host = db }");
    assert_eq!(resolution.mistakes.check(), Ok(()));
    assert!(resolution.settings.journals.stores.is_empty());
    assert!(warnings[0].contains("no default plugin names a store of it"));
}

#[test]
fn a_url_replaces_the_parts_and_loses_the_name_of_the_library() {
    for (url, expected) in [
        ("r2dbc:postgresql://me@db/bank", "postgresql://me@db/bank"),
        ("r2dbc:pool:postgres://me@db/bank", "postgres://me@db/bank"),
        ("postgres://me@db/bank", "postgres://me@db/bank"),
    ] {
        let (resolution, warnings) = resolve(&format!(
            "akka.persistence.r2dbc {{ journal {{}}, connection-factory {{ url = \"{url}\", host = localhost }} }}"
        ));
        assert_eq!(resolution.mistakes.check(), Ok(()));
        let found = shown(&resolution.settings.journals);
        assert_eq!(found, ("postgres", pairs(&[("url", expected)])));
        assert!(warnings[0].contains("connection-factory.host' is ignored; 'url' is there too"));
    }
}

#[test]
fn what_the_config_says_in_our_words_goes_before_the_block() {
    let (resolution, _) = resolve(
        "persistence { journal.r2dbc { kind = mysql, port = 1 }\n\
         journal-plugin-fallback { port = 2, user = me }\n\
         r2dbc { journal {}, connection-factory { port = 3, host = db } } }",
    );
    assert_eq!(resolution.mistakes.check(), Ok(()));
    let expected = pairs(&[("host", "db"), ("port", "1"), ("user", "me")]);
    assert_eq!(shown(&resolution.settings.journals), ("mysql", expected));
}

#[test]
fn what_cannot_be_read_is_a_mistake_under_the_name_that_was_written() {
    let of = |keys: &str| {
        mistakes_of(&format!(
            "akka.persistence.r2dbc {{ journal {{}}\n{keys} }}"
        ))
    };
    assert_eq!(
        of("dialect = h2"),
        "app.conf: 'persistence.r2dbc.dialect' names the unknown dialect \"h2\"; known dialects: mysql, postgres"
    );
    assert!(
        of("jurnal {}").contains("unknown key 'persistence.r2dbc.jurnal'; did you mean 'journal'?")
    );
    assert!(of("query.refresh = 1s").contains("unknown key 'persistence.r2dbc.query.refresh'"));
    assert_eq!(
        of("journal.use-connection-factory = \"other.connection-factory\""),
        "app.conf: 'persistence.r2dbc.journal.use-connection-factory' names another section; \
         write a section for the store, with its database"
    );
}
