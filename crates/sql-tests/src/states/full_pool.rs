//! Tests of more writes at once than the stores have connections for.

use actix_persistence_storage_api::{StateExtensions, StorageErrorKind};
use futures_util::future::join_all;

use super::{id, state, store};
use crate::OnServer;

/// The number of writes at once.
const WRITES: usize = 20;

/// Writes that wait too long for a connection, because those before them take their time, are refused as that: nothing is
/// stored, and it is no trouble of the store, which has answered others meanwhile.
///
/// For servers. Each new state takes a fifth of a second, and the twenty of them longer than a call waits for the one
/// connection that writes.
///
/// # Panics
/// If it is otherwise.
pub async fn a_full_pool_is_no_trouble_of_the_store(tables: &dyn OnServer) {
    let section = tables.section().with("writers", 1);
    let section = section.with("acquire-timeout", "3s");
    let none = StateExtensions::default();
    let states = tables.state_store_with(section, &none).await;
    tables
        .run(&tables.slows_inserts("durable_state", 0.2))
        .await;
    let names: Vec<String> = (0..WRITES).map(|number| format!("many-{number}")).collect();
    let written = join_all(names.iter().map(|name| states.upsert(state(name, 1)))).await;
    let mut refused = 0;
    for (name, result) in names.iter().zip(written) {
        let current = states.get(&id(name)).await.expect("it can be read");
        assert_eq!(current.revision, u64::from(result.is_ok()), "{name}");
        if let Err(error) = result {
            assert_eq!(error.kind(), StorageErrorKind::Busy, "{error:?}");
            assert!(!error.kind().counts_as_store_failure());
            assert!(error.is_not_stored(), "{error:?}");
            refused += 1;
        }
    }
    assert!((1..WRITES).contains(&refused), "{refused} were refused");
    store(&*states, state("afterwards", 1)).await;
}
