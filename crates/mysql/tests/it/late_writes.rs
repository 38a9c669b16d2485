//! Writes that the network delivers late.

use std::sync::Arc;

use actix_persistence_mysql::{MysqlJournal, MysqlOptions};
use actix_persistence_sql_tests::late_writes_are_refused;
use actix_persistence_storage_api::Journal;

use crate::database::TestDatabase;

#[test]
fn a_write_delivered_after_a_recovery_elsewhere_changes_nothing() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let database = runtime.block_on(TestDatabase::create());
    late_writes_are_refused(&database.url(), &|url| -> Arc<dyn Journal> {
        let options = MysqlOptions::new(url).with_store(|store| store.with_auto_initialize(true));
        Arc::new(MysqlJournal::new(options).unwrap())
    });
}
