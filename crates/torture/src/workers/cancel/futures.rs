//! The table of every public future of the facade.

use std::rc::Rc;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::storage_api::{
    CommandRules, JournalCommand, PersistenceIdsQuery, SessionWork,
};
use actix_persistence::{
    SnapshotCriteria, Timestamp,
    cleanup::{Numbers, Task},
    query::{EventOffset, EventSelection, FindStates, ReplayRange, StateOffset},
};
use actix_persistence_history::{Answer, Done, Operation};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;

use super::junk::{Junk, Request, fill, junk_id, leave};
use super::{Desk, cut, cut_inside};
use crate::workers::fault;
use crate::workers::kept::{Change, Kept, KeptState};
use crate::workers::stream::{Stream, Write, Written, stream_id};

/// A public future, to be dropped.
pub(crate) struct PublicFuture {
    pub(crate) name: &'static str,
    /// The weight with which it is chosen, in comparison with others.
    pub(super) weight: u32,
    /// True if it ends by itself.
    pub(super) ends: bool,
    /// True if only databases have it.
    pub(super) needs_sql: bool,
    /// True if it is dropped inside of what is begun, which goes on to its end.
    pub(super) drops_inside: bool,
    /// The step that is done before, to its end.
    pub(super) prepare: Option<fn(Rc<Desk>) -> LocalBoxFuture<'static, ()>>,
    /// Begins it; the number of polls is for those that drop it inside, which report whether it had ended by then.
    pub(super) begin: fn(Rc<Desk>, usize) -> LocalBoxFuture<'static, bool>,
}

const PLAIN: PublicFuture = PublicFuture {
    name: "",
    weight: 20,
    ends: true,
    needs_sql: false,
    drops_inside: false,
    prepare: None,
    begin: |_, _| Box::pin(async { true }),
};

/// The weight of a future that takes long, as a connection does.
const RARELY: u32 = 1;
/// The weight of a future that waits for what may never come.
const SELDOM: u32 = 4;

const CLEANUP: PublicFuture = PublicFuture {
    weight: 4,
    prepare: Some(|desk| Box::pin(fill(desk))),
    ..PLAIN
};

const STATEMENT: PublicFuture = PublicFuture {
    needs_sql: true,
    drops_inside: true,
    ends: false,
    ..PLAIN
};

/// Makes an entry of the table.
macro_rules! future {
    ($base:ident, $name:literal, |$desk:ident| $begin:expr $(, $field:ident: $value:expr)*) => {
        PublicFuture {
            name: $name,
            $($field: $value,)*
            begin: |$desk, _| Box::pin(async move { done($begin) }),
            ..$base
        }
    };
}

/// Whatever it was, it has ended.
fn done<T>(_: T) -> bool {
    true
}

/// The longest time that a stop waits, in here.
const DEADLINE: Duration = Duration::from_secs(10);

/// Every public future, by the name of the function that returns it.
pub(crate) const FUTURES: &[PublicFuture] = &[
    future!(PLAIN, "open", |desk| {
        drop(Persistence::open(desk.config.clone()).await)
    }, weight: RARELY),
    future!(PLAIN, "from_config", |desk| {
        // The same, but for the file.
        drop(Persistence::from_config(&desk.process.assignment.config).await)
    }, weight: RARELY),
    future!(PLAIN, "sqlite", |desk| {
        let file = desk.process.assignment.config.with_extension("own.db");
        drop(Persistence::sqlite(file).await)
    }, weight: RARELY, needs_sql: true),
    future!(PLAIN, "memory", |_desk| drop(Persistence::memory().await), weight: RARELY),
    future!(PLAIN, "start_when_stopped", |desk| {
        let (id, persistence) = (junk_id(&desk), desk.persistence.clone());
        drop(persistence.start_when_stopped(move || other(&id)).await)
    }),
    future!(PLAIN, "start_in", |desk| {
        let (id, persistence) = (junk_id(&desk), desk.persistence.clone());
        drop(
            persistence
                .start_in(&desk.arbiter, move || other(&id))
                .await,
        )
    }),
    future!(PLAIN, "stopped", |desk| {
        desk.persistence.stopped(&stream_id(desk.number)).await
    }, ends: false, weight: SELDOM),
    future!(PLAIN, "ready", |desk| desk.persistence.ready().await),
    future!(PLAIN, "drained", |desk| desk.persistence.drained().await, ends: false, weight: SELDOM),
    future!(PLAIN, "stop", |desk| stopped_elsewhere(&desk).await, weight: RARELY),
    future!(PLAIN, "stop_on_ctrl_c", |_desk| {
        if let Ok(persistence) = Persistence::memory().await {
            let _ = persistence.stop_on_ctrl_c(DEADLINE).await;
        }
    }, weight: RARELY, ends: false),
    future!(PLAIN, "transact", |desk| {
        let work = SessionWork::new(|session| Box::pin(async move {
            for place in 0..2_i64 {
                let update = "UPDATE cut_off SET times = times + 1 WHERE place = $1";
                session.execute(update, [place.into()]).await?;
            }
            Ok(())
        }));
        desk.persistence.transact(None, work).await
    }, needs_sql: true),
    PublicFuture {
        name: "execute",
        begin: |desk, polls| Box::pin(inside(desk, polls, Statement::Execute)),
        ..STATEMENT
    },
    PublicFuture {
        name: "select",
        begin: |desk, polls| Box::pin(inside(desk, polls, Statement::Select)),
        ..STATEMENT
    },
    PublicFuture {
        name: "select_one",
        begin: |desk, polls| Box::pin(inside(desk, polls, Statement::SelectOne)),
        ..STATEMENT
    },
    future!(PLAIN, "ask_journal", |desk| {
        let id = stream_id(desk.number);
        // Whatever becomes of it, writes go on after it.
        let turns = [
            CommandRules::beside(),
            CommandRules::after(id.clone()),
            CommandRules::in_order(id),
            CommandRules::alone(),
        ];
        let turn = desk.process.scribe.uid().0 as usize % turns.len();
        desk.persistence
            .ask_journal(None, Unheard(turns[turn].clone()))
            .await
    }),
    future!(PLAIN, "find_states", |desk| {
        let query = FindStates::new("Kept", "revision > $1", [0_i64.into()], 10);
        desk.persistence.find_states::<KeptState>(None, query).await
    }, needs_sql: true),
    future!(PLAIN, "replay", |desk| look(&desk).await),
    future!(PLAIN, "replay_events", |desk| {
        let id = stream_id(desk.number);
        desk.persistence.replay_events(id, |_, _: Written| {}).await
    }),
    // A command that asks for events to be stored.
    future!(PLAIN, "send", |desk| ask(&desk).await, weight: 60),
    // A command that asks for a state to be stored.
    future!(PLAIN, "send of a change", |desk| {
        let uid = desk.process.scribe.uid();
        let deletes = uid.0 % 5 == 0;
        desk.kept.send(Change { uid, deletes }).await
    }, weight: 40),
    PublicFuture {
        name: "PersistFuture",
        drops_inside: true,
        ends: false,
        begin: |desk, polls| {
            Box::pin(async move {
                let uid = desk.process.scribe.uid();
                let command = InActor {
                    what: Inner::Persist(uid.0),
                    polls,
                };
                desk.stream.send(command).await.unwrap_or(true)
            })
        },
        ..PLAIN
    },
    PublicFuture {
        name: "load_snapshot",
        drops_inside: true,
        ends: false,
        begin: |desk, polls| {
            Box::pin(async move {
                let command = InActor {
                    what: Inner::LoadSnapshot,
                    polls,
                };
                desk.stream.send(command).await.unwrap_or(true)
            })
        },
        ..PLAIN
    },
    // The requests of a context to its stores are no futures: the actor ends while they are under way.
    future!(CLEANUP, "save_snapshot", |desk| leave(
        &desk,
        Request::SaveSnapshot
    )
    .await),
    future!(CLEANUP, "delete_snapshot", |desk| leave(
        &desk,
        Request::DeleteSnapshot
    )
    .await),
    future!(CLEANUP, "delete_snapshots of a context", |desk| {
        leave(&desk, Request::DeleteSnapshots).await
    }),
    future!(CLEANUP, "delete_messages", |desk| leave(
        &desk,
        Request::DeleteMessages
    )
    .await),
    future!(PLAIN, "events", |desk| {
        let mut events = desk.persistence.events::<Written>();
        events.next().await
    }),
    future!(PLAIN, "dead_letters", |desk| {
        let mut letters = desk.persistence.dead_letters();
        letters.next().await
    }, ends: false, weight: SELDOM),
    future!(PLAIN, "current_persistence_ids", |desk| {
        if let Ok(queries) = desk.persistence.state_queries(None) {
            let mut ids = queries.current_persistence_ids();
            while ids.next().await.is_some() {}
        }
    }),
    future!(PLAIN, "current_persistence_ids_of", |desk| {
        if let Ok(queries) = desk.persistence.state_queries(None) {
            let mut ids = queries.current_persistence_ids_of("Kept");
            while ids.next().await.is_some() {}
        }
    }),
    future!(PLAIN, "persistence_ids", |desk| {
        if let Ok(queries) = desk.persistence.state_queries(None) {
            // A page for each.
            let mut ids = queries.persistence_ids(PersistenceIdsQuery::new(1));
            while ids.next().await.is_some() {}
        }
    }),
    future!(PLAIN, "current_changes_by_slices", |desk| {
        if let Ok(queries) = desk.persistence.state_queries(None) {
            let start = StateOffset::start();
            let mut changes =
                queries.current_changes_by_slices::<KeptState>("Kept", 0..=1023, start);
            while changes.next().await.is_some() {}
        }
    }),
    future!(PLAIN, "changes_by_slices", |desk| {
        if let Ok(queries) = desk.persistence.state_queries(None) {
            let start = StateOffset::start();
            let mut changes = queries.changes_by_slices::<KeptState>("Kept", 0..=1023, start);
            while changes.next().await.is_some() {}
        }
    }, ends: false, weight: SELDOM),
    future!(PLAIN, "current_events", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let all = EventSelection::all();
            let mut events = queries.current_events::<Written>(all, EventOffset::start());
            while events.next().await.is_some() {}
        }
    }),
    future!(PLAIN, "current_events_by_tag", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let mut events = queries.current_events_by_tag::<Written>("tag", EventOffset::start());
            while events.next().await.is_some() {}
        }
    }),
    future!(PLAIN, "current_events_by_slices", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let start = EventOffset::start();
            let mut events = queries.current_events_by_slices::<Written>("Stream", 0..=1023, start);
            while events.next().await.is_some() {}
        }
    }),
    future!(PLAIN, "current_event_records", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let all = EventSelection::all();
            let mut events = queries.current_event_records(all, EventOffset::start());
            while events.next().await.is_some() {}
        }
    }),
    future!(PLAIN, "current_events_of", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let (id, all) = (stream_id(desk.number), ReplayRange::ALL);
            let mut events = queries.current_events_of::<Written>(&id, all);
            while events.next().await.is_some() {}
        }
    }),
    future!(PLAIN, "current_event_records_of", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let (id, all) = (stream_id(desk.number), ReplayRange::ALL);
            let mut events = queries.current_event_records_of(&id, all);
            while events.next().await.is_some() {}
        }
    }),
    future!(PLAIN, "offset_at", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let _ = queries.offset_at(Timestamp::now()).await;
        }
    }),
    future!(PLAIN, "offset_at_within", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let time = Timestamp::now();
            let _ = queries.offset_at_within(time, Duration::ZERO).await;
        }
    }),
    future!(PLAIN, "offset_of", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let _ = queries.offset_of(&stream_id(desk.number), 1).await;
        }
    }),
    future!(PLAIN, "last_change", |desk| {
        if let Ok(queries) = desk.persistence.state_queries(None) {
            let _ = queries.last_change(&junk_id(&desk)).await;
        }
    }),
    future!(PLAIN, "current_change", |desk| {
        if let Ok(queries) = desk.persistence.state_queries(None) {
            let _ = queries.current_change::<KeptState>(&junk_id(&desk)).await;
        }
    }),
    future!(PLAIN, "newest_offset", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let _ = queries.newest_offset(&EventSelection::all()).await;
        }
    }),
    future!(PLAIN, "events of a query", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let all = EventSelection::all();
            let mut events = queries.events::<Written>(all, EventOffset::start());
            while events.next().await.is_some() {}
        }
    }, ends: false, weight: SELDOM),
    future!(PLAIN, "events_by_tag", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let mut events = queries.events_by_tag::<Written>("tag", EventOffset::start());
            while events.next().await.is_some() {}
        }
    }, ends: false, weight: SELDOM),
    future!(PLAIN, "events_by_slices", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let start = EventOffset::start();
            let mut events =
                queries.events_by_slices::<Written>("Stream", 0..=1023, start);
            while events.next().await.is_some() {}
        }
    }, ends: false, weight: SELDOM),
    future!(PLAIN, "event_records", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let all = EventSelection::all();
            let mut events = queries.event_records(all, EventOffset::start());
            while events.next().await.is_some() {}
        }
    }, ends: false, weight: SELDOM),
    future!(PLAIN, "events_of", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let (id, all) = (stream_id(desk.number), ReplayRange::ALL);
            let mut events = queries.events_of::<Written>(&id, all);
            while events.next().await.is_some() {}
        }
    }, ends: false, weight: SELDOM),
    future!(PLAIN, "event_records_of", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let (id, all) = (stream_id(desk.number), ReplayRange::ALL);
            let mut events = queries.event_records_of(&id, all);
            while events.next().await.is_some() {}
        }
    }, ends: false, weight: SELDOM),
    future!(PLAIN, "with_undecodable", |desk| {
        if let Ok(queries) = desk.persistence.event_queries(None) {
            let all = EventSelection::all();
            let events = queries.current_events::<Written>(all, EventOffset::start());
            let mut events = events.with_undecodable();
            while events.next().await.is_some() {}
        }
    }),
    future!(PLAIN, "bound_holders", |desk| {
        match desk.persistence.event_queries(None) {
            Ok(queries) => queries.bound_holders().await.map(drop),
            Err(_) => Ok(()),
        }
    }),
    future!(PLAIN, "health", |desk| {
        match desk.persistence.event_queries(None) {
            Ok(queries) => queries.health().await.map(drop),
            Err(_) => Ok(()),
        }
    }),
    future!(CLEANUP, "preview", |desk| {
        let cleanup = desk.persistence.cleanup();
        cleanup
            .preview(Task::DeleteEventsTo(2), &junk_id(&desk))
            .await
    }),
    future!(CLEANUP, "run", |desk| {
        let cleanup = desk.persistence.cleanup();
        cleanup.run(Task::DeleteEventsTo(2), &junk_id(&desk)).await
    }),
    future!(CLEANUP, "run of a batch", |desk| {
        let batch = desk
            .persistence
            .cleanup()
            .batch(Task::CleanupBeforeSnapshot);
        batch.run([junk_id(&desk)]).await
    }),
    future!(CLEANUP, "run_stream", |desk| {
        let batch = desk
            .persistence
            .cleanup()
            .batch(Task::DeleteAllEvents(Numbers::Keep));
        batch
            .run_stream(futures_util::stream::iter([junk_id(&desk)]))
            .await
    }),
    future!(CLEANUP, "delete_events_to", |desk| {
        desk.persistence
            .cleanup()
            .delete_events_to(&junk_id(&desk), 2)
            .await
    }),
    future!(CLEANUP, "delete_events_before", |desk| {
        let now = Timestamp::now();
        desk.persistence
            .cleanup()
            .delete_events_before(&junk_id(&desk), now)
            .await
    }),
    future!(CLEANUP, "delete_all_events", |desk| {
        desk.persistence
            .cleanup()
            .delete_all_events(&junk_id(&desk), Numbers::Keep)
            .await
    }),
    future!(CLEANUP, "delete_snapshots", |desk| {
        let all = SnapshotCriteria::LATEST;
        desk.persistence
            .cleanup()
            .delete_snapshots(&junk_id(&desk), all)
            .await
    }),
    future!(CLEANUP, "cleanup_before_snapshot", |desk| {
        desk.persistence
            .cleanup()
            .cleanup_before_snapshot(&junk_id(&desk))
            .await
    }),
    future!(CLEANUP, "delete_all", |desk| {
        desk.persistence
            .cleanup()
            .delete_all(&junk_id(&desk), Numbers::Keep)
            .await
    }),
    future!(CLEANUP, "delete_state", |desk| {
        // Of an id without a state.
        let id = PersistenceId::of("Nothing", &desk.number.to_string());
        desk.persistence
            .cleanup()
            .delete_state(&id, Numbers::Keep)
            .await
    }),
];

/// A command that the journal is asked for, and refuses.
struct Unheard(CommandRules);

impl JournalCommand for Unheard {
    type Answer = ();

    fn rules(&self) -> CommandRules {
        self.0.clone()
    }
}

fn other(id: &PersistenceId) -> Junk {
    Junk(id.clone())
}

/// Opens other stores, starts an actor there and stops them.
async fn stopped_elsewhere(desk: &Desk) {
    let opened = match desk.is_memory {
        true => Persistence::memory().await,
        false => Persistence::open(desk.config.clone()).await,
    };
    let Ok(persistence) = opened else { return };
    let id = PersistenceId::of("Junk", &format!("stopped-{}", desk.number));
    let actor = persistence.start(move || other(&id));
    persistence.stop(DEADLINE).await;
    drop(actor);
}

/// A statement of a session.
#[derive(Clone, Copy, PartialEq)]
enum Statement {
    Execute,
    Select,
    SelectOne,
}

/// Drops a statement in a transaction, which stores nothing then; returns whether the statement had ended before.
async fn inside(desk: Rc<Desk>, polls: usize, statement: Statement) -> bool {
    // One that is never polled is no statement.
    let polls = polls.max(1);
    let (sender, was_whole) = tokio::sync::oneshot::channel();
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            let update = "UPDATE cut_off SET times = times + 1 WHERE place = $1";
            session.execute(update, [0_i64.into()]).await?;
            let (select, place) = ("SELECT times FROM cut_off WHERE place = $1", [1_i64.into()]);
            let whole = match statement {
                Statement::Execute => cut_inside(session.execute(update, place), polls).await?,
                Statement::Select => cut_inside(session.select(select, place), polls).await?,
                Statement::SelectOne => {
                    cut_inside(session.select_one(select, place), polls).await?
                }
            };
            let _ = sender.send(whole);
            // The other place was not counted.
            if whole && statement != Statement::Execute {
                return Err("a select is enough".into());
            }
            Ok(())
        })
    });
    let outcome = desk.persistence.transact(None, work).await;
    let whole = was_whole.await.unwrap_or(true);
    if !whole && outcome.is_ok() {
        fault("a transaction was committed although one of its statements was dropped");
    }
    whole
}

/// Sees what is stored, without an actor.
async fn look(desk: &Desk) {
    let scribe = &desk.process.scribe;
    let id = stream_id(desk.number).to_string();
    let call = scribe.invoke(Operation::Replay { id });
    if let Ok(mut replayed) = desk
        .persistence
        .replay(Stream::shown(desk.number, None))
        .await
    {
        let seen = replayed.actor.recovered(replayed.sequence_nr);
        scribe.answer(call, Answer::Ok(Done::Recovered(seen)));
    }
    let _ = desk.persistence.replay(Kept::shown(0)).await;
}

async fn ask(desk: &Desk) {
    let scribe = &desk.process.scribe;
    let uid = scribe.uid();
    let call = scribe.invoke(Operation::Ask {
        id: stream_id(desk.number).to_string(),
        sender: u64::from(scribe.process()) << 32 | u64::from(desk.number),
        uid,
    });
    let sent = desk.stream.send(Write {
        uids: vec![uid],
        asynchronously: uid.0.is_multiple_of(2),
    });
    let answer = match sent.await {
        Ok(Ok(first)) => Answer::Ok(Done::Persisted { first }),
        Ok(Err(error)) if error.is_not_stored() => Answer::Failed,
        _ => Answer::Unknown,
    };
    scribe.answer(call, answer);
}

/// Drops a future of the context after this number of polls, in the actor; the answer is whether it had ended.
#[derive(Message)]
#[rtype(result = "bool")]
struct InActor {
    what: Inner,
    polls: usize,
}

enum Inner {
    Persist(u64),
    LoadSnapshot,
}

impl Handler<InActor> for Stream {
    type Result = ResponseActFuture<Self, bool>;

    fn handle(&mut self, command: InActor, ctx: &mut Self::Context) -> Self::Result {
        let InActor { what, polls } = command;
        let cut: LocalBoxFuture<'static, bool> = match what {
            Inner::Persist(uid) => Box::pin(cut(self.persisting(uid, ctx), polls, None)),
            Inner::LoadSnapshot => {
                let loading = ctx.load_snapshot(SnapshotCriteria::LATEST);
                Box::pin(cut(loading, polls, None))
            }
        };
        Box::pin(cut.into_actor(self))
    }
}
