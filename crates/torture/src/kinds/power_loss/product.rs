//! Opens files by the product after a loss of power.

use std::path::Path;
use std::time::Duration;

use actix_persistence::{
    OpenError, Persistence, RecoveryError,
    error::{ErrorChain, ReplayError},
};

use crate::kinds::files::expected::Verdict;
use crate::kinds::files::keeper::{Holder, Keeper, Shared};
use crate::kinds::files::stores::Stores;
use crate::last_look::{LONGEST_BUSY, last_look};

/// The longest time that an operation of the product takes on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Opens the files in a folder by the product.
async fn open(folder: &Path, stores: Stores) -> anyhow::Result<Result<Persistence, OpenError>> {
    let config = stores.config(folder)?;
    let opened = async {
        let persistence = Persistence::open(config).await?;
        Ok(persistence)
    };
    Ok(tokio::time::timeout(PATIENCE, opened).await?)
}

/// Opens the files, and recovers every id as the judge says it is. The last argument gets each error after which a look
/// is begun again.
///
/// # Errors
/// A sentence if the product sees anything else.
pub(crate) async fn recovers(
    folder: &Path,
    stores: Stores,
    verdict: &Verdict,
    mut again: impl FnMut(&RecoveryError),
) -> anyhow::Result<Result<(), String>> {
    let persistence = match open(folder, stores).await? {
        Ok(persistence) => persistence,
        Err(error) => {
            return Ok(Err(format!(
                "the files are not opened: {}",
                ErrorChain(&error)
            )));
        }
    };
    let mut recovered = Ok(());
    for (id, (last, writes)) in &verdict.states {
        let keeper = || Keeper::new(id, &Shared::new(None));
        let look = last_look(&persistence, LONGEST_BUSY, keeper, &mut again);
        let replayed = tokio::time::timeout(2 * LONGEST_BUSY, look).await?;
        let lacks_snapshot = verdict.lacks_snapshot.contains(id);
        recovered = match replayed {
            Ok(_) if lacks_snapshot => Err(format!("{id} recovers without its snapshot")),
            Ok(replayed) => {
                let found = (replayed.sequence_nr, &replayed.actor.writes);
                if found == (*last, writes) && replayed.actor.strange.is_empty() {
                    Ok(())
                } else {
                    Err(format!(
                        "{id} is {last} {writes:?} and recovers {found:?} {:?}",
                        replayed.actor.strange
                    ))
                }
            }
            Err(ReplayError::Recovery(RecoveryError::SnapshotNeeded { .. })) if lacks_snapshot => {
                Ok(())
            }
            Err(error) => Err(format!("{id} does not recover: {}", ErrorChain(&error))),
        };
        if recovered.is_err() {
            break;
        }
    }
    for (id, held) in &verdict.held {
        if recovered.is_err() {
            break;
        }
        let holder = || Holder::new(id, &Shared::new(None));
        let look = last_look(&persistence, LONGEST_BUSY, holder, &mut again);
        recovered = match tokio::time::timeout(2 * LONGEST_BUSY, look).await? {
            Ok(replayed) => {
                let card = replayed.actor.card.map(|card| card.text);
                let found = (replayed.sequence_nr, card);
                match found == *held {
                    true => Ok(()),
                    false => Err(format!(
                        "the state {id} is {held:?} and is given as {found:?}"
                    )),
                }
            }
            Err(error) => Err(format!(
                "the state {id} is not given: {}",
                ErrorChain(&error)
            )),
        };
    }
    persistence.stop(PATIENCE).await;
    Ok(recovered)
}

/// Opens files that lack transactions which were confirmed.
///
/// # Errors
/// A sentence if the product does not notice.
pub(crate) async fn notices_loss(
    folder: &Path,
    stores: Stores,
) -> anyhow::Result<Result<(), String>> {
    Ok(match open(folder, stores).await? {
        Ok(persistence) => {
            persistence.stop(PATIENCE).await;
            Err("the files are opened as if nothing were missing".to_owned())
        }
        // A page that is missing may be found first.
        Err(_) => Ok(()),
    })
}
