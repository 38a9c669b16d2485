//! Violations of what is promised of events.

use actix_persistence_history::{
    Answer, Done, Incarnation, Invariant, Operation, Recovered, Row, Uid, What,
};

use crate::planted::Planted;
use crate::plot::{A, B, Plot};

const IN_A: Incarnation = Incarnation(1 << 60);
const IN_B: Incarnation = Incarnation(1 << 61);

pub(crate) const ALL: &[Planted] = &[
    (
        "the last event is gone in the end",
        Invariant::NothingLost,
        |plot| {
            let id = plot.id_with_events()?;
            let last = plot.head(&id).0;
            acknowledged(plot, &id, last)?;
            remove_event(plot, &id, last)?;
            lower_head(plot, &id, 1)
        },
    ),
    ("the highest number sinks", Invariant::NothingLost, |plot| {
        let id = plot.id_with_events()?;
        let last = plot.head(&id).0;
        acknowledged(plot, &id, last)?;
        lower_head(plot, &id, 1)
    }),
    (
        "the first event is gone in the end",
        Invariant::NothingLost,
        |plot| {
            let id = plot.id_with_events()?;
            let (highest, deleted_to) = plot.head(&id);
            (highest > deleted_to + 1).then_some(())?;
            remove_event(plot, &id, deleted_to + 1)
        },
    ),
    (
        "all events of an id are gone in the end",
        Invariant::NothingLost,
        |plot| {
            let id = plot.id_with_events()?;
            plot.rows.retain(|row| {
            !matches!(&row.what, What::Row(Row::Event { id: of, .. } | Row::Head { id: of, .. }) if *of == id)
        });
            Some(())
        },
    ),
    (
        "a recovery does not see the last event",
        Invariant::NothingLost,
        |plot| {
            let id = plot.id_with_events()?;
            let (highest, deleted_to) = plot.head(&id);
            (highest > deleted_to).then_some(())?;
            plot.recover(A, &id, IN_A, false);
            lower_head(plot, &id, 1)?;
            plot.recover(B, &id, IN_B, false);
            Some(())
        },
    ),
    (
        "a recovery does not see the first events",
        Invariant::NothingLost,
        |plot| {
            let place = plot.any_answer(|operation, answer| {
            matches!(operation, Operation::Recover { id, .. } if id != "event-2")
                && matches!(answer, Answer::Ok(Done::Recovered(Recovered { events: Some(events), snapshot: None, .. }))
                    if events.len() > 1 && events[0].0 == 1)
        })?;
            let recovered = plot.recovered(place);
            recovered.events.as_mut()?.remove(0);
            Some(())
        },
    ),
    (
        "an event in the middle is gone in the end",
        Invariant::NoGap,
        |plot| {
            let id = plot.id_with_events()?;
            let (highest, deleted_to) = plot.head(&id);
            (highest > deleted_to + 2).then_some(())?;
            remove_event(plot, &id, highest - 1)
        },
    ),
    (
        "a recovery does not see an event in the middle",
        Invariant::NoGap,
        |plot| {
            let place = any_look(plot, 3)?;
            plot.recovered(place).events.as_mut()?.remove(1);
            Some(())
        },
    ),
    (
        "a recovery says a higher number than it saw",
        Invariant::NoGap,
        |plot| {
            let place = any_look(plot, 1)?;
            plot.recovered(place).highest += 1;
            Some(())
        },
    ),
    ("an event has the number 0", Invariant::NoGap, |plot| {
        let place = plot.any_row(|row| matches!(row, Row::Event { .. }))?;
        if let Row::Event { number, .. } = plot.row(place) {
            *number = 0;
        }
        Some(())
    }),
    (
        "a number is given to two events",
        Invariant::NoNumberTwice,
        |plot| {
            let id = plot.id_with_events()?;
            let highest = plot.head(&id).0;
            plot.recover(A, &id, IN_A, false);
            let uid = plot.uid();
            let call = plot.persist(A, &id, IN_A, &[uid]);
            plot.answer(A, call, Answer::Ok(Done::Persisted { first: highest }));
            Some(())
        },
    ),
    (
        "a number is used again after everything was deleted",
        Invariant::NoNumberTwice,
        |plot| {
            let id = plot.id_with_events()?;
            delete_all(plot, &id);
            plot.rows.retain(
                |row| !matches!(&row.what, What::Row(Row::Event { id: of, .. }) if *of == id),
            );
            plot.recover(A, &id, IN_A, false);
            let uid = plot.uid();
            let call = plot.persist(A, &id, IN_A, &[uid]);
            plot.answer(A, call, Answer::Ok(Done::Persisted { first: 1 }));
            seen_at(plot, &id, 1)
        },
    ),
    (
        "an event is replaced by another in the end",
        Invariant::NoNumberTwice,
        |plot| {
            let id = plot.id_with_events()?;
            let last = plot.head(&id).0;
            let uid = plot.uid();
            let persisted = plot.persist(A, &id, IN_A, &[uid]);
            plot.answer(A, persisted, Answer::Unknown);
            acknowledged(plot, &id, last)?;
            replace_event(plot, &id, last, uid)
        },
    ),
    (
        "a write of unknown outcome is stored twice",
        Invariant::NoEventTwice,
        |plot| {
            let id = plot.id_with_events()?;
            plot.recover(A, &id, IN_A, false);
            let uid = plot.uid();
            plot.persist(A, &id, IN_A, &[uid]);
            plot.store(&id, &[uid, uid]);
            Some(())
        },
    ),
    ("a row is there twice", Invariant::NoEventTwice, |plot| {
        let place = plot.any_row(|row| matches!(row, Row::Event { .. }))?;
        let row = plot.rows[place].clone();
        plot.rows.push(row);
        Some(())
    }),
    (
        "a recovery sees an event twice",
        Invariant::NoEventTwice,
        |plot| {
            let place = any_look(plot, 2)?;
            let events = plot.recovered(place).events.as_mut()?;
            let first = events[0];
            events.insert(0, first);
            Some(())
        },
    ),
    (
        "events are seen in another order",
        Invariant::NoEventTwice,
        |plot| {
            let place = any_look(plot, 2)?;
            plot.recovered(place).events.as_mut()?.swap(0, 1);
            Some(())
        },
    ),
    (
        "an event is there that nobody wrote",
        Invariant::NothingOfOthers,
        |plot| {
            let id = plot.id_with_events()?;
            let uid = plot.uid();
            plot.store(&id, &[uid]);
            Some(())
        },
    ),
    (
        "an event of another id is replayed",
        Invariant::NothingOfOthers,
        |plot| {
            let stored =
                plot.any_row(|row| matches!(row, Row::Event { id, .. } if id == "event-0"))?;
            let Row::Event { uid, .. } = *plot.row(stored) else {
                return None;
            };
            let place = plot.any_answer(|operation, answer| {
                matches!(operation, Operation::Recover { id, .. } if id == "event-1")
                    && shows(answer, 1)
            })?;
            plot.recovered(place).events.as_mut()?.last_mut()?.1 = uid;
            Some(())
        },
    ),
    (
        "half of a batch is stored",
        Invariant::WholeBatches,
        |plot| {
            let id = plot.id_with_events()?;
            plot.recover(A, &id, IN_A, false);
            let batch = [plot.uid(), plot.uid(), plot.uid()];
            plot.persist(A, &id, IN_A, &batch);
            plot.store(&id, &batch[..2]);
            Some(())
        },
    ),
    (
        "a recovery sees half of a batch",
        Invariant::WholeBatches,
        |plot| {
            let id = plot.id_with_events()?;
            plot.recover(A, &id, IN_A, false);
            let batch = [plot.uid(), plot.uid()];
            plot.persist(A, &id, IN_A, &batch);
            let highest = plot.head(&id).0;
            plot.recover(B, &id, IN_B, false);
            let answer = plot.records.len() - 1;
            let recovered = plot.recovered(answer);
            recovered.highest += 1;
            recovered.events = Some(vec![(highest + 1, batch[0])]);
            plot.store(&id, &batch);
            Some(())
        },
    ),
    (
        "a batch is stored without its first event",
        Invariant::WholeBatches,
        |plot| {
            let id = plot.id_with_events()?;
            plot.recover(A, &id, IN_A, false);
            let batch = [plot.uid(), plot.uid()];
            plot.persist(A, &id, IN_A, &batch);
            plot.store(&id, &batch[1..]);
            Some(())
        },
    ),
    (
        "another event is in a batch",
        Invariant::WholeBatches,
        |plot| {
            let id = plot.id_with_events()?;
            plot.recover(A, &id, IN_A, false);
            let batch = [plot.uid(), plot.uid()];
            let other = plot.uid();
            plot.persist(A, &id, IN_A, &batch);
            plot.persist(A, &id, IN_A, &[other]);
            plot.store(&id, &[batch[0], other, batch[1]]);
            Some(())
        },
    ),
    (
        "a batch is stored in another order",
        Invariant::WholeBatches,
        |plot| {
            let id = plot.id_with_events()?;
            plot.recover(A, &id, IN_A, false);
            let batch = [plot.uid(), plot.uid()];
            plot.persist(A, &id, IN_A, &batch);
            plot.store(&id, &[batch[1], batch[0]]);
            Some(())
        },
    ),
    (
        "a failed event is stored",
        Invariant::RefusedNeverStored,
        |plot| refused(plot, Answer::Failed),
    ),
    (
        "a rejected event is stored",
        Invariant::RefusedNeverStored,
        |plot| refused(plot, Answer::Rejected),
    ),
    (
        "who sent a command was told that it failed",
        Invariant::RefusedNeverStored,
        |plot| {
            let place = plot.any_answer(|operation, answer| {
                matches!((operation, answer), (Operation::Ask { .. }, Answer::Ok(_)))
            })?;
            set_answer(plot, place, Answer::Failed);
            Some(())
        },
    ),
    (
        "a rejected event is handled",
        Invariant::RefusedNeverStored,
        |plot| {
            let place = plot.any_answer(|operation, answer| {
                matches!(
                    (operation, answer),
                    (Operation::Persist { .. }, Answer::Ok(_))
                )
            })?;
            set_answer(plot, place, Answer::Rejected);
            plot.rows.clear();
            Some(())
        },
    ),
    (
        "a handler does not run",
        Invariant::HandlersOnceInOrder,
        |plot| {
            let place = handled_twice(plot)?;
            plot.records.remove(place);
            Some(())
        },
    ),
    (
        "a handler runs twice",
        Invariant::HandlersOnceInOrder,
        |plot| {
            let place = plot.any(|what| matches!(what, What::Handled { .. }))?;
            let again = plot.records[place].clone();
            plot.records.insert(place, again);
            Some(())
        },
    ),
    (
        "handlers run in another order",
        Invariant::HandlersOnceInOrder,
        |plot| {
            let place = handled_twice(plot)?;
            let next = next_handled(plot, place)?;
            let at = plot.records[place].at;
            plot.records[place].at = plot.records[next].at;
            plot.records[next].at = at;
            (plot.records[place].at != at).then_some(())
        },
    ),
    (
        "another incarnation handles the event",
        Invariant::HandlersOnceInOrder,
        |plot| {
            let place = plot.any(|what| matches!(what, What::Handled { .. }))?;
            if let What::Handled { incarnation, .. } = &mut plot.records[place].what {
                *incarnation = IN_A;
            }
            Some(())
        },
    ),
    (
        "an event is handled after its acknowledgement",
        Invariant::HandlersOnceInOrder,
        |plot| {
            let id = plot.id_with_events()?;
            let uid = persisted(plot, &id)?;
            let number = plot.head(&id).0;
            plot.say(A, handled(&id, uid, number));
            Some(())
        },
    ),
    (
        "a handler runs before its event is persisted",
        Invariant::HandlersOnceInOrder,
        |plot| {
            let id = plot.id_with_events()?;
            let number = plot.head(&id).0 + 1;
            plot.recover(A, &id, IN_A, false);
            let uid = plot.uid();
            plot.say(A, handled(&id, uid, number));
            let call = plot.persist(A, &id, IN_A, &[uid]);
            plot.answer(A, call, Answer::Ok(Done::Persisted { first: number }));
            plot.store(&id, &[uid]);
            Some(())
        },
    ),
    (
        "a handler runs after a failure",
        Invariant::StopsOnFailure,
        |plot| {
            let id = plot.id_with_events()?;
            let number = plot.head(&id).0 + 1;
            plot.recover(A, &id, IN_A, false);
            let uids = [plot.uid(), plot.uid()];
            let call = plot.persist(A, &id, IN_A, &uids[..1]);
            plot.persist(A, &id, IN_A, &uids[1..]);
            plot.answer(A, call, Answer::Unknown);
            plot.say(A, handled(&id, uids[0], number));
            plot.store(&id, &uids);
            Some(())
        },
    ),
    (
        "a handler runs after the end of its incarnation",
        Invariant::StopsOnFailure,
        |plot| {
            let id = plot.id_with_events()?;
            let number = plot.head(&id).0 + 1;
            plot.recover(A, &id, IN_A, false);
            let uid = plot.uid();
            plot.persist(A, &id, IN_A, &[uid]);
            let (of, incarnation) = (id.clone(), IN_A);
            plot.say(
                A,
                What::Ended {
                    id: of,
                    incarnation,
                },
            );
            plot.say(A, handled(&id, uid, number));
            plot.store(&id, &[uid]);
            Some(())
        },
    ),
    (
        "a second writer has not seen the event before",
        Invariant::NothingUnseenBelow,
        |plot| {
            let id = plot.id_with_events()?;
            plot.recover(A, &id, IN_A, false);
            plot.recover(B, &id, IN_B, false);
            stored_by(plot, A, &id, IN_A);
            stored_by(plot, B, &id, IN_B);
            Some(())
        },
    ),
    (
        "two writers are acknowledged in turn",
        Invariant::NothingUnseenBelow,
        |plot| {
            let id = plot.id_with_events()?;
            plot.recover(A, &id, IN_A, false);
            stored_by(plot, A, &id, IN_A);
            plot.recover(B, &id, IN_B, false);
            stored_by(plot, B, &id, IN_B);
            stored_by(plot, A, &id, IN_A);
            Some(())
        },
    ),
    (
        "a late write is stored below an acknowledged one",
        Invariant::NothingUnseenBelow,
        |plot| {
            let id = plot.id_with_events()?;
            plot.recover(A, &id, IN_A, false);
            let uid = plot.uid();
            plot.persist(A, &id, IN_A, &[uid]);
            plot.recover(B, &id, IN_B, false);
            plot.store(&id, &[uid]);
            stored_by(plot, B, &id, IN_B);
            Some(())
        },
    ),
    (
        "a write comes after a recovery that fenced",
        Invariant::NoLateWrite,
        |plot| {
            let id = plot.id_with_events()?;
            plot.recover(A, &id, IN_A, false);
            let uid = plot.uid();
            plot.persist(A, &id, IN_A, &[uid]);
            plot.recover(B, &id, IN_B, true);
            plot.store(&id, &[uid]);
            Some(())
        },
    ),
    (
        "a write of unknown outcome comes after the next recovery",
        Invariant::NoLateWrite,
        |plot| {
            let id = plot.id_with_events()?;
            plot.recover(A, &id, IN_A, false);
            let uid = plot.uid();
            let call = plot.persist(A, &id, IN_A, &[uid]);
            plot.answer(A, call, Answer::Unknown);
            plot.recover(A, &id, IN_B, false);
            plot.store(&id, &[uid]);
            Some(())
        },
    ),
    (
        "a later write gets a lower number",
        Invariant::OrderOfWrites,
        |plot| {
            let id = plot.id_with_events()?;
            let highest = plot.head(&id).0;
            plot.recover(A, &id, IN_A, false);
            let uids = [plot.uid(), plot.uid()];
            for (uid, first) in [(uids[1], highest + 2), (uids[0], highest + 1)] {
                let call = plot.persist(A, &id, IN_A, &[uid]);
                plot.answer(A, call, Answer::Ok(Done::Persisted { first }));
            }
            plot.store(&id, &uids);
            Some(())
        },
    ),
    (
        "commands of one sender are handled in another order",
        Invariant::OrderOfWrites,
        |plot| {
            let id = plot.id_with_events()?;
            plot.recover(A, &id, IN_A, false);
            let uids = [plot.uid(), plot.uid()];
            for uid in uids {
                let id = id.clone();
                plot.ask(
                    B,
                    Operation::Ask {
                        id,
                        sender: 77,
                        uid,
                    },
                );
            }
            plot.persist(A, &id, IN_A, &uids[1..]);
            plot.persist(A, &id, IN_A, &uids[..1]);
            plot.store(&id, &[uids[1], uids[0]]);
            Some(())
        },
    ),
    (
        "an answer without a question",
        Invariant::WellFormed,
        |plot| {
            plot.answer(A, 1, Answer::Unknown);
            Some(())
        },
    ),
    ("two calls with one number", Invariant::WellFormed, |plot| {
        let place = plot.any(|what| matches!(what, What::Invoke { .. }))?;
        let again = plot.records[place].clone();
        plot.records.push(again);
        Some(())
    }),
    (
        "an answer before its question",
        Invariant::WellFormed,
        |plot| {
            let place = plot.any(|what| matches!(what, What::Answer { .. }))?;
            plot.records[place].at = 0;
            Some(())
        },
    ),
    (
        "an event is persisted twice",
        Invariant::WellFormed,
        |plot| {
            let id = plot.id_with_events()?;
            let uid = plot.uid();
            plot.persist(A, &id, IN_A, &[uid]);
            plot.persist(A, &id, IN_A, &[uid]);
            Some(())
        },
    ),
];

fn handled(id: &str, uid: Uid, number: u64) -> What {
    What::Handled {
        id: id.into(),
        incarnation: IN_A,
        uid,
        number,
    }
}

/// A new event of the id that is stored, without a handler.
fn persisted(plot: &mut Plot, id: &str) -> Option<Uid> {
    plot.recover(A, id, IN_A, false);
    stored_by(plot, A, id, IN_A);
    let What::Invoke {
        operation: Operation::Persist { uids, .. },
        ..
    } = &plot.records[plot.records.len() - 2].what
    else {
        return None;
    };
    uids.first().copied()
}

fn stored_by(plot: &mut Plot, process: u32, id: &str, incarnation: Incarnation) {
    let uid = plot.uid();
    let call = plot.persist(process, id, incarnation, &[uid]);
    plot.store(id, &[uid]);
    let first = plot.head(id).0;
    plot.answer(process, call, Answer::Ok(Done::Persisted { first }));
}

/// Returns `Some` if this event was acknowledged.
fn acknowledged(plot: &mut Plot, name: &str, number: u64) -> Option<()> {
    let found = plot.any(|what| {
        matches!(what, What::Handled { id, number: handled, .. } if id == name && *handled == number)
    });
    found.map(drop)
}

fn event_row(plot: &mut Plot, name: &str, wanted: u64) -> Option<usize> {
    plot.any_row(
        |row| matches!(row, Row::Event { id, number, .. } if id == name && *number == wanted),
    )
}

fn remove_event(plot: &mut Plot, name: &str, number: u64) -> Option<()> {
    let place = event_row(plot, name, number)?;
    plot.rows.remove(place);
    Some(())
}

fn replace_event(plot: &mut Plot, name: &str, number: u64, by: Uid) -> Option<()> {
    let place = event_row(plot, name, number)?;
    if let Row::Event { uid, .. } = plot.row(place) {
        *uid = by;
    }
    Some(())
}

fn lower_head(plot: &mut Plot, name: &str, by: u64) -> Option<()> {
    let place = plot.any_row(|row| matches!(row, Row::Head { id, .. } if id == name))?;
    if let Row::Head { highest, .. } = plot.row(place) {
        *highest -= by;
    }
    Some(())
}

fn delete_all(plot: &mut Plot, name: &str) {
    let to = plot.head(name).0;
    let delete = Operation::DeleteEvents {
        id: name.into(),
        to,
        covered: false,
    };
    let call = plot.ask(A, delete);
    plot.answer(A, call, Answer::Ok(Done::Done));
}

/// Returns `Some` if someone saw which event has this number.
fn seen_at(plot: &mut Plot, name: &str, number: u64) -> Option<()> {
    acknowledged(plot, name, number)
}

fn shows(answer: &Answer, at_least: usize) -> bool {
    matches!(answer, Answer::Ok(Done::Recovered(Recovered { events: Some(events), .. })) if events.len() >= at_least)
}

fn any_look(plot: &mut Plot, events: usize) -> Option<usize> {
    plot.any_answer(|operation, answer| {
        matches!(
            operation,
            Operation::Recover { .. } | Operation::Replay { .. }
        ) && shows(answer, events)
    })
}

fn set_answer(plot: &mut Plot, place: usize, new: Answer) {
    if let What::Answer { answer, .. } = &mut plot.records[place].what {
        *answer = new;
    }
}

/// An event that is stored in the end was said not to be; all that is said of it besides goes.
fn refused(plot: &mut Plot, answer: Answer) -> Option<()> {
    let id = plot.id_with_events()?;
    plot.recover(A, &id, IN_A, false);
    let uid = plot.uid();
    let call = plot.persist(A, &id, IN_A, &[uid]);
    plot.answer(A, call, answer);
    plot.store(&id, &[uid]);
    Some(())
}

fn next_handled(plot: &Plot, place: usize) -> Option<usize> {
    let What::Handled { incarnation, .. } = &plot.records[place].what else {
        return None;
    };
    let later = &plot.records[place + 1..];
    let next = later.iter().position(|record| {
        matches!(&record.what, What::Handled { incarnation: other, .. } if other == incarnation)
    });
    next.map(|next| place + 1 + next)
}

/// A handler run that is not the last one of its incarnation.
fn handled_twice(plot: &mut Plot) -> Option<usize> {
    let place = plot.any(|what| matches!(what, What::Handled { .. }))?;
    next_handled(plot, place)?;
    Some(place)
}
