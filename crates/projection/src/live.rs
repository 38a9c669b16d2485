//! The version of a projection from which applications read, and its replacement.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    OffsetStore, ProjectionChange, ProjectionKey, ProjectionRecord, Replacement, SessionWork,
    ShareRecord, StorageError, StorageErrorKind,
};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::pieces::has_reached_text;
use crate::tenure::told;
use crate::{MakeLiveError, StoredProjection};

/// The delay between two looks at both versions.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The time for which it tries to resume the old version after a failure.
const TO_RESUME: Duration = Duration::from_secs(10);

impl StoredProjection {
    /// Makes this version live in the place of the one that is, with what the work does in the same transaction, such as a row
    /// that names the tables to read from.
    ///
    /// It waits until this version has what the live one has, and pauses that. Once the shares of that one are free, and this
    /// version has reached where it stands, it replaces it. So whoever reads as the work says finds everything that was there
    /// before. The old version stays, paused: resume it to go back the same way. If this version is live already, it does
    /// nothing, and does not run the work. Other processes may run either version, but some process has to run this one, unless
    /// it has caught up.
    ///
    /// # Errors
    /// [`MakeLiveError`]: if this takes longer than `within`; if this version is paused; or if it is halted or has parked ids, so that
    /// it lacks something. The old version then goes on. If it could not be resumed, [`MakeLiveError::LeftPaused`] says so.
    ///
    /// # Cancel safety
    /// Goes on to its end even if the future is dropped; if the handle is dropped as well, or the projection stopped, it is
    /// given up, unless the replacement has begun. If the process ends in the middle, the old version may be left live and
    /// paused, as its [record](Self::record) says: resume it, or make this version live again.
    pub async fn make_live(
        &self,
        work: Option<SessionWork>,
        within: Duration,
    ) -> Result<(), MakeLiveError> {
        let making = MakingLive {
            key: self.key.clone(),
            store: Arc::clone(&self.store),
            awaited: self.awaited.clone(),
            stop: self.stop.subscribe(),
            paused: None,
            pausing: None,
        };
        let made = self.runtime.spawn(making.run(work, within));
        made.await.unwrap_or(Err(MakeLiveError::Stopped))
    }
}

/// The replacement of a live version, under way.
struct MakingLive {
    key: ProjectionKey,
    store: Arc<dyn OffsetStore>,
    /// Told while somebody waits for the progress.
    awaited: watch::Sender<()>,
    /// True once the projection is told to stop.
    stop: watch::Receiver<bool>,
    /// The old version, if this has paused it.
    paused: Option<ProjectionKey>,
    /// The call that pauses it, until it has ended: it goes on even if nothing waits for it any more.
    pausing: Option<JoinHandle<Result<(), StorageError>>>,
}

/// The thing to be done once this version is ready.
enum Ready {
    /// It is live already.
    Already,
    Replace(Replacement),
}

impl MakingLive {
    async fn run(
        mut self,
        work: Option<SessionWork>,
        within: Duration,
    ) -> Result<(), MakeLiveError> {
        let mut stop = self.stop.clone();
        let end = Instant::now() + within;
        let ready = tokio::select! {
            biased;
            () = told(&mut stop) => Err(MakeLiveError::Stopped),
            ready = self.make_ready() => ready,
            () = tokio::time::sleep_until(end) => Err(MakeLiveError::Timeout { waited: within }),
        };
        let made = match ready {
            Ok(Ready::Already) => Ok(()),
            // Not broken off: its transaction would go on.
            Ok(Ready::Replace(replacement)) => self.replace(replacement, work).await,
            Err(error) => Err(error),
        };
        match made {
            Ok(()) => Ok(()),
            Err(error) => Err(self.give_up(error).await),
        }
    }

    /// Waits until this version has what the live one has, and that one stands still.
    async fn make_ready(&mut self) -> Result<Ready, MakeLiveError> {
        // It may have been started a moment ago.
        while self.store.read(&self.key).await?.is_none() {
            sleep(LOOK_AGAIN).await;
        }
        let name = self.key.name();
        let Some(version) = self.store.live_version(name).await? else {
            return Ok(Ready::Replace(Replacement::of_none(self.key.clone())));
        };
        if version == self.key.version() {
            return Ok(Ready::Already);
        }
        let old = self.key.clone().with_version(version);
        let standing = self.caught_up(&old, |_| true).await?;
        if !standing.paused {
            // Before the call: its reply may be lost.
            self.paused = Some(old.clone());
            let (store, key) = (Arc::clone(&self.store), old.clone());
            let pause = async move { store.change(&key, ProjectionChange::Pause).await };
            let paused = self.pausing.insert(tokio::spawn(pause)).await;
            self.pausing = None;
            paused.map_err(|_| MakeLiveError::Stopped)??;
        }
        let is_free = |share: &ShareRecord| {
            let lease = share.lease.as_ref();
            lease.is_none_or(|lease| lease.is_over())
        };
        let standing = self
            .caught_up(&old, |old| old.shares.iter().all(is_free))
            .await?;
        let progress = standing.shares.into_iter().map(|share| share.progress);
        let (new, progress) = (self.key.clone(), progress.collect());
        Ok(Ready::Replace(Replacement::new(new, old, progress)))
    }

    /// Waits until the old version is as it should be, and this one has reached where it is; returns the old one as it was seen
    /// then.
    async fn caught_up(
        &self,
        old: &ProjectionKey,
        is_ready: impl Fn(&ProjectionRecord) -> bool,
    ) -> Result<ProjectionRecord, MakeLiveError> {
        loop {
            // The old one first: where it is then, this one is to have been afterwards.
            let standing = self.read(old).await?;
            let own = self.read(&self.key).await?;
            if own.paused {
                return Err(MakeLiveError::Paused);
            }
            if own.parked > 0 {
                return Err(MakeLiveError::Parked { number: own.parked });
            }
            let halted = own.shares.iter().find_map(|share| share.halted.clone());
            if let Some(reason) = halted {
                return Err(MakeLiveError::Halted { reason });
            }
            if is_ready(&standing) && has_reached(&own, &standing) {
                return Ok(standing);
            }
            self.awaited.send_replace(());
            sleep(LOOK_AGAIN).await;
        }
    }

    async fn read(&self, key: &ProjectionKey) -> Result<ProjectionRecord, MakeLiveError> {
        let record = self.store.read(key).await?;
        record.ok_or_else(|| MakeLiveError::NotThere { key: key.clone() })
    }

    async fn replace(
        &self,
        replacement: Replacement,
        work: Option<SessionWork>,
    ) -> Result<(), MakeLiveError> {
        let old = replacement.old.as_ref().map(|old| old.projection.clone());
        let Err(error) = self.store.replace(replacement, work).await else {
            return Ok(());
        };
        // Another caller may have made the same version live.
        let is_told = error.kind() == StorageErrorKind::VersionConflict;
        if error.is_not_stored() && !is_told {
            return Err(error.into());
        }
        let told = async {
            // The transaction may go on after its reply was lost.
            while !error.is_not_stored() && self.wait_for_replacement(old.as_ref()).await.is_err() {
                sleep(LOOK_AGAIN).await;
            }
            loop {
                if let Ok(live) = self.store.live_version(self.key.name()).await {
                    return live == Some(self.key.version());
                }
                sleep(LOOK_AGAIN).await;
            }
        };
        match timeout(TO_RESUME, told).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(error.into()),
        }
    }

    /// Waits until a transaction that replaces the old version has ended; one that begins after that is refused, if it is this
    /// that has paused the version.
    async fn wait_for_replacement(&self, old: Option<&ProjectionKey>) -> Result<(), StorageError> {
        let Some(old) = old else {
            return Ok(());
        };
        let change = match self.paused {
            Some(_) => ProjectionChange::ResumeLive,
            // It is paused already, and stays so.
            None => ProjectionChange::Pause,
        };
        self.store.change(old, change).await
    }

    /// Resumes the old version, if this has paused it and it is live still; shares that were halted stay so.
    async fn give_up(&mut self, error: MakeLiveError) -> MakeLiveError {
        let Some(old) = &self.paused else {
            return error;
        };
        let pausing = self.pausing.take();
        let resumed = async {
            // Its pause must not come after this.
            if let Some(pausing) = pausing {
                let _ = pausing.await;
            }
            loop {
                match self.store.change(old, ProjectionChange::ResumeLive).await {
                    Err(error) if error.kind() != StorageErrorKind::Unsupported => {}
                    // Resumed, or it is no longer live, or no longer there.
                    _ => return,
                }
                sleep(LOOK_AGAIN).await;
            }
        };
        match timeout(TO_RESUME, resumed).await {
            Ok(()) => error,
            Err(_) => MakeLiveError::LeftPaused {
                old: old.clone(),
                source: Box::new(error),
            },
        }
    }
}

/// Returns whether a version has reached where another one is.
fn has_reached(own: &ProjectionRecord, standing: &ProjectionRecord) -> bool {
    let shares = standing.shares.iter();
    let mut pieces = shares.flat_map(|share| share.progress.pieces());
    pieces.all(|piece| {
        own.shares
            .iter()
            .all(|share| has_reached_text(&share.progress, &piece.slices, &piece.offset))
    })
}
