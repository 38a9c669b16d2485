//! Counts what passes a gate, with events in CBOR: a format that the program registers and its config names.
//!
//! ```text
//! cargo run -p guide -- serializers gate.db 3 4
//! ```
//!
//! Each number is a group that passes. Run it again: it goes on counting.

use std::error::Error;
use std::io::Write;

use actix::prelude::*;
use actix_persistence::{
    Config,
    payload::{ReadValue, SerdeFormat, erased_serde},
    prelude::*,
};
use cbor4ii::core::dec::Read;
use cbor4ii::core::utils::{IoWriter, SliceReader};
use serde::{Deserialize, Serialize};

// ANCHOR: format
struct Cbor;

impl SerdeFormat for Cbor {
    /// Stands beside every event in the database: never give it another meaning.
    fn id(&self) -> u32 {
        1_000
    }

    /// The name by which a config chooses it.
    fn name(&self) -> &str {
        "cbor"
    }

    fn encode(
        &self,
        value: &dyn erased_serde::Serialize,
        out: &mut dyn Write,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut cbor = cbor4ii::serde::Serializer::new(IoWriter::new(out));
        erased_serde::serialize(value, &mut cbor).map_err(|error| error.to_string().into())
    }

    fn decode(
        &self,
        bytes: &[u8],
        read: &mut ReadValue<'_>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut cbor = cbor4ii::serde::Deserializer::new(SliceReader::new(bytes));
        read(&mut <dyn erased_serde::Deserializer<'_>>::erase(&mut cbor))?;
        if cbor.into_inner().fill(1)?.as_ref().is_empty() {
            Ok(())
        } else {
            Err("bytes after the value".into())
        }
    }
}
// ANCHOR_END: format

#[derive(Serialize, Deserialize)]
struct Passed {
    people: u64,
}

impl Event for Passed {
    const MANIFEST: &'static str = "gate.passed";
    const VERSION: u32 = 1;
}

#[derive(Default)]
struct Gate {
    people: u64,
}

impl Actor for Gate {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Gate {
    type Event = Passed;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Gate", "north")
    }

    fn on_event(&mut self, event: &Passed) {
        self.people += event.people;
    }
}

/// Answers with all people so far.
#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
struct Pass {
    people: u64,
}

impl Handler<Pass> for Gate {
    type Result = Reply<Pass>;

    fn handle(&mut self, Pass { people }: Pass, ctx: &mut Self::Context) -> Reply<Pass> {
        ctx.persist(Passed { people }).reply(|gate| Ok(gate.people))
    }
}

#[actix::main]
pub(crate) async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(2);
    let database = arguments.next().unwrap_or_else(|| "gate.db".to_owned());
    // ANCHOR: open
    let config = Config::new().with("persistence.journal.sqlite.serializer", "cbor");
    let persistence = Persistence::builder()
        .sqlite(&database)
        .config(config)
        .serializer(Cbor)
        .open()
        .await?;
    // ANCHOR_END: open
    let gate = persistence.start(Gate::default)?;
    for group in arguments {
        let people = gate
            .send(Pass {
                people: group.parse()?,
            })
            .await??;
        println!("{people} people");
    }
    Ok(())
}
