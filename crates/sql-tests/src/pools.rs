//! Stores that open their connections as a pool of the application does.

use actix_persistence_storage_api::{Origin, PersistenceId, Plugin, Section};

use crate::Tables;
use crate::steps::{id, store};

/// Returns the section of a journal that uses the pool of this name.
pub fn section_of_pool(pool: &str) -> Section {
    Section::new("persistence.journal.a", Origin::file("app.toml", 3))
        .with("pool", pool)
        .with("auto-initialize", true)
}

/// A section names a pool of the application, here `main` on these tables, in the place of `url`; mistakes name the key. The
/// plugin knows that pool alone.
///
/// # Panics
/// If it is otherwise.
pub async fn the_application_may_bring_a_pool(tables: &dyn Tables, plugin: &dyn Plugin) {
    let journal = plugin.journal(&section_of_pool("main"));
    let journal = journal.expect("the section names a pool");
    journal
        .initialize()
        .await
        .expect("the pool's options can be used");
    let a: PersistenceId = id("a");
    store(&*journal, &a, 2).await;
    let around = tables.journal().await;
    store(&*around, &a, 1).await;
    let highest = journal.read_highest_sequence_nr(&a).await;
    assert_eq!(highest.expect("it can be read"), 3);

    let mistake = |plugin: &dyn Plugin, section: &Section| {
        let errors = plugin.journal(section).err().expect("a mistake");
        errors.to_string()
    };
    let unknown = mistake(plugin, &section_of_pool("mian"));
    let known = "'persistence.journal.a.pool' must name a pool of the application: main";
    assert!(unknown.contains(known), "{unknown}");
    let none = mistake(&*tables.plugin(), &section_of_pool("main"));
    assert!(none.contains("the application gave none"), "{none}");
    let both = mistake(plugin, &section_of_pool("main").with("url", tables.url()));
    assert!(
        both.contains("'persistence.journal.a.pool' stands for"),
        "{both}"
    );
    assert!(both.contains("leave out 'url'"), "{both}");
}
