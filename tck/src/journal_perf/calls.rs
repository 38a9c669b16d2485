//! The calls in which atomic writes come to the journal.

use actix_persistence_storage_api::{AtomicWrite, JournalCapabilities};

/// The way in which the writes of the ids share calls.
#[derive(Clone, Copy)]
pub(super) enum Calls {
    /// Each write is a call; different ids write at the same time.
    Each,
    /// A call has as many writes of one id as the journal takes, like those that accumulate in an actor.
    Full,
    /// A call has one write of each id, if the journal takes that many: the group commit.
    OneOfEachId,
}

/// Calls of `write_messages`, one after the other.
pub(super) type Lane = Vec<Vec<AtomicWrite>>;

impl Calls {
    /// Returns the calls for the writes of some ids; lanes run at the same time, and each id is in one lane only.
    pub(super) fn lanes(
        self,
        ids: Vec<Vec<AtomicWrite>>,
        limits: &JournalCapabilities,
    ) -> Vec<Lane> {
        match self {
            Calls::Each => {
                let lane = |writes: Vec<_>| writes.into_iter().map(|write| vec![write]).collect();
                ids.into_iter().map(lane).collect()
            }
            Calls::Full => {
                let lane = |writes| within(limits, writes);
                ids.into_iter().map(lane).collect()
            }
            Calls::OneOfEachId => {
                let mut ids: Vec<_> = ids.into_iter().map(Vec::into_iter).collect();
                let mut lane = Vec::new();
                loop {
                    let group: Vec<_> = ids.iter_mut().filter_map(Iterator::next).collect();
                    if group.is_empty() {
                        return vec![lane];
                    }
                    lane.extend(within(limits, group));
                }
            }
        }
    }
}

/// Returns the writes in calls as large as the limits allow; one that is larger than them is a call of its own.
fn within(limits: &JournalCapabilities, writes: Vec<AtomicWrite>) -> Lane {
    let mut calls = Lane::new();
    let (mut events, mut bytes) = (0, 0);
    for write in writes {
        events += write.events().len();
        bytes += write.size();
        let fits = events <= limits.max_group_events && bytes <= limits.max_group_bytes;
        match calls.last_mut().filter(|_| fits) {
            Some(call) => call.push(write),
            None => {
                (events, bytes) = (write.events().len(), write.size());
                calls.push(vec![write]);
            }
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::{
        EventRecord, Payload, PersistenceId, SequenceNr, Timestamp, WriterId,
    };

    use super::*;

    /// Writes of an id, of this number of events each, of ten bytes each.
    fn writes(id: &str, count: u64, events: u64) -> Vec<AtomicWrite> {
        let event = |number| {
            let payload = Payload::new(0, "", vec![0; 10]);
            EventRecord::new(number, Timestamp::from_micros(0), WriterId::NIL, payload)
        };
        let write = |nr: u64| {
            let numbers = nr * events + 1..=(nr + 1) * events;
            AtomicWrite::new(
                PersistenceId::of_unique(id),
                1,
                numbers.map(event).collect(),
            )
        };
        (0..count).map(|nr| write(nr).unwrap()).collect()
    }

    /// The ids and first numbers of the writes of each call of each lane.
    fn shape(lanes: &[Lane]) -> Vec<Vec<Vec<(String, SequenceNr)>>> {
        let of_write = |write: &AtomicWrite| {
            (
                write.persistence_id().to_string(),
                write.lowest_sequence_nr(),
            )
        };
        let of_call = |call: &Vec<AtomicWrite>| call.iter().map(of_write).collect();
        let of_lane = |lane: &Lane| lane.iter().map(of_call).collect();
        lanes.iter().map(of_lane).collect()
    }

    fn numbers(lane: &Lane) -> Vec<Vec<SequenceNr>> {
        let of_call = |call: &Vec<AtomicWrite>| {
            let numbers = call.iter().map(AtomicWrite::lowest_sequence_nr);
            numbers.collect()
        };
        lane.iter().map(of_call).collect()
    }

    #[test]
    fn each_id_is_a_lane_of_calls_with_one_write() {
        let ids = vec![writes("a", 2, 1), writes("b", 2, 1)];
        let lanes = Calls::Each.lanes(ids, &JournalCapabilities::default());
        let lanes: Vec<_> = lanes.iter().map(numbers).collect();
        assert_eq!(lanes, [[[1], [2]], [[1], [2]]]);
    }

    #[test]
    fn full_calls_keep_to_the_limits_of_the_journal() {
        let of_events = JournalCapabilities::default().with_max_group(5, 1_000);
        let lanes = Calls::Full.lanes(vec![writes("a", 4, 2)], &of_events);
        assert_eq!(numbers(&lanes[0]), [[1, 3], [5, 7]]);
        let of_bytes = JournalCapabilities::default().with_max_group(100, 30);
        let lanes = Calls::Full.lanes(vec![writes("a", 4, 1)], &of_bytes);
        assert_eq!(numbers(&lanes[0]), [vec![1, 2, 3], vec![4]]);
        let too_small = JournalCapabilities::default().with_max_group(1, 1);
        let lanes = Calls::Full.lanes(vec![writes("a", 2, 2)], &too_small);
        assert_eq!(numbers(&lanes[0]), [[1], [3]]);
    }

    #[test]
    fn a_group_commit_has_one_write_of_each_id() {
        let ids = vec![writes("a", 2, 1), writes("b", 2, 1), writes("c", 2, 1)];
        let limits = JournalCapabilities::default().with_max_group(2, 1_000);
        let lanes = Calls::OneOfEachId.lanes(ids, &limits);
        let of = |id: &str, number| (PersistenceId::of_unique(id).to_string(), number);
        let expected = vec![
            vec![of("a", 1), of("b", 1)],
            vec![of("c", 1)],
            vec![of("a", 2), of("b", 2)],
            vec![of("c", 2)],
        ];
        assert_eq!(shape(&lanes), [expected]);
    }
}
