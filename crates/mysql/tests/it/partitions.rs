//! The number of partitions, which is chosen when tables are made.

use actix_persistence_mysql::{MysqlJournal, MysqlOptions, MysqlStateStore};
use actix_persistence_storage_api::{
    Journal, Partition, Payload, PersistenceId, StateChangesQuery, StateOffset, StateStore,
    StateUpdate, StorageError, StorageErrorKind,
};

use crate::place::{Place, id, numbers, store};

/// Ids of all slices.
fn ids() -> impl Iterator<Item = PersistenceId> {
    (0..200).map(|number| id(&format!("{}", 7_919 * number)))
}

async fn open(options: MysqlOptions) -> Result<(MysqlJournal, MysqlStateStore), StorageError> {
    let journal = MysqlJournal::new(options.clone()).unwrap();
    journal.initialize().await?;
    let states = MysqlStateStore::new(options).unwrap();
    states.initialize().await?;
    Ok((journal, states))
}

/// Stores an event and a state of each id.
async fn store_all(journal: &MysqlJournal, states: &MysqlStateStore) {
    for id in ids() {
        store(journal, &id, 1).await;
        let update = StateUpdate::new(id, 1, Payload::new(1, "m", "1"));
        states.upsert(update).await.unwrap();
    }
}

#[tokio::test]
async fn a_store_divides_the_slices_as_its_tables_say() {
    for wanted in [None, Some(1), Some(4), Some(64)] {
        let place = Place::new().await;
        let options = place.options();
        let options = match wanted {
            Some(wanted) => options.with_counter_partitions(wanted),
            None => options,
        };
        let partitions = i64::from(wanted.unwrap_or(8));
        let (journal, states) = open(options).await.unwrap();
        store_all(&journal, &states).await;
        for table in ["event_journal", "durable_state"] {
            let counters =
                format!("SELECT COUNT(*) FROM {table}_ordering WHERE partitions = {partitions}");
            assert_eq!(place.number(&counters).await, partitions);
            let wrong = format!(
                "SELECT COUNT(*) FROM {table} WHERE partition_nr <> slice * {partitions} DIV 1024"
            );
            assert_eq!(place.number(&wrong).await, 0, "of {table}");
            let beyond = format!(
                "SELECT COUNT(*) FROM {table} JOIN {table}_ordering USING (partition_nr) WHERE ordering > newest"
            );
            assert_eq!(place.number(&beyond).await, 0, "of {table}");
        }
        // What a config that says nothing makes of the same tables.
        let (journal, states) = open(place.options()).await.unwrap();
        assert_eq!(numbers(&journal, &ids().next().unwrap()).await, [1]);
        let mut read = Vec::new();
        for slices in [0..=15, 16..=600, 601..=1_023] {
            let mut query = StateChangesQuery::new("Test", 7).of_slices(slices.clone());
            loop {
                let page = states
                    .queries()
                    .unwrap()
                    .changes(query.clone())
                    .await
                    .unwrap();
                read.extend(page.changes.into_iter().map(|change| change.persistence_id));
                query.after = page.offset;
                if !page.more {
                    break;
                }
            }
            let part = |slice| Partition::of_slice(slice, partitions as u16).unwrap().nr();
            let asked: Vec<_> = (part(*slices.start())..=part(*slices.end())).collect();
            let in_offset: Vec<_> = query.after.positions().map(|(part, _)| part.nr()).collect();
            assert_eq!(in_offset, asked, "{slices:?} of {partitions}");
        }
        read.sort();
        let mut all: Vec<_> = ids().collect();
        all.sort();
        assert_eq!(read, all);
    }
}

#[tokio::test]
async fn a_config_that_names_another_number_than_the_tables_is_refused() {
    let place = Place::new().await;
    open(place.options().with_counter_partitions(16))
        .await
        .unwrap();
    open(place.options().with_counter_partitions(16))
        .await
        .unwrap();
    let error = open(place.options().with_counter_partitions(8)).await;
    let error = error.err().unwrap();
    assert_eq!(error.kind(), StorageErrorKind::SchemaMismatch);
    let text = format!("{error:?}");
    assert!(text.contains("'counter-partitions = 16'"), "{text}");
    // And of states, if there is no journal.
    let states = MysqlStateStore::new(place.options().with_counter_partitions(8)).unwrap();
    let error = states.initialize().await.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::SchemaMismatch);
}

#[tokio::test]
async fn a_table_that_lost_counters_is_refused() {
    let place = Place::new().await;
    open(place.options()).await.unwrap();
    for table in ["event_journal", "durable_state"] {
        // Half of them would be those of fewer partitions.
        place
            .run(format!(
                "DELETE FROM {table}_ordering WHERE partition_nr > 3"
            ))
            .await;
        let error = open(place.options()).await.err().unwrap();
        assert_eq!(error.kind(), StorageErrorKind::Corrupt, "{error:?}");
        place
            .run(format!(
                "INSERT INTO {table}_ordering VALUES (4, 8, 0), (5, 8, 0), (6, 8, 0), (7, 8, 0)"
            ))
            .await;
    }
    open(place.options()).await.unwrap();
}

/// As after a process that died between the counters and the version, and had another config.
#[tokio::test]
async fn tables_that_were_half_made_keep_the_number_they_were_begun_with() {
    let place = Place::new().await;
    open(place.options().with_counter_partitions(2))
        .await
        .unwrap();
    place
        .run("UPDATE actix_persistence_schema SET version = 0")
        .await;
    let (journal, states) = open(place.options()).await.unwrap();
    let counters = "SELECT COUNT(*) FROM event_journal_ordering";
    assert_eq!(place.number(counters).await, 2);
    store_all(&journal, &states).await;
}

#[tokio::test]
async fn an_offset_of_tables_with_other_partitions_is_refused() {
    let (old, new) = (Place::new().await, Place::new().await);
    let (_, states) = open(old.options()).await.unwrap();
    states
        .upsert(StateUpdate::new(id("a"), 1, Payload::new(1, "m", "1")))
        .await
        .unwrap();
    let query = StateChangesQuery::new("Test", 10);
    let page = states
        .queries()
        .unwrap()
        .changes(query.clone())
        .await
        .unwrap();
    let offset: StateOffset = page.offset.to_string().parse().unwrap();
    let (_, states) = open(new.options().with_counter_partitions(16))
        .await
        .unwrap();
    let error = states.queries().unwrap().changes(query.after(offset)).await;
    let error = error.unwrap_err();
    assert_eq!(error.kind(), StorageErrorKind::Unsupported);
    assert!(error.to_string().contains("of 8"), "{error}");
}
