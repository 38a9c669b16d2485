//! What lies in the database, read by plain SQL: a second way to the data that shares nothing with the first.

use std::collections::BTreeMap;

use serde::Deserialize;

/// All of it, as one transaction sees it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stored {
    pub(crate) states: Vec<StoredState>,
    /// What the change handler noted.
    pub(crate) moves: Vec<StoredMove>,
    /// How many parcels are at each place, as the change handler counts.
    pub(crate) counts: BTreeMap<i64, i64>,
}

/// The row of a parcel in the table of states.
#[derive(Clone, Debug)]
pub(crate) struct StoredState {
    pub(crate) parcel: String,
    pub(crate) revision: i64,
    /// None in a tombstone.
    pub(crate) whereabouts: Option<Whereabouts>,
}

/// The state as the program encodes it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Whereabouts {
    pub(crate) place: i64,
    pub(crate) moves: u64,
}

/// A note of the change handler.
#[derive(Clone, Debug)]
pub(crate) struct StoredMove {
    pub(crate) parcel: String,
    pub(crate) revision: i64,
    pub(crate) place: Option<i64>,
}

/// Id, revision, payload.
pub(crate) type StateRow = (String, i64, Option<Vec<u8>>);
/// Parcel, revision, place.
pub(crate) type MoveRow = (String, i64, Option<i64>);
/// Place, parcels.
pub(crate) type CountRow = (i64, i64);

/// With the table's default name.
pub(crate) const STATES: &str = "SELECT persistence_id, revision, payload FROM durable_state";
/// As `STATES`, where ids are bytes.
pub(crate) const STATES_BY_BYTES: &str =
    "SELECT CONVERT(persistence_id USING utf8mb4), revision, payload FROM durable_state";
pub(crate) const MOVES: &str = "SELECT parcel, revision, place FROM moves";
pub(crate) const COUNTS: &str = "SELECT place, parcels FROM place_counts";

/// What the change handler needs, with one row of `place_counts` per place besides.
///
/// No key keeps a revision from being noted twice: that is the store's to see to, and the checker's to find.
pub(crate) const TABLES: &str = "
CREATE TABLE moves (parcel VARCHAR(100) NOT NULL, revision BIGINT NOT NULL, place BIGINT);
CREATE INDEX moves_of_parcel ON moves (parcel, revision);
CREATE TABLE place_counts (place BIGINT NOT NULL PRIMARY KEY, parcels BIGINT NOT NULL);
";

impl Stored {
    pub(crate) fn from_rows(
        (states, moves, counts): (Vec<StateRow>, Vec<MoveRow>, Vec<CountRow>),
    ) -> Self {
        let state = |(parcel, revision, payload): StateRow| StoredState {
            parcel,
            revision,
            whereabouts: payload.map(|bytes| rmp_serde::from_slice(&bytes).unwrap()),
        };
        let noted = |(parcel, revision, place)| StoredMove {
            parcel,
            revision,
            place,
        };
        Self {
            states: states.into_iter().map(state).collect(),
            moves: moves.into_iter().map(noted).collect(),
            counts: counts.into_iter().collect(),
        }
    }
}
