//! Every row of the journal and of the snapshot store, to see whether anything was written.

use actix_persistence_torture::{Backend, Place};

const TABLES: [&str; 3] = ["event_journal", "journal_metadata", "snapshot"];

/// Returns lines that change with every write to these tables, even with one that leaves a row as it was where the
/// database tells.
pub(crate) async fn tables(place: &Place) -> Vec<String> {
    let mut selects = Vec::new();
    for table in TABLES {
        let line = match place.backend() {
            Backend::Sqlite => {
                let columns = columns(place, table).await;
                let columns: Vec<_> = columns
                    .iter()
                    .map(|name| format!("quote({name})"))
                    .collect();
                format!("'{table}: ' || {}", columns.join(" || ',' || "))
            }
            Backend::Mysql => {
                let columns = columns(place, table).await;
                let columns: Vec<_> = columns
                    .iter()
                    .map(|name| format!("COALESCE(HEX(`{name}`), '-')"))
                    .collect();
                format!("CONCAT_WS(',', '{table}', {})", columns.join(", "))
            }
            // An UPDATE makes a new version of its row, even if it changes nothing.
            _ => format!("'{table}: ' || t.xmin::text || t.ctid::text || t::text"),
        };
        selects.push(format!("SELECT {line} FROM {table} t"));
    }
    // One connection reads all, for each costs a server more than the rows.
    let mut rows = place.texts(&selects.join(" UNION ALL ")).await.unwrap();
    rows.sort_unstable();
    rows
}

/// The names of the columns that are not computed from others.
pub(crate) async fn columns(place: &Place, table: &str) -> Vec<String> {
    place.columns(table).await.unwrap()
}
