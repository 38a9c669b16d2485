//! Settings that code of the application makes for its session.

use std::sync::{Arc, Mutex};

use actix_persistence_storage_api::{
    ExtensionError, FindStates, Section, SessionWork, StateExtensions, StateStore,
};

use crate::states::{state, store};
use crate::{OnServer, Tables};

async fn open(tables: &dyn Tables, section: Section) -> Arc<dyn StateStore> {
    let none = StateExtensions::default();
    tables.state_store_with(section, &none).await
}

/// Runs a statement in a transaction of the application, and returns the texts of its only row.
pub(super) async fn ask(states: &dyn StateStore, statement: &'static str) -> Vec<String> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let out = Arc::clone(&found);
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            let row = session.select_one(statement, []).await?;
            let row = row.ok_or_else(|| ExtensionError::from("no row"))?;
            let columns = row.columns().map(|name| row.get(name));
            *out.lock().expect("nobody panicked") = columns.collect::<Result<_, _>>()?;
            Ok(())
        })
    });
    let sql = states.sql().expect("it has SQL");
    sql.transact(work).await.expect(statement);
    std::mem::take(&mut *found.lock().expect("nobody panicked"))
}

/// Whatever statements set, and wherever they do it, the next transaction finds what it found before. A store of the section
/// has one connection for this; `look` returns texts, and must return the same before and after.
///
/// # Panics
/// If it is otherwise.
pub async fn nothing_that_is_set_stays(
    tables: &dyn Tables,
    section: Section,
    settings: &[&'static str],
    refused: &[&'static str],
    look: &'static str,
) {
    let states = open(tables, section).await;
    let states = &*states;
    let before = ask(states, look).await;
    let run = async |statement: &'static str| {
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                session.execute(statement, []).await?;
                Ok(())
            })
        });
        states.sql().expect("it has SQL").transact(work).await
    };
    for setting in settings {
        run(setting).await.expect(setting);
        assert_eq!(ask(states, look).await, before, "{setting}");
    }
    for setting in refused {
        let error = run(setting).await.expect_err(setting);
        assert!(error.is_not_stored(), "{error:?}");
        assert_eq!(ask(states, look).await, before, "{setting}");
    }
}

/// Whatever a function in a condition sets, the next condition finds nothing of it. For servers; `sets` is true of each
/// state, and `is_set` only where something has stayed.
///
/// # Panics
/// If it is otherwise.
pub async fn nothing_that_a_condition_sets_stays(
    tables: &dyn OnServer,
    sets: &'static str,
    is_set: &'static str,
) {
    let states = open(tables, tables.section().with("read-connections", 1)).await;
    store(&*states, state("a", 1)).await;
    let sql = states.sql().expect("it has SQL");
    let found = async |condition: &'static str| {
        let query = FindStates::new("Test", condition, [], 10);
        let found = sql.find(query).await;
        found.expect("the condition can be asked").len()
    };
    assert_eq!(found(is_set).await, 0, "{is_set}");
    assert_eq!(found(sets).await, 1, "{sets}");
    assert_eq!(found(is_set).await, 0, "{is_set}");
}
