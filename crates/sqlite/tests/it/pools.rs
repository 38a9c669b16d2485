//! Stores that open their connections as a pool of the application does.

use actix_persistence_sql_tests::pools;
use actix_persistence_sqlite::{
    Pools, SqliteJournal, SqliteOptions, SqlitePlugin, SqliteStateStore,
};
use actix_persistence_storage_api::{
    Journal, Plugin, Section, SessionWork, StateStore, StorageErrorKind,
};
use sqlx::SqlitePool;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqliteLockingMode, SqlitePoolOptions,
    SqliteSynchronous,
};

use crate::place::{Place, id, numbers, store};

fn options_of(place: &Place) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(&place.path)
        .create_if_missing(true)
}

fn pool_of(options: SqliteConnectOptions) -> SqlitePool {
    SqlitePoolOptions::new().connect_lazy_with(options)
}

fn plugin_of(pool: SqlitePool) -> SqlitePlugin {
    SqlitePlugin::with_resources(Pools::new().with("main", pool))
}

#[tokio::test]
async fn the_application_may_bring_a_pool() {
    let place = Place::new();
    let plugin = plugin_of(pool_of(options_of(&place)));
    pools::the_application_may_bring_a_pool(&place, &plugin).await;
}

#[tokio::test]
async fn the_application_and_the_store_write_to_one_file() {
    let place = Place::new();
    let pool = pool_of(options_of(&place));
    let options = SqliteOptions::with_pool("main", pool.clone());
    let journal = SqliteJournal::new(options).unwrap();
    journal.initialize().await.unwrap();
    sqlx::query("CREATE TABLE things (a INTEGER)")
        .execute(&pool)
        .await
        .unwrap();
    for number in 1..=3 {
        store(&journal, &id("a"), 1).await;
        sqlx::query("INSERT INTO things VALUES ($1)")
            .bind(number)
            .execute(&pool)
            .await
            .unwrap();
    }
    journal.close().await;
    pool.close().await;
    assert_eq!(numbers(&place.journal().await, &id("a")).await, [1, 2, 3]);
    assert_eq!(place.number("SELECT SUM(a) FROM things").await, 6);
}

/// Each connection would have a database of its own, or the file would be read as if nobody wrote to it.
#[tokio::test]
async fn a_pool_whose_database_cannot_be_shared_is_a_mistake() {
    let place = Place::new();
    let of_file = || options_of(&place);
    for (options, expected) in [
        ("sqlite::memory:".parse().unwrap(), "in memory"),
        (SqliteConnectOptions::new(), "in memory"),
        (SqliteConnectOptions::new().filename(""), "in memory"),
        (of_file().in_memory(true), "in memory"),
        (
            of_file().filename("file:some.db?mode=memory"),
            "by its path",
        ),
        (of_file().immutable(true), "immutable"),
        (of_file().vfs("unix-none"), "without 'vfs'"),
    ] {
        let shown = format!("{options:?}");
        let plugin = plugin_of(pool_of(options));
        let errors = plugin.journal(&pools::section_of_pool("main")).err();
        let text = errors.unwrap_or_else(|| panic!("{shown}")).to_string();
        assert!(
            text.contains("'persistence.journal.a.pool' must"),
            "{shown}: {text}"
        );
        assert!(text.contains(expected), "{shown}: {text}");
    }
}

/// The driver cannot make a URL of each name.
#[tokio::test]
async fn a_file_of_a_pool_may_have_any_name() {
    let place = Place::new();
    let path = place.directory.path().join("a b^c?d#e%41[f].db");
    let options = options_of(&place).filename(&path);
    let journal = SqliteJournal::new(SqliteOptions::with_pool("main", pool_of(options))).unwrap();
    journal.initialize().await.unwrap();
    store(&journal, &id("a"), 1).await;
    assert!(path.exists());
}

#[tokio::test]
async fn a_pool_that_makes_no_file_makes_none_for_a_store() {
    let place = Place::new();
    let options = options_of(&place).create_if_missing(false);
    let journal = SqliteJournal::new(SqliteOptions::with_pool("main", pool_of(options))).unwrap();
    let error = journal.initialize().await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::SchemaMismatch, "{error:?}");
    assert!(!place.path.exists());
}

#[tokio::test]
async fn a_pool_that_only_reads_gives_a_store_that_does_not_open() {
    let place = Place::new();
    place.journal().await.close().await;
    for creates in [false, true] {
        let options = options_of(&place)
            .create_if_missing(creates)
            .read_only(true);
        let options = SqliteOptions::with_pool("main", pool_of(options));
        let error = SqliteJournal::new(options).unwrap().initialize().await;
        let error = error.unwrap_err();
        assert_eq!(error.kind(), StorageErrorKind::AccessDenied, "{error:?}");
    }
}

/// Settings of the pool's own connections must not make the store's less durable, nor keep others out.
#[tokio::test]
async fn a_store_keeps_to_its_own_rules_whatever_the_pool_says() {
    let place = Place::new();
    let odd = options_of(&place)
        .journal_mode(SqliteJournalMode::Delete)
        .locking_mode(SqliteLockingMode::Exclusive)
        .synchronous(SqliteSynchronous::Off)
        .shared_cache(true)
        .statement_cache_capacity(0)
        .optimize_on_close(true, None)
        .pragma("wal_autocheckpoint", "1")
        .pragma("query_only", "ON");
    let options = SqliteOptions::with_pool("main", pool_of(odd));
    let journal = SqliteJournal::new(options).unwrap();
    journal.initialize().await.unwrap();
    store(&journal, &id("a"), 2).await;
    // Beside other connections.
    assert_eq!(numbers(&place.journal().await, &id("a")).await, [1, 2]);
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode")
        .fetch_one(&mut place.connection().await)
        .await
        .unwrap();
    assert_eq!(mode, "wal");
}

/// Settings that are no matter of durability are those of the pool.
#[tokio::test]
async fn collations_and_pragmas_of_the_pool_are_those_of_the_session() {
    let place = Place::new();
    let options = options_of(&place)
        .collation("backwards", |one, other| other.cmp(one))
        .pragma("cache_size", "77");
    let states = SqliteStateStore::new(SqliteOptions::with_pool("main", pool_of(options))).unwrap();
    states.initialize().await.unwrap();
    let work = SessionWork::new(|session| {
        Box::pin(async move {
            let sql = "SELECT 'a' < 'b' COLLATE backwards AS is_less, (SELECT cache_size FROM pragma_cache_size) AS size";
            let row = session.select_one(sql, []).await?.ok_or("no row")?;
            assert!(!row.get::<bool>("is_less")?);
            assert_eq!(row.get::<i64>("size")?, 77);
            Ok(())
        })
    });
    states.sql().unwrap().transact(work).await.unwrap();
}

#[tokio::test]
async fn stores_on_one_file_agree_on_the_pool() {
    let place = Place::new();
    let plugin = plugin_of(pool_of(options_of(&place)));
    let _journal = plugin.journal(&pools::section_of_pool("main")).unwrap();
    let same = plugin.snapshot_store(&pools::section_of_pool("main"));
    assert!(same.is_ok(), "{:?}", same.err());
    assert_eq!(plugin.databases(), 1);
    let other = pools::section_of_pool("main");
    let other = Section::new("persistence.journal.b", other.origin().clone())
        .with("url", place.path.to_str().unwrap());
    let errors = plugin.journal(&other).err().unwrap().to_string();
    assert!(
        errors.contains("'persistence.journal.b.pool' differs from"),
        "{errors}"
    );
    assert!(errors.contains("'persistence.journal.a.pool'"), "{errors}");
}
