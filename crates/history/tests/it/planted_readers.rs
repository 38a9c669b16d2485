//! Violations of what is promised of readers and queries.

use actix_persistence_history::{
    Answer, Done, Entry, Incarnation, Invariant, Listed, Operation, Page, Uid, What,
};

use crate::planted::Planted;
use crate::plot::{A, Plot};

const IN_A: Incarnation = Incarnation(1 << 60);
const READER: u64 = 1 << 50;

pub(crate) const ALL: &[Planted] = &[
    (
        "a reader is not shown an event",
        Invariant::ReadersMissNothing,
        |plot| {
            let id = kept_id(plot)?;
            let uids = stored(plot, &id, 3);
            let last = plot.head(&id).0;
            open(plot, true, &[id.as_str()]);
            show(
                plot,
                vec![entry(&id, last - 2, uids[0]), entry(&id, last, uids[2])],
            );
            Some(())
        },
    ),
    (
        "a reader is not shown the last event",
        Invariant::ReadersMissNothing,
        |plot| {
            let id = kept_id(plot)?;
            stored(plot, &id, 1);
            open(plot, true, &[id.as_str()]);
            let asked_at = plot.records[plot.records.len() - 1].at;
            plot.say(
                A,
                What::CaughtUp {
                    reader: READER,
                    asked_at,
                },
            );
            Some(())
        },
    ),
    (
        "a reader is not shown the last change",
        Invariant::ReadersMissNothing,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            open(plot, false, &[id.as_str()]);
            let asked_at = plot.records[plot.records.len() - 1].at;
            plot.say(
                A,
                What::CaughtUp {
                    reader: READER,
                    asked_at,
                },
            );
            Some(())
        },
    ),
    (
        "a reader is shown a change and not one before it",
        Invariant::ReadersMissNothing,
        |plot| {
            let [one, other] = two_new_states(plot);
            open(plot, false, &["planted|one", "planted|other"]);
            let entries = vec![entry("planted|other", 1, other)];
            show_end(plot, entries);
            // Said later, it is too late.
            show(plot, vec![entry("planted|one", 1, one)]);
            Some(())
        },
    ),
    (
        "a reader is shown an id without the prefix of its query",
        Invariant::QueriesExact,
        |plot| {
            let [one, _] = two_new_states(plot);
            let what = What::ReaderOpened {
                reader: READER,
                query: "planted".into(),
                every: false,
                ids: None,
                prefix: "planted|o.".into(),
                continues: None,
            };
            plot.say(A, what);
            show(plot, vec![entry("planted|one", 1, one)]);
            Some(())
        },
    ),
    (
        "a reader that goes on leaves out an event",
        Invariant::ReadersMissNothing,
        |plot| {
            let id = kept_id(plot)?;
            let uids = stored(plot, &id, 3);
            let last = plot.head(&id).0;
            open(plot, true, &[id.as_str()]);
            show(plot, vec![entry(&id, last - 2, uids[0])]);
            let what = What::ReaderOpened {
                reader: READER + 1,
                query: "planted".into(),
                every: true,
                ids: None,
                prefix: String::new(),
                continues: Some(READER),
            };
            plot.say(A, what);
            let page = Page {
                offset: None,
                entries: vec![entry(&id, last, uids[2])],
                ended: false,
            };
            plot.say(
                A,
                What::Shown {
                    reader: READER + 1,
                    asked_at: 0,
                    page,
                },
            );
            Some(())
        },
    ),
    (
        "a page loses an entry",
        Invariant::ReadersMissNothing,
        |plot| {
            // Of a reader that came to the end, so that the loss shows.
            let place = plot
                .any(|what| matches!(what, What::Shown { page, .. } if page.entries.len() > 2))?;
            let What::Shown { page, .. } = &mut plot.records[place].what else {
                return None;
            };
            let twice = (0..page.entries.len() - 1).find(|index| {
                let (first, later) = (&page.entries[*index], &page.entries[index + 1..]);
                first.id.starts_with("event")
                    && first.id != "event-2"
                    && later.iter().any(|entry| entry.id == first.id)
            })?;
            page.entries.remove(twice);
            Some(())
        },
    ),
    (
        "a reader is shown an entry twice",
        Invariant::ReadersInOrder,
        |plot| {
            let place = plot
                .any(|what| matches!(what, What::Shown { page, .. } if !page.entries.is_empty()))?;
            let What::Shown { page, .. } = &mut plot.records[place].what else {
                return None;
            };
            let again = page.entries[0].clone();
            page.entries.push(again);
            Some(())
        },
    ),
    (
        "a reader is shown events in another order",
        Invariant::ReadersInOrder,
        |plot| {
            let id = kept_id(plot)?;
            let uids = stored(plot, &id, 2);
            let last = plot.head(&id).0;
            open(plot, true, &[id.as_str()]);
            show(
                plot,
                vec![entry(&id, last, uids[1]), entry(&id, last - 1, uids[0])],
            );
            Some(())
        },
    ),
    ("a page is shown again", Invariant::ReadersInOrder, |plot| {
        let place =
            plot.any(|what| matches!(what, What::Shown { page, .. } if !page.entries.is_empty()))?;
        let again = plot.records[place].clone();
        plot.records.insert(place, again);
        Some(())
    }),
    (
        "a reader's offset goes back",
        Invariant::ReadersInOrder,
        |plot| {
            open(plot, true, &["event-0"]);
            for offset in [9, 8] {
                let page = Page {
                    offset: Some(offset),
                    entries: vec![],
                    ended: false,
                };
                plot.say(
                    A,
                    What::Shown {
                        reader: READER,
                        asked_at: 0,
                        page,
                    },
                );
            }
            Some(())
        },
    ),
    (
        "a reader goes on before the offset of the one before",
        Invariant::ReadersInOrder,
        |plot| {
            open(plot, true, &["event-0"]);
            let what = What::ReaderOpened {
                reader: READER + 1,
                query: "planted".into(),
                every: true,
                ids: Some(vec!["event-0".into()]),
                prefix: String::new(),
                continues: Some(READER),
            };
            for (reader, offset) in [(READER, 9), (READER + 1, 8)] {
                if reader > READER {
                    plot.say(A, what.clone());
                }
                let page = Page {
                    offset: Some(offset),
                    entries: vec![],
                    ended: false,
                };
                plot.say(
                    A,
                    What::Shown {
                        reader,
                        asked_at: 0,
                        page,
                    },
                );
            }
            Some(())
        },
    ),
    (
        "a reader is shown a state after a newer one",
        Invariant::ReadersInOrder,
        |plot| {
            let place = plot.any_answer(|operation, answer| {
                matches!(
                    (operation, answer),
                    (
                        Operation::Upsert { .. },
                        Answer::Ok(Done::Changed { revision: 2.. })
                    )
                )
            })?;
            let Operation::Upsert { id, uid, .. } = plot.operation(place).clone() else {
                return None;
            };
            let What::Answer {
                answer: Answer::Ok(Done::Changed { revision }),
                ..
            } = plot.records[place].what
            else {
                return None;
            };
            let (_, last, newest) = plot
                .state()
                .filter(|state| state.0 == id && state.1 > revision)?;
            open(plot, false, &[id.as_str()]);
            show(
                plot,
                vec![entry(&id, last, newest?), entry(&id, revision, uid)],
            );
            Some(())
        },
    ),
    (
        "a reader is shown what is not stored",
        Invariant::RefusedNeverStored,
        |plot| {
            let id = kept_id(plot)?;
            let uid = plot.uid();
            let call = plot.persist(A, &id, IN_A, &[uid]);
            plot.answer(A, call, Answer::Failed);
            open(plot, true, &[id.as_str()]);
            let number = plot.head(&id).0 + 1;
            show(plot, vec![entry(&id, number, uid)]);
            Some(())
        },
    ),
    (
        "a reader is shown an event that is lost",
        Invariant::NothingLost,
        |plot| {
            let id = kept_id(plot)?;
            let uid = plot.uid();
            plot.persist(A, &id, IN_A, &[uid]);
            open(plot, true, &[id.as_str()]);
            let number = plot.head(&id).0 + 1;
            show(plot, vec![entry(&id, number, uid)]);
            Some(())
        },
    ),
    (
        "a reader is shown an id that it did not select",
        Invariant::QueriesExact,
        |plot| {
            let id = kept_id(plot)?;
            let uids = stored(plot, &id, 1);
            let last = plot.head(&id).0;
            open(plot, true, &["another"]);
            show(plot, vec![entry(&id, last, uids[0])]);
            Some(())
        },
    ),
    (
        "a query leaves out a state",
        Invariant::QueriesExact,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            // Whoever tried to delete it may still do so.
            let deletes = |what: &What| matches!(what, What::Invoke { operation: Operation::DeleteState { id: of, .. }, .. } if *of == id);
            plot.any(deletes).is_none().then_some(())?;
            plot.load(A, &id, IN_A, (revision, uid));
            list(plot, vec![]);
            Some(())
        },
    ),
    (
        "a query gives a state twice",
        Invariant::QueriesExact,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            list(
                plot,
                vec![entry(&id, revision, uid?), entry(&id, revision, uid?)],
            );
            Some(())
        },
    ),
    (
        "a query gives a state that it does not select",
        Invariant::QueriesExact,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            let ids = Some(vec!["another".into()]);
            let call = plot.ask(
                A,
                Operation::List {
                    query: "planted".into(),
                    ids,
                    prefix: String::new(),
                },
            );
            let entries = vec![entry(&id, revision, uid?)];
            plot.answer(A, call, Answer::Ok(Done::Listed(Listed { entries })));
            Some(())
        },
    ),
    (
        "a query gives an older state",
        Invariant::StatesNeverGoBack,
        |plot| {
            let (id, revision, uid) = plot.state()?;
            plot.load(A, &id, IN_A, (revision, uid));
            let new = plot.uid();
            let call = plot.upsert(A, &id, IN_A, new);
            plot.store_state(&id, revision + 1, Some(new), new);
            plot.answer(
                A,
                call,
                Answer::Ok(Done::Changed {
                    revision: revision + 1,
                }),
            );
            list(plot, vec![entry(&id, revision, uid?)]);
            Some(())
        },
    ),
];

fn kept_id(plot: &mut Plot) -> Option<String> {
    plot.id_with_events().filter(|id| id != "event-2")
}

/// New events of an id.
fn stored(plot: &mut Plot, id: &str, events: usize) -> Vec<Uid> {
    plot.recover(A, id, IN_A, false);
    let uids: Vec<_> = (0..events).map(|_| plot.uid()).collect();
    let first = plot.head(id).0 + 1;
    let call = plot.persist(A, id, IN_A, &uids);
    plot.answer(A, call, Answer::Ok(Done::Persisted { first }));
    plot.store(id, &uids);
    uids
}

fn entry(id: &str, number: u64, uid: Uid) -> Entry {
    Entry {
        id: id.into(),
        number,
        uid: Some(uid),
    }
}

fn open(plot: &mut Plot, every: bool, ids: &[&str]) {
    let what = What::ReaderOpened {
        reader: READER,
        query: "planted".into(),
        every,
        ids: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
        prefix: String::new(),
        continues: None,
    };
    plot.say(A, what);
}

fn show(plot: &mut Plot, entries: Vec<Entry>) {
    let page = Page {
        offset: None,
        entries,
        ended: false,
    };
    plot.say(
        A,
        What::Shown {
            reader: READER,
            asked_at: 0,
            page,
        },
    );
}

/// Shows a page after which the reader is told that there is no more.
fn show_end(plot: &mut Plot, entries: Vec<Entry>) {
    let page = Page {
        offset: None,
        entries,
        ended: true,
    };
    plot.say(
        A,
        What::Shown {
            reader: READER,
            asked_at: 0,
            page,
        },
    );
}

/// Stores two states of new ids, one after the other.
fn two_new_states(plot: &mut Plot) -> [Uid; 2] {
    ["planted|one", "planted|other"].map(|id| {
        let uid = plot.uid();
        let call = plot.upsert(A, id, IN_A, uid);
        plot.store_state(id, 1, Some(uid), uid);
        plot.answer(A, call, Answer::Ok(Done::Changed { revision: 1 }));
        uid
    })
}

fn list(plot: &mut Plot, entries: Vec<Entry>) {
    let ids = Some(vec!["state-0".into(), "state-1".into(), "state-2".into()]);
    let call = plot.ask(
        A,
        Operation::List {
            query: "planted".into(),
            ids,
            prefix: String::new(),
        },
    );
    plot.answer(A, call, Answer::Ok(Done::Listed(Listed { entries })));
}
