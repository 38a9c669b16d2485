//! Tests of the settings of database servers.

use actix_persistence_storage_api::{Origin, Section};

use super::*;

const KIND: ServerKind = ServerKind {
    schemes: &["postgres", "postgresql"],
    port: 5432,
};

fn endpoint_of(url: &str) -> Result<ServerEndpoint, InvalidOption> {
    ServerOptions::new(url).endpoint(&KIND)
}

fn mistake_of(url: &str) -> String {
    endpoint_of(url).unwrap_err().to_string()
}

fn section() -> Section {
    Section::new("persistence.journal.a", Origin::code())
}

fn read(section: &Section) -> ServerOptions {
    let mut reader = section.reader();
    let options = ServerOptions::read(&mut reader);
    reader.finish().unwrap();
    options
}

#[test]
fn a_url_and_its_parts_name_the_same_place() {
    let by_url = endpoint_of("postgresql://me:p%40ss@db.example.org:6543/bank").unwrap();
    let by_parts = read(
        &section()
            .with("host", "db.example.org")
            .with("port", 6543)
            .with("user", "me")
            .with("password", "p@ss")
            .with("database", "bank"),
    );
    assert_eq!(by_parts.endpoint(&KIND).unwrap(), by_url);
    assert_eq!(by_url.to_string(), "me@db.example.org:6543/bank");
    assert_eq!(by_url.password, Password::Given(Secret::new("p@ss")));
}

#[test]
fn what_is_left_out_has_a_default_that_the_environment_does_not_change() {
    let endpoint = endpoint_of("postgres://me@/bank").unwrap();
    assert_eq!((endpoint.host.as_str(), endpoint.port), ("localhost", 5432));
    assert_eq!(endpoint.password, Password::None);
    let endpoint = endpoint_of("postgres://me@[::1]:1/b%2Fank").unwrap();
    assert_eq!((endpoint.host.as_str(), endpoint.port), ("::1", 1));
    assert_eq!(endpoint.to_string(), "me@[::1]:1/b/ank");
}

#[test]
fn a_socket_may_stand_for_the_host() {
    for url in [
        "postgres://me@%2Frun%2Fpg/bank",
        "postgres://me@/bank?host=/run/pg",
        "postgres://me@localhost/bank?socket=%2Frun%2Fpg",
    ] {
        let endpoint = endpoint_of(url).unwrap();
        assert_eq!(endpoint.socket, Some(PathBuf::from("/run/pg")), "{url}");
        assert_eq!(endpoint.tls.mode, TlsMode::Disable);
    }
}

#[test]
fn only_this_machine_is_trusted_without_being_told() {
    for (url, mode) in [
        ("postgres://me@localhost/b", TlsMode::Disable),
        ("postgres://me@127.0.0.7/b", TlsMode::Disable),
        ("postgres://me@[::1]/b", TlsMode::Disable),
        ("postgres://me@10.0.0.1/b", TlsMode::VerifyFull),
        ("postgres://me@localhost.example.org/b", TlsMode::VerifyFull),
        (
            "postgres://me@localhost/b?sslmode=require",
            TlsMode::Require,
        ),
        ("postgres://me@db/b?ssl-mode=VERIFY_CA", TlsMode::VerifyCa),
        ("postgres://me@db/b?sslmode=disable", TlsMode::Disable),
    ] {
        assert_eq!(endpoint_of(url).unwrap().tls.mode, mode, "{url}");
    }
    assert!(mistake_of("postgres://me@db/b?sslmode=prefer").contains("verify-full"));
}

#[test]
fn mistakes_name_the_key_and_never_a_secret() {
    for (url, part) in [
        ("mysql://me:hunter2@db/b", "must begin with 'postgres://'"),
        ("hunter2", "must begin with"),
        ("postgres://me:hunter2@db", "must name a database"),
        ("postgres://:hunter2@db/b", "must name a user"),
        ("postgres://me:hunter2/x@db/b", "%2F"),
        ("postgres://me:hunter2@x@db/b", "%40"),
        ("postgres://me:hunter2#@db/b", "%23"),
        ("postgres://me:hunter2?@db/b", "%3F"),
        ("postgres://me:hunter2%@db/b", "%25"),
        ("postgres://me:hunter2%00@db/b", "NUL"),
        ("postgres://me:hunter2@db:0/b", "port"),
        ("postgres://me:hunter2@db:hunter2/b", "port"),
        ("postgres://me@db/b?hunter2=hunter2", "sslrootcert"),
        ("postgres://me@db/b?password=hunter2", "sslrootcert"),
        ("postgres://me@db/b?options=-c%20x=hunter2", "sslrootcert"),
        ("postgres://me@db/b?sslmode=hunter2", "verify-full"),
        ("postgres://me@[::1/b", "IPv6"),
    ] {
        let message = mistake_of(url);
        assert!(message.starts_with("'url' "), "{url}: {message}");
        assert!(message.contains(part), "{url}: {message}");
        assert!(!message.contains("hunter2"), "{url}: {message}");
    }
}

#[test]
fn nothing_may_be_said_twice() {
    let url = "postgres://me:a@db/b?sslmode=require&sslrootcert=/x";
    for (key, value) in [
        ("host", "db"),
        ("user", "me"),
        ("database", "b"),
        ("socket", "/run"),
        ("password", "a"),
        ("password-env", "A"),
        ("password-file", "/a"),
        ("tls", "require"),
        ("tls-root-certificate", "/x"),
    ] {
        let options = read(&section().with("url", url).with(key, value));
        assert_eq!(options.endpoint(&KIND).unwrap_err().key, key);
    }
    let both = section()
        .with("host", "db")
        .with("socket", "/run")
        .with("user", "me")
        .with("database", "b");
    assert_eq!(read(&both).endpoint(&KIND).unwrap_err().key, "socket");
    let nothing = ServerOptions::default().endpoint(&KIND).unwrap_err();
    assert_eq!(nothing.key, "url");
}

#[test]
fn a_certificate_to_log_in_with_needs_its_key() {
    let url = "postgres://me@db/b";
    let with = |key, path| read(&section().with("url", url).with(key, path)).endpoint(&KIND);
    let missing = with("tls-client-certificate", "/c").unwrap_err();
    assert_eq!(missing.key, "tls-client-key");
    let missing = with("tls-client-key", "/k").unwrap_err();
    assert_eq!(missing.key, "tls-client-certificate");
    let both = endpoint_of("postgres://me@db/b?sslcert=/c&sslkey=/k").unwrap();
    assert_eq!(both.tls.client, Some(("/c".into(), "/k".into())));
}

#[test]
fn debug_shows_where_but_no_password() {
    let mut options = ServerOptions::new("postgres://me:hunter2@x@db:1/b?sslmode=require");
    options.password = Some(Secret::new("hunter2"));
    let shown = format!("{options:?}");
    assert!(shown.contains("@db:1/b"), "{shown}");
    assert!(!shown.contains("hunter2"), "{shown}");
    let endpoint = endpoint_of("postgres://me:hunter2@db/b").unwrap();
    assert!(!format!("{endpoint:?} {endpoint}").contains("hunter2"));
    assert_eq!(address::without_password("hunter2"), "***");
}

#[test]
fn numbers_and_times_have_bounds() {
    let mut options = ServerOptions::new("postgres://me@db/b");
    assert_eq!(options.mistakes(&KIND), []);
    options.writers = 0;
    options.read_connections = 65;
    options.acquire_timeout = Duration::ZERO;
    options.connect_timeout = LONGEST + Duration::from_secs(1);
    options.lock_timeout = options.statement_timeout;
    let mistakes = options.mistakes(&KIND);
    let keys: Vec<_> = mistakes.iter().map(|mistake| mistake.key).collect();
    assert_eq!(
        keys,
        [
            "writers",
            "read-connections",
            "acquire-timeout",
            "connect-timeout",
            "lock-timeout"
        ]
    );
    assert!(options.client_timeout() > options.statement_timeout);
}

#[test]
fn the_first_difference_between_two_stores_is_named() {
    let options = ServerOptions::new("postgres://me@db/b");
    assert_eq!(options.conflicting_option(&options.clone()), None);
    let mut other = options.clone();
    other.lock_timeout = Duration::from_secs(1);
    assert_eq!(options.conflicting_option(&other), Some("lock-timeout"));
    let conflict = |one, other| {
        endpoint_of(one)
            .unwrap()
            .conflicting_option(&endpoint_of(other).unwrap())
    };
    let one = "postgres://me:a@db/b";
    assert_eq!(conflict(one, "postgresql://me:a@db:5432/b"), None);
    assert_eq!(conflict(one, "postgres://me:c@db/b"), Some("password"));
    assert_eq!(
        conflict(one, "postgres://me:a@db/b?sslmode=require"),
        Some("tls")
    );
}
