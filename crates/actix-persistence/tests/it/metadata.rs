//! The metadata of a request, found with the events of all the actors that it led to, in a file of SQLite.

use actix::Arbiter;
use actix::prelude::*;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::change_events::config;
use crate::note::{Note, Written};

const TRACEPARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const TRACESTATE: &str = "congo=t61rcWkgMzE";

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Passed(String);

impl Event for Passed {
    const MANIFEST: &'static str = "test.passed";
    const VERSION: u32 = 1;
}

/// Stores that a parcel has passed, and sends what is to follow from the handler of that event.
struct Station {
    name: &'static str,
    closed: bool,
}

impl Actor for Station {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Station {
    type Event = Passed;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Station", self.name)
    }

    fn on_event(&mut self, _: &Passed) {}

    fn tags(&self, Passed(text): &Passed) -> Vec<String> {
        vec![format!("passed {text}")]
    }
}

/// A parcel, and the ones that follow from it.
#[derive(Message)]
#[rtype(result = "()")]
struct Parcel {
    asynchronous: bool,
    then: Vec<(Addr<Station>, Parcel)>,
    /// A note that is changed as well.
    note: Option<Addr<Note>>,
    /// Is told the name of each station, once it has stored the parcel or put it aside.
    told: UnboundedSender<&'static str>,
}

impl Handler<Parcel> for Station {
    type Result = Reply<Parcel>;

    fn handle(&mut self, parcel: Parcel, ctx: &mut Self::Context) -> Reply<Parcel> {
        if self.closed {
            parcel.told.send("aside").unwrap();
            return ctx.stash(parcel);
        }
        let passed = Passed(self.name.to_owned());
        let persisted = match parcel.asynchronous {
            true => ctx.persist_async(passed),
            false => ctx.tagged(["at once"]).persist(passed),
        };
        let Parcel {
            then, note, told, ..
        } = parcel;
        let passing = persisted.then(move |station, _, _| {
            for (next, parcel) in then {
                next.do_send(parcel);
            }
            if let Some(note) = note {
                note.do_send(Change);
            }
            told.send(station.name).unwrap();
        });
        passing.reply_or_close(|_| ())
    }
}

/// Opens a station.
#[derive(Message)]
#[rtype(result = "()")]
struct Open;

impl Handler<Open> for Station {
    type Result = ();

    fn handle(&mut self, _: Open, ctx: &mut Self::Context) {
        self.closed = false;
        ctx.unstash_all();
    }
}

/// Changes a note, with an event of the change.
#[derive(Message)]
#[rtype(result = "Result<(), PersistError>")]
struct Change;

impl Handler<Change> for Note {
    type Result = Reply<Change>;

    fn handle(&mut self, _: Change, ctx: &mut Self::Context) -> Reply<Change> {
        let event = Passed("note".to_owned());
        ctx.persist_with_event(Written("passed".to_owned()), &event)
            .reply(|_| Ok(()))
    }
}

async fn open(directory: &tempfile::TempDir) -> Persistence {
    let file = directory.path().join("stations.db");
    let file = file.to_str().unwrap();
    Persistence::open(config(file, file)).await.unwrap()
}

fn request() -> Metadata {
    let request = Metadata::new()
        .with_correlation_id("order 81")
        .and_then(|request| request.with_causation_id("request 7"))
        .and_then(|request| request.with_trace_context(TRACEPARENT, Some(TRACESTATE)))
        .and_then(|request| request.with_entry("channel", "web"));
    request.unwrap()
}

async fn events(persistence: &Persistence, id: PersistenceId) -> Vec<(u64, Metadata)> {
    let mut events = Vec::new();
    let each = |meta: &EventMeta, _: Passed| events.push((meta.sequence_nr, meta.metadata.clone()));
    persistence.replay_events(id, each).await.unwrap();
    events
}

async fn hear(told: &mut UnboundedReceiver<&'static str>, names: &mut Vec<&str>) {
    names.sort_unstable();
    while !names.is_empty() {
        let name = told.recv().await.unwrap();
        let at = names.binary_search(&name).unwrap();
        names.remove(at);
    }
}

#[actix::test]
async fn the_metadata_of_a_request_is_with_the_events_of_all_it_led_to() {
    let directory = tempfile::tempdir().unwrap();
    let persistence = open(&directory).await;
    let start = |name, closed| persistence.start(move || Station { name, closed }).unwrap();
    let (a, b, c) = (start("a", false), start("b", false), start("c", true));
    let elsewhere = Arbiter::new();
    let d = || Station {
        name: "d",
        closed: false,
    };
    let d = persistence.start_in(&elsewhere.handle(), d).await.unwrap();
    let note = persistence.start(|| Note::named("1")).unwrap();

    // From a to b and c; from b, which persists asynchronously, to d on another thread, and from there to a note.
    let (tells, mut told) = unbounded_channel();
    let parcel = |asynchronous, then, note| Parcel {
        asynchronous,
        then,
        note,
        told: tells.clone(),
    };
    let to_d = parcel(false, Vec::new(), Some(note.clone()));
    let to_b = parcel(true, vec![(d.clone(), to_d)], None);
    let to_c = parcel(false, Vec::new(), None);
    let to_a = parcel(false, vec![(b.clone(), to_b), (c.clone(), to_c)], None);
    let metadata = request();
    let first = actix::spawn(metadata.scope(|| a.send(to_a)));
    hear(&mut told, &mut vec!["a", "b", "d", "aside"]).await;
    c.do_send(Open);
    hear(&mut told, &mut vec!["c"]).await;
    first.await.unwrap().unwrap();
    // Something else, which has nothing of it.
    a.send(parcel(false, Vec::new(), None)).await.unwrap();
    // The note has its event when it answers.
    note.send(Change).await.unwrap().unwrap();
    drop((a, b, c, d, note));
    persistence.stop(std::time::Duration::from_secs(30)).await;

    let persistence = open(&directory).await;
    for (name, cause) in [
        ("a", "request 7"),
        ("b", "Station|a#1"),
        ("c", "Station|a#1"),
        ("d", "Station|b#1"),
    ] {
        let stored = events(&persistence, PersistenceId::of("Station", name)).await;
        let expected = request().with_causation_id(cause).unwrap();
        assert_eq!(stored[0], (1, expected), "of {name}");
        assert_eq!(stored[0].1.traceparent(), Some(TRACEPARENT));
        match name {
            "a" => assert_eq!(stored[1..], [(2, Metadata::new())]),
            _ => assert_eq!(stored.len(), 1),
        }
    }
    let of_note = events(&persistence, PersistenceId::of("Note", "1")).await;
    let expected = request().with_causation_id("Station|d#1").unwrap();
    assert_eq!(of_note, [(1, expected), (2, Metadata::new())]);
    elsewhere.stop();
}
