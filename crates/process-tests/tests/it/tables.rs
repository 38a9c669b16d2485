//! Every row of the journal and of the snapshot store, to see whether anything was written.

use actix_persistence_test_servers::Database;

use crate::database::Place;

const TABLES: [(&str, &str); 3] = [
    ("event_journal", "sequence_nr"),
    ("journal_metadata", "persistence_id"),
    ("snapshot", "sequence_nr"),
];

impl Place {
    /// What changes with every write to these tables, also with one that leaves a row as it was where the database tells.
    pub(crate) async fn tables(&self) -> Vec<String> {
        let mut tables = Vec::new();
        for (table, order) in TABLES {
            let sql = match self {
                Self::File(_) => {
                    let columns = self
                        .texts(&format!(
                            "SELECT 'quote(' || name || ')' FROM pragma_table_info('{table}')"
                        ))
                        .await
                        .join(" || ',' || ");
                    format!("SELECT {columns} FROM {table} ORDER BY persistence_id, {order}")
                }
                Self::Server {
                    database: Database::MariaDb,
                    name,
                    ..
                } => {
                    let columns = self
                        .texts(&format!(
                            "SELECT CONVERT(CONCAT('COALESCE(HEX(`', column_name, '`), \\'-\\')') USING utf8mb4) \
                             FROM information_schema.columns \
                             WHERE table_schema = '{name}' AND table_name = '{table}' ORDER BY ordinal_position"
                        ))
                        .await
                        .join(", ");
                    format!(
                        "SELECT CONCAT_WS(',', {columns}) FROM {table} ORDER BY {table}.persistence_id, {order}"
                    )
                }
                // An UPDATE makes a new version of its row, even if it changes nothing.
                Self::Server { .. } => format!(
                    "SELECT t.xmin::text || t.ctid::text || t::text FROM {table} t ORDER BY t.persistence_id, {order}"
                ),
            };
            let rows = self.texts(&sql).await;
            tables.extend(rows.into_iter().map(|row| format!("{table}: {row}")));
        }
        tables
    }
}
