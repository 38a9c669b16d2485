//! Violations of what is promised of snapshots and deletes.

use actix_persistence_history::{
    Answer, Done, Incarnation, Invariant, Operation, Recovered, Row, What,
};

use crate::planted::Planted;
use crate::plot::{A, B, Plot};

const IN_A: Incarnation = Incarnation(1 << 60);
const IN_B: Incarnation = Incarnation(1 << 61);

pub(crate) const ALL: &[Planted] = &[
    (
        "the recovered state is another",
        Invariant::StateIsFold,
        |plot| {
            let place = plot.any_answer(|operation, answer| {
                of_covered_id(operation)
                    && matches!(
                        answer,
                        Answer::Ok(Done::Recovered(Recovered {
                            digest: Some(_),
                            ..
                        }))
                    )
            })?;
            *plot.recovered(place).digest.as_mut()? ^= 1;
            Some(())
        },
    ),
    (
        "the state in a snapshot is another",
        Invariant::StateIsFold,
        |plot| {
            let place = plot.any(|what| {
            matches!(what, What::Invoke { operation: operation @ Operation::SaveSnapshot { .. }, .. } if of_covered_id(operation))
        })?;
            if let What::Invoke {
                operation: Operation::SaveSnapshot { digest, .. },
                ..
            } = &mut plot.records[place].what
            {
                *digest ^= 1;
            }
            // One that certainly was not saved belongs to no actor.
            saved(plot, place)
        },
    ),
    (
        "a recovery begins with no snapshot where events are deleted",
        Invariant::WholeRecovery,
        |plot| {
            let place = plot.any_answer(|operation, answer| {
            of_covered_id(operation) && matches!(operation, Operation::Recover { .. })
                && matches!(answer, Answer::Ok(Done::Recovered(Recovered { deleted_to: Some(1..), events: Some(events), .. }))
                    if events.first().is_none_or(|first| first.0 > 1))
        })?;
            let recovered = plot.recovered(place);
            let deleted_to = recovered.deleted_to?;
            recovered.snapshot = None;
            recovered.snapshot_digest = None;
            recovered.digest = None;
            // What is left of the log.
            let events = recovered.events.as_mut()?;
            (events
                .first()
                .map_or(recovered.highest, |first| first.0 - 1)
                == deleted_to)
                .then_some(())
        },
    ),
    (
        "a recovery begins with an older snapshot than the events need",
        Invariant::WholeRecovery,
        |plot| {
            let id = covered_id(plot)?;
            let highest = plot.head(&id).0;
            plot.recover(A, &id, IN_A, false);
            save(plot, &id, highest, 1);
            let to = highest;
            delete(plot, &id, to, true, Answer::Unknown);
            plot.recover(B, &id, IN_B, false);
            let answer = plot.records.len() - 1;
            let recovered = plot.recovered(answer);
            recovered.deleted_to = None;
            recovered.events = Some(vec![]);
            Some(())
        },
    ),
    (
        "a snapshot is loaded of events that are lost",
        Invariant::SnapshotOfStored,
        |plot| {
            let id = covered_id(plot)?;
            let highest = plot.head(&id).0;
            plot.recover(A, &id, IN_A, false);
            save(plot, &id, highest + 1, 1);
            plot.recover(B, &id, IN_B, false);
            let answer = plot.records.len() - 1;
            plot.recovered(answer).snapshot = Some(highest + 1);
            Some(())
        },
    ),
    (
        "a snapshot is saved before its events",
        Invariant::SnapshotOfStored,
        |plot| {
            let id = covered_id(plot)?;
            let number = plot.head(&id).0 + 1;
            plot.recover(A, &id, IN_A, false);
            let of = id.clone();
            let operation = Operation::SaveSnapshot {
                id: of,
                incarnation: IN_A,
                number,
                digest: 0,
            };
            plot.ask(A, operation);
            Some(())
        },
    ),
    (
        "a snapshot covers the events of another writer",
        Invariant::SnapshotOfStored,
        |plot| {
            let id = covered_id(plot)?;
            let number = plot.head(&id).0 + 1;
            plot.recover(A, &id, IN_A, false);
            plot.recover(B, &id, IN_B, false);
            let uid = plot.uid();
            let call = plot.persist(B, &id, IN_B, &[uid]);
            plot.answer(B, call, Answer::Ok(Done::Persisted { first: number }));
            plot.store(&id, &[uid]);
            save(plot, &id, number, 0);
            Some(())
        },
    ),
    (
        "a stored snapshot is newer than every event",
        Invariant::SnapshotOfStored,
        |plot| {
            let id = covered_id(plot)?;
            let number = plot.head(&id).0 + 1;
            plot.add_row(Row::Snapshot {
                id,
                number,
                digest: 0,
            });
            Some(())
        },
    ),
    (
        "a snapshot is loaded that nobody saved",
        Invariant::SnapshotWasSaved,
        |plot| {
            let id = covered_id(plot)?;
            plot.recover(A, &id, IN_A, false);
            let answer = plot.records.len() - 1;
            let recovered = plot.recovered(answer);
            recovered.snapshot = Some(recovered.highest);
            recovered.snapshot_digest = Some(5);
            Some(())
        },
    ),
    (
        "a loaded snapshot has another state",
        Invariant::SnapshotWasSaved,
        |plot| {
            let place = with_snapshot(plot)?;
            *plot.recovered(place).snapshot_digest.as_mut()? ^= 1;
            Some(())
        },
    ),
    (
        "a snapshot is loaded whose save failed",
        Invariant::SnapshotWasSaved,
        |plot| {
            let id = covered_id(plot)?;
            let number = plot.head(&id).0;
            plot.recover(A, &id, IN_A, false);
            let operation = Operation::SaveSnapshot {
                id: id.clone(),
                incarnation: IN_A,
                number,
                digest: 5,
            };
            let call = plot.ask(A, operation);
            plot.answer(A, call, Answer::Failed);
            plot.recover(B, &id, IN_B, false);
            let answer = plot.records.len() - 1;
            let recovered = plot.recovered(answer);
            (recovered.snapshot, recovered.snapshot_digest) = (Some(number), Some(5));
            Some(())
        },
    ),
    (
        "a deleted snapshot is loaded",
        Invariant::SnapshotWasSaved,
        |plot| {
            let id = covered_id(plot)?;
            let number = plot.head(&id).0;
            plot.recover(A, &id, IN_A, false);
            save(plot, &id, number, 5);
            let delete = Operation::DeleteSnapshots {
                id: id.clone(),
                from: 0,
                to: u64::MAX,
            };
            let call = plot.ask(A, delete);
            plot.answer(A, call, Answer::Ok(Done::Done));
            plot.recover(B, &id, IN_B, false);
            let answer = plot.records.len() - 1;
            let recovered = plot.recovered(answer);
            (recovered.snapshot, recovered.snapshot_digest) = (Some(number), Some(5));
            Some(())
        },
    ),
    (
        "a stored snapshot was never saved",
        Invariant::SnapshotWasSaved,
        |plot| {
            let id = covered_id(plot)?;
            let number = plot.head(&id).0;
            plot.add_row(Row::Snapshot {
                id,
                number,
                digest: 5,
            });
            Some(())
        },
    ),
    (
        "a stored snapshot is gone in the end",
        Invariant::NothingLost,
        |plot| {
            let id = covered_id(plot)?;
            let number = plot.head(&id).0;
            plot.recover(A, &id, IN_A, false);
            save(plot, &id, number, 5);
            plot.rows.retain(
                |row| !matches!(&row.what, What::Row(Row::Snapshot { id: of, .. }) if *of == id),
            );
            Some(())
        },
    ),
    (
        "a deleted event is replayed",
        Invariant::DeletesAsAsked,
        |plot| {
            let id = plot.id_with_events()?;
            let last = plot.any_row(|row| matches!(row, Row::Event { id: of, .. } if *of == id))?;
            let Row::Event { number, uid, .. } = *plot.row(last) else {
                return None;
            };
            let highest = plot.head(&id).0;
            (number == highest).then_some(())?;
            delete(plot, &id, highest, false, Answer::Ok(Done::Done));
            plot.recover(A, &id, IN_A, false);
            let answer = plot.records.len() - 1;
            let recovered = plot.recovered(answer);
            (recovered.deleted_to, recovered.events) = (None, Some(vec![(number, uid)]));
            Some(())
        },
    ),
    (
        "more is deleted than was asked",
        Invariant::DeletesAsAsked,
        |plot| {
            let place = plot.any_row(|row| matches!(row, Row::Head { .. }))?;
            if let Row::Head {
                deleted_to,
                highest,
                ..
            } = plot.row(place)
            {
                *highest += 1000;
                *deleted_to = *highest;
            }
            Some(())
        },
    ),
    (
        "a recovery is told of more deletes than were asked",
        Invariant::DeletesAsAsked,
        |plot| {
            let place = plot.any_answer(|_, answer| {
                matches!(
                    answer,
                    Answer::Ok(Done::Recovered(Recovered {
                        deleted_to: Some(_),
                        ..
                    }))
                )
            })?;
            *plot.recovered(place).deleted_to.as_mut()? += 1000;
            Some(())
        },
    ),
    (
        "a delete is taken back",
        Invariant::DeletesAsAsked,
        |plot| {
            let id = plot.id_with_events()?;
            let highest = plot.head(&id).0;
            delete(plot, &id, highest, false, Answer::Ok(Done::Done));
            plot.recover(A, &id, IN_A, false);
            Some(())
        },
    ),
    (
        "a delete that was refused has deleted",
        Invariant::DeletesAsAsked,
        |plot| {
            let id = plot.id_with_events()?;
            let to = plot.head(&id).0 + 50;
            delete(plot, &id, to, false, Answer::Failed);
            for row in &mut plot.rows {
                if let What::Row(Row::Head {
                    id: of, deleted_to, ..
                }) = &mut row.what
                    && *of == id
                {
                    *deleted_to = to;
                }
            }
            Some(())
        },
    ),
    (
        "an event of before a reset is there after it",
        Invariant::DeletesAsAsked,
        |plot| {
            let id = plot.id_with_events()?;
            let last = plot.any_row(|row| matches!(row, Row::Event { id: of, .. } if *of == id))?;
            let Row::Event { uid, .. } = *plot.row(last) else {
                return None;
            };
            let handled =
                plot.any(|what| matches!(what, What::Handled { uid: of, .. } if *of == uid));
            handled?;
            let call = plot.ask(A, Operation::ResetEvents { id: id.clone() });
            plot.answer(A, call, Answer::Ok(Done::Done));
            plot.rows.retain(|row| {
            !matches!(&row.what, What::Row(Row::Event { id: of, .. } | Row::Head { id: of, .. }) if *of == id)
        });
            plot.add_row(Row::Event { id, number: 1, uid });
            Some(())
        },
    ),
    (
        "retention deletes before there is a snapshot",
        Invariant::DeleteIsCovered,
        |plot| {
            let id = covered_id(plot)?;
            let to = plot.head(&id).0 + 1;
            delete(plot, &id, to, true, Answer::Ok(Done::Done));
            Some(())
        },
    ),
    (
        "retention deletes while a snapshot is being saved",
        Invariant::DeleteIsCovered,
        |plot| {
            let id = covered_id(plot)?;
            plot.recover(A, &id, IN_A, false);
            let uid = plot.uid();
            let call = plot.persist(A, &id, IN_A, &[uid]);
            plot.store(&id, &[uid]);
            let number = plot.head(&id).0;
            plot.answer(A, call, Answer::Ok(Done::Persisted { first: number }));
            let of = id.clone();
            let operation = Operation::SaveSnapshot {
                id: of,
                incarnation: IN_A,
                number,
                digest: 5,
            };
            let call = plot.ask(A, operation);
            delete(plot, &id, number, true, Answer::Ok(Done::Done));
            plot.answer(A, call, Answer::Ok(Done::Done));
            Some(())
        },
    ),
];

/// Generated histories delete events of the others without a snapshot.
fn of_covered_id(operation: &Operation) -> bool {
    match operation {
        Operation::Recover { id, .. } | Operation::SaveSnapshot { id, .. } => id != "event-2",
        _ => false,
    }
}

fn covered_id(plot: &mut Plot) -> Option<String> {
    plot.id_with_events().filter(|id| id != "event-2")
}

fn saved(plot: &Plot, question: usize) -> Option<()> {
    let record = &plot.records[question];
    let What::Invoke { call, .. } = &record.what else {
        return None;
    };
    let answer = plot.records.iter().find(|other| {
        other.process == record.process
            && matches!(&other.what, What::Answer { call: answered, answer: Answer::Ok(_) } if answered == call)
    });
    answer.map(drop)
}

fn save(plot: &mut Plot, id: &str, number: u64, digest: u64) {
    let operation = Operation::SaveSnapshot {
        id: id.into(),
        incarnation: IN_A,
        number,
        digest,
    };
    let call = plot.ask(A, operation);
    plot.answer(A, call, Answer::Ok(Done::Done));
}

fn delete(plot: &mut Plot, id: &str, to: u64, covered: bool, answer: Answer) {
    let delete = Operation::DeleteEvents {
        id: id.into(),
        to,
        covered,
    };
    let call = plot.ask(A, delete);
    plot.answer(A, call, answer);
}

fn with_snapshot(plot: &mut Plot) -> Option<usize> {
    plot.any_answer(|_, answer| {
        matches!(
            answer,
            Answer::Ok(Done::Recovered(Recovered {
                snapshot: Some(_),
                snapshot_digest: Some(_),
                ..
            }))
        )
    })
}
