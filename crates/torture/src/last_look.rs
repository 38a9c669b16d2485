//! Looks at what is stored when no process writes any more: a database that is busy is asked again.

use std::time::{Duration, Instant};

use actix_persistence::{
    Persistence, PersistentActor, RecoveryError, Replayed, error::ReplayError,
};
use tokio::time::sleep;

/// The time for which a busy database is asked again; a process under test may be silent for longer.
pub(crate) const LONGEST_BUSY: Duration = Duration::from_secs(75);
/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// Repeats an action as long as its error is one that waiting cures, for this time at most.
pub(crate) async fn until_cured<T, E>(
    limit: Duration,
    mut attempt: impl AsyncFnMut() -> Result<T, E>,
    mut is_curable: impl FnMut(&E) -> bool,
) -> Result<T, E> {
    let since = Instant::now();
    loop {
        match attempt().await {
            Err(error) if since.elapsed() < limit && is_curable(&error) => sleep(PAUSE).await,
            ended => return ended,
        }
    }
}

/// Brings an actor back without starting it; again if the product says that waiting cures what went wrong.
///
/// A look whose error is a violation has to be one of these: a loaded machine is no fault of the product. The last
/// argument gets each error after which it is done again.
///
/// # Errors
/// As those of [`Persistence::replay`]: at once if waiting does not cure it, or else that of the last attempt, when this
/// time is over.
pub async fn last_look<A: PersistentActor>(
    persistence: &Persistence,
    limit: Duration,
    actor: impl Fn() -> A,
    mut again: impl FnMut(&RecoveryError),
) -> Result<Replayed<A>, ReplayError> {
    let attempt = async || persistence.replay(actor()).await;
    let is_curable = |error: &ReplayError| match error {
        // There is no one left who could have overtaken it.
        ReplayError::Recovery(RecoveryError::Overtaken { .. }) => false,
        ReplayError::Recovery(error) if error.is_transient() => {
            again(error);
            true
        }
        _ => false,
    };
    until_cured(limit, attempt, is_curable).await
}
