//! The rows that are stored in the end.

use actix_persistence::prelude::*;
use actix_persistence_history::{Row, Table, Uid, What};
use actix_persistence_storage_api::{
    Journal, PageLimit, ReplayRange, SnapshotCriteria, SnapshotStore, StateStore,
};

use super::{STATES, STREAMS, Scene};
use crate::workers::kept::{KeptState, kept_id};
use crate::workers::stream::{Digest, Written, stream_id};

impl Scene {
    /// Reads what is stored from the storage itself.
    pub(super) async fn rows(&self) {
        let mut rows = Vec::new();
        for number in 0..STREAMS {
            self.stream_rows(&stream_id(number), &mut rows).await;
        }
        let kept = (0..STATES).map(kept_id);
        for id in kept.chain(self.inserted.take()) {
            let current = self.storage.state_store().get(&id).await;
            let current = current.expect("memory does not fail");
            let uid = current
                .state
                .map(|state| Uid(decoded::<KeptState>(&state.payload.bytes).uid));
            if current.revision > 0 {
                let (id, revision) = (id.to_string(), current.revision);
                rows.push(Row::State { id, revision, uid });
            }
        }
        for row in rows {
            self.ledger.say(0, What::Row(row));
        }
        for table in [Table::Events, Table::Heads, Table::Snapshots, Table::States] {
            self.ledger.say(0, What::Dumped(table));
        }
    }

    async fn stream_rows(&self, id: &PersistenceId, rows: &mut Vec<Row>) {
        let journal = self.storage.journal();
        let page = PageLimit {
            max_events: usize::MAX,
            ..PageLimit::DEFAULT
        };
        let range = ReplayRange::new(1, SequenceNr::MAX);
        let events = journal.replay_messages(id, range, page).await;
        for event in events.expect("memory does not fail").events {
            rows.push(Row::Event {
                id: id.to_string(),
                number: event.sequence_nr,
                uid: Uid(decoded::<Written>(&event.payload.bytes).uid),
            });
        }
        let head = journal.read_head(id).await.expect("memory does not fail");
        rows.push(Row::Head {
            id: id.to_string(),
            highest: head.highest_sequence_nr,
            deleted_to: head.deleted_to,
        });
        let snapshots = self.storage.snapshot_store();
        let mut criteria = SnapshotCriteria::LATEST;
        while let Some(record) = snapshots
            .load(id, criteria)
            .await
            .expect("memory does not fail")
        {
            let number = record.metadata.sequence_nr;
            rows.push(Row::Snapshot {
                id: id.to_string(),
                number,
                digest: decoded::<Digest>(&record.payload.bytes).digest,
            });
            criteria = SnapshotCriteria::up_to(number - 1);
        }
    }
}

fn decoded<T: serde::de::DeserializeOwned>(payload: &[u8]) -> T {
    rmp_serde::from_slice(payload).expect("what the workers have encoded can be decoded")
}
