//! Everything that is acknowledged can be read again by the same program; a value that could not be is rejected.

use std::sync::Arc;

use actix::{Actor, Addr, Handler, Message};
use actix_persistence_memory::MemoryStorage;
use actix_persistence_persistent_actor::{
    DurableState, Environment, Event, PersistError, PersistentActor, PersistentContext,
    RejectionCause, Reply, Serializer, Snapshot, SnapshotOffer, State,
};
use actix_persistence_storage_api::{Journal, PersistenceId, SnapshotCriteria, SnapshotStore};
use serde::{Deserialize, Serialize};

use crate::durable_state::state_world::StateWorld;
use crate::scripted_journal::ScriptedJournal;
use crate::world::{World, run};

/// A drawn value: some can be stored, and some could not be read again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Shape {
    Number(f64),
    /// A term takes two levels: a variant and its list.
    Sum(Box<Shape>, Box<Shape>),
    Pixels(Vec<u8>),
}

/// A sum as a parser makes it: the first two terms are the innermost ones.
fn sum(terms: usize) -> Shape {
    let one = || Box::new(Shape::Number(0.1));
    (1..terms).fold(*one(), |sum, _| Shape::Sum(Box::new(sum), one()))
}

fn pixels(count: usize) -> Shape {
    Shape::Pixels(vec![7; count])
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Drawn(Shape);

impl Event for Drawn {
    const MANIFEST: &'static str = "test.drawn";
    const VERSION: u32 = 1;
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Picture(Vec<Drawn>);

impl Snapshot for Picture {
    const MANIFEST: &'static str = "test.picture";
    const VERSION: u32 = 1;
}

fn id() -> PersistenceId {
    PersistenceId::of("Canvas", "1")
}

#[derive(Default)]
struct Canvas {
    picture: Picture,
    from_snapshot: bool,
}

impl Actor for Canvas {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Canvas {
    type Event = Drawn;
    type Snapshot = Picture;

    fn persistence_id(&self) -> PersistenceId {
        id()
    }

    fn on_event(&mut self, event: &Drawn) {
        self.picture.0.push(event.clone());
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Picture>) {
        self.picture = offer.snapshot;
        self.from_snapshot = true;
    }
}

/// Answers with how many shapes there are.
#[derive(Message)]
#[rtype(result = "Result<usize, PersistError>")]
struct Draw(Shape);

impl Handler<Draw> for Canvas {
    type Result = Reply<Draw>;

    fn handle(&mut self, draw: Draw, ctx: &mut Self::Context) -> Reply<Draw> {
        ctx.persist(Drawn(draw.0))
            .reply(|canvas| Ok(canvas.picture.0.len()))
    }
}

/// Answers with the picture, and whether it was in a snapshot.
#[derive(Message)]
#[rtype(result = "(Picture, bool)")]
struct Look;

impl Handler<Look> for Canvas {
    type Result = actix::MessageResult<Look>;

    fn handle(&mut self, _: Look, _: &mut Self::Context) -> Self::Result {
        actix::MessageResult((self.picture.clone(), self.from_snapshot))
    }
}

#[derive(Message)]
#[rtype(result = "()")]
struct Save;

impl Handler<Save> for Canvas {
    type Result = ();

    fn handle(&mut self, _: Save, ctx: &mut Self::Context) {
        ctx.save_snapshot(&self.picture);
    }
}

async fn end(addr: Addr<impl PersistentActor>, environment: &Environment) {
    drop(addr);
    while !environment.live_ids.is_empty() {
        tokio::task::yield_now().await;
    }
}

fn assert_not_encoded(error: &PersistError) {
    assert!(
        matches!(error, PersistError::Rejected(RejectionCause::Encode(_))),
        "{error:?}"
    );
}

#[test]
fn an_event_that_could_not_be_read_again_is_rejected() {
    let infinite = || Shape::Number(f64::INFINITY);
    for (serializer, unreadable) in [
        (Serializer::MessagePack, vec![sum(70)]),
        (
            Serializer::Json,
            vec![sum(70), Shape::Number(f64::NAN), infinite()],
        ),
    ] {
        run(move || async move {
            let storage = MemoryStorage::new();
            let journal = Arc::new(storage.journal());
            let world = World::on(storage, journal, |environment| {
                environment.event_serializer = serializer;
            });
            let canvas = world.start(Canvas::default).unwrap();
            assert_eq!(canvas.send(Draw(sum(50))).await.unwrap().unwrap(), 1);
            for shape in unreadable {
                let error = canvas.send(Draw(shape)).await.unwrap().unwrap_err();
                assert_not_encoded(&error);
            }
            // Floats that a quick parser reads as their neighbours.
            for float in [1.670_784_413_140_552_3, 0.1 + 0.2, -0.0, f64::MIN_POSITIVE] {
                canvas
                    .send(Draw(Shape::Number(float)))
                    .await
                    .unwrap()
                    .unwrap();
            }
            let live = canvas.send(Look).await.unwrap();
            assert_eq!(live.0.0.len(), 5);
            end(canvas, &world.environment).await;
            let canvas = world.start(Canvas::default).unwrap();
            let replayed = canvas.send(Look).await.unwrap();
            assert_eq!(format!("{replayed:?}"), format!("{live:?}"));
        });
    }
}

#[test]
fn events_above_a_limit_that_was_lowered_are_read_and_new_ones_rejected() {
    run(|| async {
        let storage = MemoryStorage::new();
        let limited = |bytes| {
            let capabilities = storage.journal().capabilities().with_max_event_bytes(bytes);
            let journal = ScriptedJournal::with_capabilities(storage.journal(), capabilities);
            World::on(storage.clone(), journal, |_| {})
        };
        let world = limited(2_000_000);
        let canvas = world.start(Canvas::default).unwrap();
        canvas.send(Draw(pixels(1_500_000))).await.unwrap().unwrap();
        end(canvas, &world.environment).await;

        let world = limited(1_000_000);
        let canvas = world.start(Canvas::default).unwrap();
        let error = canvas.send(Draw(pixels(1_500_000))).await.unwrap();
        assert_not_encoded(&error.unwrap_err());
        assert_eq!(canvas.send(Draw(pixels(7))).await.unwrap().unwrap(), 2);
    });
}

#[test]
fn a_snapshot_with_a_plain_list_of_bytes_is_recovered_from() {
    run(|| async {
        let storage = MemoryStorage::new();
        let capabilities = storage.journal().capabilities();
        let capabilities = capabilities.with_max_event_bytes(8_000_000);
        let journal = ScriptedJournal::with_capabilities(storage.journal(), capabilities);
        let world = World::on(storage, journal, |_| {});
        let canvas = world.start(Canvas::default).unwrap();
        canvas.send(Draw(pixels(4_400_000))).await.unwrap().unwrap();
        canvas.send(Save).await.unwrap();
        let (live, _) = canvas.send(Look).await.unwrap();
        let store = world.storage.snapshot_store();
        while store
            .load(&id(), SnapshotCriteria::LATEST)
            .await
            .unwrap()
            .is_none()
        {
            tokio::task::yield_now().await;
        }
        end(canvas, &world.environment).await;
        let canvas = world.start(Canvas::default).unwrap();
        let (picture, from_snapshot) = canvas.send(Look).await.unwrap();
        assert!(picture == live && from_snapshot);
    });
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Poster(Shape);

impl State for Poster {
    const MANIFEST: &'static str = "test.poster";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct Wall(Option<Poster>);

impl Actor for Wall {
    type Context = PersistentContext<Self>;
}

impl DurableState for Wall {
    type State = Poster;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Wall", "1")
    }

    fn on_state(&mut self, state: Option<&Poster>) {
        self.0 = state.cloned();
    }
}

/// Answers with whether a poster of this shape hangs there.
#[derive(Message)]
#[rtype(result = "bool")]
struct Shows(Shape);

impl Handler<Shows> for Wall {
    type Result = bool;

    fn handle(&mut self, shows: Shows, _: &mut Self::Context) -> bool {
        self.0.as_ref().is_some_and(|poster| poster.0 == shows.0)
    }
}

impl Handler<Draw> for Wall {
    type Result = Reply<Draw>;

    fn handle(&mut self, draw: Draw, ctx: &mut Self::Context) -> Reply<Draw> {
        ctx.persist(Poster(draw.0)).reply(|_| Ok(1))
    }
}

#[test]
fn a_state_is_read_as_it_was_acknowledged_or_rejected() {
    run(|| async {
        let world = StateWorld::new();
        let wall = world.start(Wall::default).unwrap();
        wall.send(Draw(pixels(4_300_000))).await.unwrap().unwrap();
        let error = wall.send(Draw(sum(70))).await.unwrap().unwrap_err();
        assert_not_encoded(&error);
        assert!(wall.send(Shows(pixels(4_300_000))).await.unwrap());
        end(wall, &world.environment).await;
        let wall = world.start(Wall::default).unwrap();
        assert!(wall.send(Shows(pixels(4_300_000))).await.unwrap());
    });
}
