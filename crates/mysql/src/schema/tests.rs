//! The schema that is printed for those who make the tables themselves.

use actix_persistence_storage_api::Roles;

use crate::{MysqlJournal, MysqlOptions, MysqlSnapshotStore};

#[test]
fn the_printed_schema_has_every_name_in_its_place() {
    let options = MysqlOptions::new("mysql://user@localhost/bank");
    let journal = MysqlJournal::new(options.clone())
        .unwrap()
        .schema_sql(None)
        .unwrap();
    for expected in [
        "CREATE TABLE IF NOT EXISTS `event_journal` (",
        "CREATE TABLE IF NOT EXISTS `event_journal_ordering` (",
        "KEY `event_tag_ordering` (",
        "INSERT INTO `actix_persistence_schema`",
    ] {
        assert!(journal.contains(expected), "{expected}: {journal}");
    }
    let roles = Roles {
        owner: "bank_owner".to_owned(),
        application: "bank_teller".to_owned(),
    };
    let with_roles = MysqlJournal::new(options.clone())
        .unwrap()
        .schema_sql(Some(&roles))
        .unwrap();
    for table in [
        "event_journal",
        "event_journal_ordering",
        "event_tag",
        "journal_metadata",
    ] {
        let grant = format!("GRANT SELECT, INSERT, UPDATE, DELETE ON `{table}` TO `bank_teller`;");
        assert!(with_roles.contains(&grant), "{grant}: {with_roles}");
    }
    let store = MysqlSnapshotStore::new(options)
        .unwrap()
        .schema_sql(None)
        .unwrap();
    assert!(
        store.contains("CREATE TABLE IF NOT EXISTS `snapshot` ("),
        "{store}"
    );
}
