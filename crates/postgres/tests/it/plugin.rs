//! Sections and the stores made of them.

use actix_persistence_postgres::PostgresPlugin;
use actix_persistence_sql_tests::Tables;
use actix_persistence_storage_api::{Origin, Plugin, Section, SessionWork, StateExtensions};

use crate::place::{Place, id};

const URL: &str = "postgres://me:hunter2@db.example.org/bank";

fn section(store: &str) -> Section {
    Section::new(format!("persistence.{store}"), Origin::file("app.toml", 3))
}

#[test]
fn stores_on_one_database_share_its_connections_however_it_is_spelt() {
    let plugin = PostgresPlugin::new();
    let journal = plugin.journal(&section("journal.a").with("url", URL));
    let parts = section("snapshot-store.a")
        .with("host", "db.example.org")
        .with("user", "me")
        .with("password", "hunter2")
        .with("database", "bank");
    let store = plugin
        .snapshot_store(&parts)
        .map_err(|errors| errors.to_string());
    assert!(store.is_ok(), "{:?}", store.err());
    assert_eq!(plugin.databases(), 1);
    let other = section("journal.b").with("url", "postgres://you@db.example.org/bank");
    let other = plugin.journal(&other);
    assert_eq!(plugin.databases(), 2);
    drop((journal, store, other));
    assert_eq!(plugin.databases(), 0);
}

/// The connections of the first one would have shown the tables of its schema to both.
#[tokio::test]
async fn statements_of_the_application_find_the_tables_of_their_stores_schema() {
    let place = Place::new().await;
    let plugin = PostgresPlugin::new();
    let of_schema = |name: &str| {
        let section = place.section().with("schema", name);
        plugin
            .state_store(&section, &StateExtensions::default())
            .unwrap()
    };
    let stores = ["one", "two"].map(|name| (name, of_schema(name)));
    for (name, store) in stores {
        store.initialize().await.unwrap();
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                let rows = session.select("SELECT current_schema()::text", []).await?;
                assert_eq!(rows[0].values(), [name.into()]);
                Ok(())
            })
        });
        store.sql().unwrap().transact(work).await.unwrap();
    }
}

#[test]
fn different_connections_to_one_database_are_refused_with_both_sections() {
    let plugin = PostgresPlugin::new();
    let _journal = plugin
        .journal(&section("journal.a").with("url", URL))
        .unwrap();
    for (key, value) in [
        ("tls", "require"),
        ("lock-timeout", "1s"),
        ("synchronous-commit", "on"),
    ] {
        let other = section("snapshot-store.b")
            .with("url", URL)
            .with(key, value);
        let errors = plugin.snapshot_store(&other).err().unwrap().to_string();
        let both = [
            format!("'persistence.snapshot-store.b.{key}' differs from"),
            format!("'persistence.journal.a.{key}'"),
        ];
        for part in both {
            assert!(errors.contains(&part), "{errors}");
        }
        assert!(!errors.contains("hunter2"), "{errors}");
    }
}

#[test]
fn mistakes_are_reported_at_once_without_secrets() {
    let plugin = PostgresPlugin::new();
    let section = section("journal.a")
        .with("url", "postgres://me:hunter2@db/bank?password=hunter2")
        .with("event-table", "a\"b")
        .with("schema", "a.b")
        .with("payload-column", "xml")
        .with("writers", 0)
        .with("event_table", "c");
    let errors = plugin.journal(&section).err().unwrap();
    assert_eq!(errors.errors().len(), 6, "{errors}");
    let text = errors.to_string();
    assert!(!text.contains("hunter2"), "{text}");
    assert_eq!(plugin.databases(), 0);
}

/// A password that was changed counts for the next connection.
#[tokio::test]
async fn a_password_may_be_changed_while_the_application_runs() {
    let place = Place::new().await;
    let role = place.database.name();
    place
        .run(format!("GRANT CREATE ON DATABASE {role} TO {role}"))
        .await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), format!("{role}\n")).unwrap();
    let url = place
        .database
        .application_url()
        .replace(&format!(":{role}@"), "@");
    let section = section("journal.a")
        .with("url", url)
        .with("password-file", file.path().to_str().unwrap())
        .with("schema", "bank")
        .with("auto-initialize", true);
    let journal = PostgresPlugin::new().journal(&section).unwrap();
    journal.initialize().await.unwrap();
    place
        .run(format!("ALTER ROLE {role} PASSWORD 'changed'"))
        .await;
    std::fs::write(file.path(), "changed").unwrap();
    // On a connection of its own: this one reads.
    let highest = journal.read_highest_sequence_nr(&id("a")).await;
    assert_eq!(highest.unwrap(), 0);
}
