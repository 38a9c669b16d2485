//! Violations of what is promised of durable states and change handlers.

use actix_persistence_history::{Answer, Done, Incarnation, Invariant, Operation, Row, Uid, What};

use crate::planted::Planted;
use crate::plot::{A, B, Plot};

const IN_A: Incarnation = Incarnation(1 << 60);
const IN_B: Incarnation = Incarnation(1 << 61);

pub(crate) const ALL: &[Planted] = &[
    (
        "two changes get one revision",
        Invariant::OneChangePerRevision,
        |plot| {
            let (id, revision, uid) = acknowledged_state(plot)?;
            plot.load(A, &id, IN_A, (revision, uid));
            let uid = plot.uid();
            let call = plot.upsert(A, &id, IN_A, uid);
            plot.answer(A, call, Answer::Ok(Done::Changed { revision }));
            Some(())
        },
    ),
    (
        "a revision is left out",
        Invariant::OneChangePerRevision,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            // More than were ever tried with an unknown outcome.
            stored(plot, A, &id, IN_A, revision + 1000);
            Some(())
        },
    ),
    (
        "a state is seen at two revisions",
        Invariant::OneChangePerRevision,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            plot.load(A, &id, IN_A, (revision + 1, uid));
            Some(())
        },
    ),
    (
        "a change gets another revision than it asked for",
        Invariant::OneChangePerRevision,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            let uid = plot.uid();
            let upsert = Operation::Upsert {
                id: id.clone(),
                incarnation: IN_A,
                revision: Some(revision + 2),
                uid,
            };
            plot.ask(A, upsert);
            plot.store_state(&id, revision + 1, Some(uid), uid);
            Some(())
        },
    ),
    (
        "a tombstone's revision is used again",
        Invariant::OneChangePerRevision,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            deleted(plot, &id, revision + 1);
            stored(plot, A, &id, IN_A, revision + 1);
            Some(())
        },
    ),
    (
        "a state without a revision is seen",
        Invariant::OneChangePerRevision,
        |plot| {
            let (id, _, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (0, uid));
            Some(())
        },
    ),
    (
        "an older state is seen",
        Invariant::StatesNeverGoBack,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            stored(plot, A, &id, IN_A, revision + 1);
            plot.load(B, &id, IN_B, (revision, uid));
            Some(())
        },
    ),
    (
        "a deleted state is seen",
        Invariant::StatesNeverGoBack,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            deleted(plot, &id, revision + 1);
            plot.load(B, &id, IN_B, (revision, uid));
            Some(())
        },
    ),
    (
        "a delete is seen as a state",
        Invariant::StatesNeverGoBack,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            let delete = deleted(plot, &id, revision + 1);
            plot.load(B, &id, IN_B, (revision + 1, Some(delete)));
            Some(())
        },
    ),
    (
        "the state is older in the end",
        Invariant::StatesNeverGoBack,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            let new = plot.uid();
            let call = plot.upsert(A, &id, IN_A, new);
            plot.answer(
                A,
                call,
                Answer::Ok(Done::Changed {
                    revision: revision + 1,
                }),
            );
            Some(())
        },
    ),
    (
        "a deleted state is not seen to be so",
        Invariant::StatesNeverGoBack,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            deleted(plot, &id, revision + 1);
            plot.load(B, &id, IN_B, (0, None));
            Some(())
        },
    ),
    (
        "a state is gone in the end",
        Invariant::NothingLost,
        |plot| {
            let (name, revision, uid) = plot.state()?;
            plot.load(A, &name, IN_A, (revision, uid));
            plot.rows.retain(
                |row| !matches!(&row.what, What::Row(Row::State { id, .. }) if *id == name),
            );
            Some(())
        },
    ),
    (
        "a state is deleted that nobody deleted",
        Invariant::DeletesAsAsked,
        |plot| {
            let (name, revision, uid) = plot.state()?;
            plot.load(A, &name, IN_A, (revision, uid));
            plot.load(B, &name, IN_B, (revision, None));
            Some(())
        },
    ),
    (
        "a state of another id is seen",
        Invariant::NothingOfOthers,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            let (other, _, other_uid) = plot.state()?;
            (id != other).then_some(())?;
            plot.load(A, &id, IN_A, (revision, uid));
            plot.load(A, &id, IN_A, (revision + 1, other_uid));
            Some(())
        },
    ),
    (
        "a refused state is stored",
        Invariant::RefusedNeverStored,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            let uid = plot.uid();
            let call = plot.upsert(A, &id, IN_A, uid);
            plot.answer(A, call, Answer::Failed);
            plot.store_state(&id, revision + 1, Some(uid), uid);
            Some(())
        },
    ),
    (
        "a change overwrites one that its writer has not seen",
        Invariant::NoLostUpdate,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            plot.load(B, &id, IN_B, (revision, uid));
            stored(plot, A, &id, IN_A, revision + 1);
            stored(plot, B, &id, IN_B, revision + 2);
            Some(())
        },
    ),
    (
        "a writer of before a delete is not refused",
        Invariant::NoLostUpdate,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(B, &id, IN_B, (revision, uid));
            plot.load(A, &id, IN_A, (revision, uid));
            deleted(plot, &id, revision + 1);
            stored(plot, B, &id, IN_B, revision + 2);
            Some(())
        },
    ),
    (
        "a revision that was loaded is overwritten",
        Invariant::NoLostUpdate,
        |plot| {
            let (id, revision, uid) = acknowledged_state(plot)?;
            plot.load(A, &id, IN_A, (revision, uid));
            let uid = plot.uid();
            let call = plot.upsert(A, &id, IN_A, uid);
            plot.answer(A, call, Answer::Ok(Done::Changed { revision }));
            Some(())
        },
    ),
    (
        "a later change gets an earlier revision",
        Invariant::OrderOfWrites,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            stored(plot, A, &id, IN_A, revision + 2);
            stored(plot, A, &id, IN_A, revision + 1);
            Some(())
        },
    ),
    (
        "a change handler's row is missing",
        Invariant::ChangesWithTheirRows,
        |plot| {
            let place = plot.any_row(|row| matches!(row, Row::Change { .. }))?;
            plot.rows.remove(place);
            Some(())
        },
    ),
    (
        "all rows of a change handler are missing",
        Invariant::ChangesWithTheirRows,
        |plot| {
            let (name, ..) = plot.state()?;
            plot.rows.retain(
                |row| !matches!(&row.what, What::Row(Row::Change { id, .. }) if *id == name),
            );
            Some(())
        },
    ),
    (
        "a change handler's row is there twice",
        Invariant::ChangesWithTheirRows,
        |plot| {
            let place = plot.any_row(|row| matches!(row, Row::Change { .. }))?;
            let again = plot.rows[place].clone();
            plot.rows.push(again);
            Some(())
        },
    ),
    (
        "a change handler has counted a change that is not stored",
        Invariant::ChangesWithTheirRows,
        |plot| {
            let (id, revision, _) = plot.state()?;
            let table = "counts".into();
            plot.add_row(Row::Change {
                table,
                id,
                revision: revision + 1,
                uid: None,
            });
            Some(())
        },
    ),
    (
        "a change handler's row is of another change",
        Invariant::ChangesWithTheirRows,
        |plot| {
            let (name, revision, uid) = acknowledged_state(plot)?;
            plot.load(A, &name, IN_A, (revision, uid));
            let other = plot.uid();
            plot.upsert(A, &name, IN_A, other);
            let place = plot.any_row(|row| {
            matches!(row, Row::Change { id, revision: of, .. } if *id == name && *of == revision)
        })?;
            if let Row::Change { uid, .. } = plot.row(place) {
                *uid = Some(other);
            }
            Some(())
        },
    ),
];

/// A state whose last change was acknowledged.
fn acknowledged_state(plot: &mut Plot) -> Option<(String, u64, Option<Uid>)> {
    let (id, revision, stored) = plot.state()?;
    plot.any_answer(|operation, answer| {
        matches!(operation, Operation::Upsert { uid, .. } if Some(*uid) == stored)
            && matches!(answer, Answer::Ok(_))
    })?;
    Some((id, revision, stored))
}

fn stored(plot: &mut Plot, process: u32, id: &str, incarnation: Incarnation, revision: u64) {
    let uid = plot.uid();
    let call = plot.upsert(process, id, incarnation, uid);
    plot.store_state(id, revision, Some(uid), uid);
    plot.answer(process, call, Answer::Ok(Done::Changed { revision }));
}

fn deleted(plot: &mut Plot, id: &str, revision: u64) -> Uid {
    let uid = plot.uid();
    let delete = Operation::DeleteState {
        id: id.into(),
        incarnation: IN_A,
        revision: None,
        uid,
    };
    let call = plot.ask(A, delete);
    plot.store_state(id, revision, None, uid);
    plot.answer(A, call, Answer::Ok(Done::Changed { revision }));
    uid
}
