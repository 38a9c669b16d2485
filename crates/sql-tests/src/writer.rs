//! An incarnation that writes to a journal directly.

use actix_persistence_storage_api::{
    AtomicWrite, Epoch, EventRecord, Journal, PageLimit, Payload, PersistenceId, ReplayRange,
    SequenceNr, StorageError, TakenOver, Timestamp, WriteOutcome, WriterId,
};
use actix_persistence_tck::TakeOverOne;

/// An id, and who writes it.
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) persistence_id: PersistenceId,
    pub(crate) writer: WriterId,
    pub(crate) epoch: Epoch,
}

impl Writer {
    /// Takes the id over.
    pub(crate) async fn take_over(
        journal: &dyn Journal,
        persistence_id: &PersistenceId,
    ) -> Result<(Self, TakenOver), StorageError> {
        let writer = WriterId::random();
        let taken = journal.take_over_one(persistence_id, writer).await?;
        let writer = Self {
            persistence_id: persistence_id.clone(),
            writer,
            epoch: taken.epoch,
        };
        Ok((writer, taken))
    }

    /// Writes one event; all of them have the same length.
    pub(crate) async fn write(
        &self,
        journal: &dyn Journal,
        number: SequenceNr,
    ) -> Result<WriteOutcome, StorageError> {
        let payload = Payload::new(1_000, "late.event:v1", number.to_be_bytes().to_vec());
        let time = Timestamp::from_micros(1_700_000_000_000_000);
        let event = EventRecord::new(number, time, self.writer, payload);
        let write = AtomicWrite::new(self.persistence_id.clone(), self.epoch, vec![event])
            .expect("one event is an atomic write");
        let mut outcomes = journal.write_messages(vec![write]).await?;
        Ok(outcomes.remove(0))
    }
}

/// Returns the numbers of all events, and who wrote them.
pub(crate) async fn events(
    journal: &dyn Journal,
    persistence_id: &PersistenceId,
) -> Result<Vec<(SequenceNr, WriterId)>, StorageError> {
    let range = ReplayRange::new(1, SequenceNr::MAX);
    let page = PageLimit::events(100);
    let page = journal.replay_messages(persistence_id, range, page).await?;
    let events = page.events.iter();
    Ok(events
        .map(|event| (event.sequence_nr, event.writer))
        .collect())
}
