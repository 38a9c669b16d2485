//! Transactions that do not end.

use crate::database::execute;
use crate::place::Place;

/// Prepared transactions that wait for their coordinator, until they are rolled back.
///
/// MariaDB copies what is under way one after the other, without a lock, before it reads: the more there is, the longer others
/// have to begin and end meanwhile.
pub(crate) struct Prepared {
    names: Vec<String>,
}

impl Prepared {
    pub(crate) async fn new(place: &Place, number: usize) -> Self {
        place.run("CREATE TABLE prepared (a INT)").await;
        let names: Vec<_> = (0..number)
            .map(|number| format!("'{}-{number}'", place.database.name()))
            .collect();
        let sql = |name| {
            format!(
                "XA START {name}; INSERT INTO prepared VALUES (1); XA END {name}; XA PREPARE {name}"
            )
        };
        for names in names.chunks(50) {
            // Each outlives its session, which can do nothing else from there on.
            futures_util::future::join_all(names.iter().map(|name| place.run(sql(name)))).await;
        }
        Self { names }
    }

    /// Before anything else: a table that they changed cannot be dropped.
    pub(crate) async fn roll_back(self, place: &Place) {
        let mut connection = place.connection().await;
        for name in self.names {
            execute(&mut connection, format!("XA ROLLBACK {name}")).await;
        }
    }
}
