//! A change handler that counts the parcels of each place.

use actix_persistence::decode_state;
use actix_persistence::storage_api::{ChangeHandler, ExtensionError, Session, StateChange};
use async_trait::async_trait;

use crate::parcel::Whereabouts;

/// Notes each move, and keeps how many parcels each place has, in tables of the application.
///
/// Where a parcel was before is read from the note of the move before: so a count is right only if none is missing.
pub(crate) struct PlaceCounts;

#[async_trait]
impl ChangeHandler for PlaceCounts {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let parcel = change.persistence_id.as_str();
        let revision = i64::try_from(change.revision)?;
        let select = "SELECT place FROM moves WHERE parcel = $1 AND revision = $2";
        let values = [parcel.into(), (revision - 1).into()];
        let before = session.select_one(select, values).await?;
        let before: Option<i64> = match before {
            Some(row) => row.get("place")?,
            None => None,
        };
        let state = change.payload().map(decode_state::<Whereabouts>);
        let after = state.transpose()?.map(|state| state.place);
        let insert = "INSERT INTO moves (parcel, revision, place) VALUES ($1, $2, $3)";
        let values = [parcel.into(), revision.into(), after.into()];
        session.execute(insert, values).await?;
        let mut counted = [(before, -1), (after, 1)];
        // Two moves that lock the same places do so in the same order, or each would wait for the other.
        counted.sort_unstable();
        for (place, by) in counted {
            if let Some(place) = place {
                count(session, place, by).await?;
            }
        }
        Ok(())
    }
}

async fn count(session: &mut dyn Session, place: i64, by: i64) -> Result<(), ExtensionError> {
    let update = "UPDATE place_counts SET parcels = parcels + $1 WHERE place = $2";
    let values = [by.into(), place.into()];
    let changed = session.execute(update, values).await?;
    match changed {
        1 => Ok(()),
        _ => Err(format!("there is no place {place}").into()),
    }
}
