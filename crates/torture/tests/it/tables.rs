//! Every row of the journal and of the snapshot store, to see whether anything was written.

use actix_persistence_torture::{Backend, Place};

const TABLES: [(&str, &str); 3] = [
    ("event_journal", "sequence_nr"),
    ("journal_metadata", "persistence_id"),
    ("snapshot", "sequence_nr"),
];

/// Returns lines that change with every write to these tables, even with one that leaves a row as it was where the
/// database tells.
pub(crate) async fn tables(place: &Place) -> Vec<String> {
    let mut tables = Vec::new();
    for (table, order) in TABLES {
        let columns = columns(place, table).await;
        let selected = match place.backend() {
            Backend::Sqlite => columns
                .iter()
                .map(|column| format!("quote({column})"))
                .collect::<Vec<_>>()
                .join(" || ',' || "),
            Backend::Mysql => {
                let columns: Vec<_> = columns
                    .iter()
                    .map(|column| format!("COALESCE(HEX(`{column}`), '-')"))
                    .collect();
                format!("CONCAT_WS(',', {})", columns.join(", "))
            }
            // An UPDATE makes a new version of its row, even if it changes nothing.
            _ => "t.xmin::text || t.ctid::text || t::text".to_owned(),
        };
        let sql = format!("SELECT {selected} FROM {table} t ORDER BY t.persistence_id, t.{order}");
        let rows = place.texts(&sql).await.unwrap();
        tables.extend(rows.into_iter().map(|row| format!("{table}: {row}")));
    }
    tables
}

/// The names of the columns that are not computed from others.
pub(crate) async fn columns(place: &Place, table: &str) -> Vec<String> {
    place.columns(table).await.unwrap()
}
