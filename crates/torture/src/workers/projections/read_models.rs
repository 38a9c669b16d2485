//! The projections make these: a log and counts exactly once, a log at least once, and a log of the changes of states.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use actix_persistence::Persistence;
use actix_persistence::projection::{
    AtLeastOnceHandler, ExactlyOnceHandler, ExtensionError, Session,
};
use actix_persistence::query::{Changed, EventEnvelope, EventOffset};
use actix_persistence::sql::SessionWork;
use actix_persistence::storage_api::{Epoch, Partition, Progress, ProjectionKey};
use async_trait::async_trait;

use super::writing::Ticked;
use crate::Backend;
use crate::workers::kept::KeptState;

/// The name of the projection that makes something of each event exactly once.
pub(crate) const ONCE: &str = "once";
/// The name of the one that does at least once.
pub(crate) const AT_LEAST_ONCE: &str = "at-least-once";
/// The name of the one of the changes of states, exactly once.
pub(crate) const CHANGES: &str = "changes";
/// One item in so many is refused after a part of its statements. Each takes its group along, whose items then have
/// transactions of their own.
const REFUSALS: u32 = 1_000;
/// A share is held for longer than this, and a process that is stopped is stopped for longer, too.
const SURELY_HELD: Duration = Duration::from_millis(200);

/// The refusals of this process, if it has any: one item in so many is bad, where ids are parked, and refused in three of four
/// attempts, whoever makes them.
static REFUSALS_OF_BAD: OnceLock<Option<u64>> = OnceLock::new();

/// Refuses items from now on, and bad ones, of which there is one in so many.
pub(super) fn refuse(bad: Option<u64>) {
    let _ = REFUSALS_OF_BAD.set(bad);
}

/// Returns the statements that make the tables. No key keeps a row from being there twice: that is for the judge to find.
pub(crate) fn tables(backend: Backend) -> String {
    let (id, row) = match backend {
        Backend::Mysql => (
            "VARBINARY(255)",
            "BIGINT NOT NULL PRIMARY KEY AUTO_INCREMENT",
        ),
        Backend::Postgres => (
            "VARCHAR(255) COLLATE \"C\"",
            "BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY",
        ),
        Backend::Sqlite | Backend::Memory => ("VARCHAR(255)", "INTEGER PRIMARY KEY AUTOINCREMENT"),
    };
    format!(
        "
CREATE TABLE once_log (row_nr {row}, persistence_id {id} NOT NULL, nr BIGINT NOT NULL);
CREATE TABLE once_count (persistence_id {id} NOT NULL PRIMARY KEY, n BIGINT NOT NULL, last BIGINT NOT NULL);
CREATE TABLE least_log (row_nr {row}, persistence_id {id} NOT NULL, nr BIGINT NOT NULL,
    process BIGINT NOT NULL, is_holder BIGINT NOT NULL, was_stored BIGINT NOT NULL);
CREATE TABLE change_log (row_nr {row}, persistence_id {id} NOT NULL, nr BIGINT NOT NULL);
"
    )
}

/// Logs and counts each event.
pub(super) struct Once;

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Ticked>> for Once {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Ticked>,
    ) -> Result<(), ExtensionError> {
        let (id, nr) = (item.persistence_id.as_str(), item.sequence_nr as i64);
        let numbers: Vec<_> = item
            .events
            .as_slice()
            .iter()
            .map(|event| event.nr)
            .collect();
        if numbers != [item.sequence_nr] {
            return Err(format!("event {nr} of {id} holds the numbers {numbers:?}").into());
        }
        let log = "INSERT INTO once_log (persistence_id, nr) VALUES ($1, $2)";
        session.execute(log, [id.into(), nr.into()]).await?;
        refuse_now_and_then(id, nr)?;
        let count = "UPDATE once_count SET n = n + 1, last = $2 WHERE persistence_id = $1";
        if session.execute(count, [id.into(), nr.into()]).await? == 0 {
            let first = "INSERT INTO once_count (persistence_id, n, last) VALUES ($1, 1, $2)";
            session.execute(first, [id.into(), nr.into()]).await?;
        }
        Ok(())
    }
}

/// Logs each change of a state.
pub(super) struct Changes;

#[async_trait]
impl ExactlyOnceHandler<Changed<KeptState>> for Changes {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &Changed<KeptState>,
    ) -> Result<(), ExtensionError> {
        let (id, nr) = (item.persistence_id().as_str(), item.revision() as i64);
        let log = "INSERT INTO change_log (persistence_id, nr) VALUES ($1, $2)";
        session.execute(log, [id.into(), nr.into()]).await?;
        refuse_now_and_then(id, nr)
    }
}

/// Logs each event in a transaction of its own, with whether its own part of the projection had the share from the begin of the
/// call until then, and whether the progress that was stored then had the event already.
///
/// A process may have taken the share anew since, after a division, and lets calls end that were under way.
pub(super) struct AtLeastOnce {
    pub(super) persistence: Persistence,
    /// The name under which it takes part, once it is known.
    pub(super) owner: Arc<OnceLock<Arc<str>>>,
}

#[async_trait]
impl AtLeastOnceHandler<EventEnvelope<Ticked>> for AtLeastOnce {
    async fn handle(&self, item: &EventEnvelope<Ticked>) -> Result<(), ExtensionError> {
        let id = item.persistence_id.clone();
        let (nr, offset) = (item.sequence_nr as i64, item.offset.clone());
        let owner = Arc::clone(&self.owner);
        let begun = Instant::now();
        let begun_in = self.epoch_of(id.slice()).await?;
        // A process that was stopped meanwhile may have lost the share, and have it anew in another epoch.
        let is_known = begun.elapsed() < SURELY_HELD;
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                let select = "SELECT s.progress, s.epoch, l.owner FROM projection_share s LEFT JOIN projection_lease l
                     ON l.name = s.name AND l.version = s.version AND l.share_nr = s.share_nr WHERE s.name = $1";
                let shares = session.select(select, [AT_LEAST_ONCE.into()]).await?;
                let (mut is_holder, mut was_stored) = (false, false);
                for share in shares {
                    let progress: Progress = share.get::<String>("progress")?.parse()?;
                    if !progress.slices().contains(&id.slice()) {
                        continue;
                    }
                    let holder: Option<String> = share.get("owner")?;
                    let is_owner =
                        holder.is_some() && holder.as_deref() == owner.get().map(|owner| &**owner);
                    is_holder =
                        is_owner && is_known && share.get::<i64>("epoch")? as u64 == begun_in;
                    was_stored = has(&progress, id.slice(), &offset)?;
                }
                // One that is tried again waits until it was handled.
                let waiting = "SELECT item_nr FROM projection_waiting
                     WHERE name = $1 AND persistence_id = $2 AND item_nr = $3";
                let values = [AT_LEAST_ONCE.into(), id.as_str().into(), nr.into()];
                was_stored &= session.select(waiting, values).await?.is_empty();
                let insert =
                    "INSERT INTO least_log (persistence_id, nr, process, is_holder, was_stored)
                     VALUES ($1, $2, $3, $4, $5)";
                let values = [
                    id.as_str().into(),
                    nr.into(),
                    i64::from(std::process::id()).into(),
                    i64::from(is_holder).into(),
                    i64::from(was_stored).into(),
                ];
                session.execute(insert, values).await?;
                Ok(())
            })
        });
        let id = item.persistence_id.as_str();
        refuse_now_and_then(id, nr)?;
        self.persistence.transact(None, work).await?;
        refuse_now_and_then(id, nr)
    }
}

impl AtLeastOnce {
    /// Returns the epoch of the share that a slice is in now.
    async fn epoch_of(&self, slice: u16) -> Result<Epoch, ExtensionError> {
        let projections = self.persistence.projections(None)?;
        let projection = projections.projection(ProjectionKey::new(AT_LEAST_ONCE)?);
        let record = projection.record().await?.ok_or("no projection")?;
        let mut shares = record.shares.iter();
        let share = shares.find(|share| share.progress.slices().contains(&slice));
        Ok(share.ok_or("no share has the slice")?.epoch)
    }
}

/// Returns whether a progress has an item of a slice, by the offset after that.
fn has(progress: &Progress, slice: u16, after: &EventOffset) -> Result<bool, ExtensionError> {
    let mut pieces = progress.pieces().iter();
    let piece = pieces.find(|piece| piece.slices.contains(&slice));
    let offset: EventOffset = piece.ok_or("no piece has the slice")?.offset.parse()?;
    let of = after.positions().next().map(|(place, _)| place.of());
    let partition = of.and_then(|of| Partition::of_slice(slice, of));
    let partition = partition.ok_or("the offset of an event has no place")?;
    Ok(offset.position(partition) >= after.position(partition))
}

fn refuse_now_and_then(id: &str, nr: i64) -> Result<(), ExtensionError> {
    let Some(bad) = REFUSALS_OF_BAD.get() else {
        return Ok(());
    };
    let is_refused = match bad.is_some_and(|bad| is_bad(id, nr, bad)) {
        true => fastrand::u32(..4) > 0,
        false => fastrand::u32(..REFUSALS) == 0,
    };
    match is_refused {
        true => Err("refused on purpose".into()),
        false => Ok(()),
    }
}

fn is_bad(id: &str, nr: i64, one_in: u64) -> bool {
    let mut hasher = DefaultHasher::new();
    (id, nr).hash(&mut hasher);
    hasher.finish().is_multiple_of(one_in)
}
