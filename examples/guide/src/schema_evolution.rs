//! Follows a parcel through releases of one program, each of which stores its events in another form.
//!
//! ```text
//! cargo run -p guide -- schema_evolution parcels.db first
//! cargo run -p guide -- schema_evolution parcels.db second
//! cargo run -p guide -- schema_evolution parcels.db readers-first
//! cargo run -p guide -- schema_evolution parcels.db today
//! cargo run -p guide -- schema_evolution parcels.db forgetful
//! ```

use std::fmt::Debug;
use std::marker::PhantomData;

use actix::prelude::*;
use actix_persistence::{error::ErrorChain, prelude::*};
use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

/// The first release: the place is one text. Two other kinds of events were tried out and given up.
mod first_release {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Moved {
        pub(crate) to: String,
    }

    /// The whole way of a parcel in one event.
    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Way {
        pub(crate) places: Vec<String>,
    }

    /// Somebody looked where the parcel is.
    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct LookedAt {}

    impl Event for Moved {
        const MANIFEST: &'static str = "parcel.moved";
        const VERSION: u32 = 1;
    }

    impl Event for Way {
        const MANIFEST: &'static str = "parcel.way";
        const VERSION: u32 = 1;
    }

    impl Event for LookedAt {
        const MANIFEST: &'static str = "parcel.looked-at";
        const VERSION: u32 = 1;
    }
}

/// The second release: the country stands for itself.
mod second_release {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Moved {
        pub(crate) city: String,
        pub(crate) country: String,
    }

    impl Event for Moved {
        const MANIFEST: &'static str = "parcel.moved";
        const VERSION: u32 = 2;

        fn upcasters() -> Upcasters<Self> {
            // This page is about the release after it.
            Upcasters::new().since(2)
        }
    }
}

// ANCHOR: event
#[derive(Debug, Serialize, Deserialize)]
struct Moved {
    city: String,
    country: String,
    by: Carrier,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Carrier {
    Post,
    Rail,
}

impl Event for Moved {
    const MANIFEST: &'static str = "parcel.moved";
    const VERSION: u32 = 3;

    fn upcasters() -> Upcasters<Self> {
        let upcasters = Upcasters::new()
            .chain(Chain::of::<Moved1>(1).then::<Moved2>(2))
            .split("parcel.way", Chain::of::<Way1>(1), Way1::moves)
            .retired("parcel.looked-at");
        with_older_readers(upcasters)
    }
}
// ANCHOR_END: event

// ANCHOR: writes
/// Stores version 2 as long as processes are running that do not read version 3.
fn with_older_readers(upcasters: Upcasters<Moved>) -> Upcasters<Moved> {
    if std::env::args().any(|argument| argument == "readers-first") {
        upcasters.writes::<Moved2>(2)
    } else {
        upcasters
    }
}
// ANCHOR_END: writes

// ANCHOR: chain
#[derive(Deserialize)]
struct Moved1 {
    to: String,
}

#[derive(Serialize, Deserialize)]
struct Moved2 {
    city: String,
    country: String,
}

impl From<Moved1> for Moved2 {
    fn from(Moved1 { to }: Moved1) -> Self {
        let (city, country) = to.split_once(", ").unwrap_or((&to, "?"));
        let (city, country) = (city.to_owned(), country.to_owned());
        Self { city, country }
    }
}

impl From<Moved2> for Moved {
    fn from(Moved2 { city, country }: Moved2) -> Self {
        let by = Carrier::Post;
        Self { city, country, by }
    }
}
// ANCHOR_END: chain

// ANCHOR: split
#[derive(Deserialize)]
struct Way1 {
    places: Vec<String>,
}

impl Way1 {
    fn moves(self) -> impl Iterator<Item = Moved> {
        let places = self.places.into_iter().map(|to| Moved1 { to });
        places.map(|place| Moved2::from(place).into())
    }
}
// ANCHOR_END: split

// ANCHOR: down
impl TryFrom<&Moved> for Moved2 {
    type Error = &'static str;

    fn try_from(moved: &Moved) -> Result<Self, Self::Error> {
        if moved.by != Carrier::Post {
            return Err("version 2 knows the post only");
        }
        let (city, country) = (moved.city.clone(), moved.country.clone());
        Ok(Self { city, country })
    }
}
// ANCHOR_END: down

/// A release that forgot the events with a whole way.
mod forgetful_release {
    use super::*;

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Moved {}

    impl From<Moved2> for Moved {
        fn from(_: Moved2) -> Self {
            Self {}
        }
    }

    impl Event for Moved {
        const MANIFEST: &'static str = "parcel.moved";
        const VERSION: u32 = 3;

        fn upcasters() -> Upcasters<Self> {
            Upcasters::new().chain(Chain::of::<Moved1>(1).then::<Moved2>(2))
        }
    }
}

/// A parcel as a release with these events knows it.
struct Parcel<E> {
    recovery: Recovery,
    events: PhantomData<E>,
}

impl<E: Event + Debug + Unpin> Actor for Parcel<E> {
    type Context = PersistentContext<Self>;
}

impl<E: Event + Debug + Unpin> PersistentActor for Parcel<E> {
    type Event = E;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Parcel", "1")
    }

    fn on_event(&mut self, _: &E) {}

    fn on_event_at(&mut self, event: &E, meta: &EventMeta) {
        if meta.replayed {
            println!("{}: {event:?}", meta.sequence_nr);
        }
    }

    fn recovery(&self) -> Recovery {
        self.recovery
    }

    fn recovery_replies(&self) -> RecoveryReplies {
        RecoveryReplies::new().with::<Store<E>>()
    }
}

#[derive(Message)]
#[rtype(result = "Result<SequenceNr, PersistError>")]
struct Store<E: Event>(E);

impl<E: Event + Debug + Unpin> Handler<Store<E>> for Parcel<E> {
    type Result = Reply<Store<E>>;

    fn handle(&mut self, Store(event): Store<E>, ctx: &mut Self::Context) -> Self::Result {
        let persist = ctx.persist(event);
        persist.reply_with(|_, ctx| Ok(ctx.last_sequence_nr()))
    }
}

/// Lets a release print what it reads, and store these events.
async fn run<E: Event + Debug + Unpin>(
    persistence: &Persistence,
    recovery: Recovery,
    events: impl IntoIterator<Item = E>,
) -> anyhow::Result<()> {
    let parcel = move || Parcel {
        recovery,
        events: PhantomData::<E>,
    };
    let parcel = persistence.start_when_stopped(parcel).await?;
    for event in events {
        match parcel.send(Store(event)).await? {
            Ok(number) => println!("stored as {number}"),
            Err(error) => println!("error: {}", ErrorChain(&error)),
        }
    }
    Ok(())
}

fn moved(city: &str, by: Carrier) -> Moved {
    let (city, country) = (city.to_owned(), "FR".to_owned());
    Moved { city, country, by }
}

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(2);
    let database = arguments.next().context("the file of the database")?;
    let release = arguments.next().context("the release of the program")?;
    let persistence = Persistence::sqlite(database).await?;
    match release.as_str() {
        "first" => {
            let to = "Berlin, DE".to_owned();
            let none = Recovery::none();
            run(&persistence, none, [first_release::Moved { to }]).await?;
            let places = ["Aachen, DE", "Mons, BE"].map(str::to_owned).to_vec();
            run(&persistence, none, [first_release::Way { places }]).await?;
            run(&persistence, none, [first_release::LookedAt {}]).await
        }
        "second" => {
            let (city, country) = ("Lille".to_owned(), "FR".to_owned());
            let moved = second_release::Moved { city, country };
            run(&persistence, Recovery::none(), [moved]).await
        }
        "readers-first" | "today" => {
            let moved = [moved("Paris", Carrier::Post), moved("Lyon", Carrier::Rail)];
            run(&persistence, Recovery::default(), moved).await
        }
        "forgetful" => {
            let moved = forgetful_release::Moved {};
            run(&persistence, Recovery::default(), [moved]).await
        }
        other => bail!("there is no release {other:?}"),
    }
}
