//! A bank that forgets one of its upcasters says so, and skips nothing.

use actix::{Actor, Handler, Message};
use actix_persistence::error::ErrorChain;
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

use super::FILE;

/// The declaration that is left out.
const VERSION_1: usize = 0;
const VERSION_1_AS_NEVER_STORED: usize = 1;
const FIRST_NAME: usize = 2;
const BATCH: usize = 3;
const INQUIRED: usize = 4;
const NOTHING: usize = 5;

/// A decision, as far as this test is about it.
#[derive(Serialize, Deserialize)]
struct Decided<const FORGOTTEN: usize> {}

/// An event of whatever form.
#[derive(Deserialize)]
struct Older {}

impl<const FORGOTTEN: usize> From<Older> for Decided<FORGOTTEN> {
    fn from(Older {}: Older) -> Self {
        Self {}
    }
}

impl<const FORGOTTEN: usize> Event for Decided<FORGOTTEN> {
    const MANIFEST: &'static str = "bank.decided";
    const VERSION: u32 = 3;

    fn upcasters() -> Upcasters<Self> {
        let mut all = match FORGOTTEN {
            VERSION_1 => Upcasters::new().chain(Chain::of::<Older>(2)),
            VERSION_1_AS_NEVER_STORED => Upcasters::new().since(2).chain(Chain::of::<Older>(2)),
            _ => Upcasters::new().chain(Chain::of::<Older>(1).then::<Older>(2)),
        };
        if FORGOTTEN != FIRST_NAME {
            all = all.chain_of("account.booked", Chain::of::<Older>(1));
        }
        if FORGOTTEN != BATCH {
            all = all.split("bank.batch", Chain::of::<Older>(1), |older| [older.into()]);
        }
        if FORGOTTEN != INQUIRED {
            all = all.retired("bank.inquired");
        }
        all
    }
}

struct Account<const FORGOTTEN: usize>;

impl<const FORGOTTEN: usize> Actor for Account<FORGOTTEN> {
    type Context = PersistentContext<Self>;
}

impl<const FORGOTTEN: usize> PersistentActor for Account<FORGOTTEN> {
    type Event = Decided<FORGOTTEN>;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Account", "DE-2001")
    }

    fn on_event(&mut self, _: &Self::Event) {}

    fn recovery_replies(&self) -> RecoveryReplies {
        RecoveryReplies::new().with::<Decide>()
    }
}

#[derive(Message)]
#[rtype(result = "Result<SequenceNr, PersistError>")]
struct Decide;

impl<const FORGOTTEN: usize> Handler<Decide> for Account<FORGOTTEN> {
    type Result = Reply<Decide>;

    fn handle(&mut self, _: Decide, ctx: &mut Self::Context) -> Self::Result {
        let persist = ctx.persist(Decided {});
        persist.reply_with(|_, ctx| Ok(ctx.last_sequence_nr()))
    }
}

/// Returns the number of the next event of a bank that forgets this, or the reason why there is none.
fn decide<const FORGOTTEN: usize>() -> Result<SequenceNr, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bank.db");
    std::fs::write(&file, FILE).unwrap();
    actix::System::new().block_on(async move {
        let bank = Persistence::sqlite(&file).await.unwrap();
        let account = bank.start(|| Account::<FORGOTTEN>);
        let account = account.map_err(|error| ErrorChain(&error).to_string())?;
        let answer = account.send(Decide).await.unwrap();
        answer.map_err(|error| ErrorChain(&error).to_string())
    })
}

#[test]
fn each_step_that_is_removed_is_missed() {
    assert_eq!(decide::<NOTHING>(), Ok(10));
    let start = "the actor with the persistence id \"Account|DE-2001\" cannot read what older programs have stored: the \
                 upcasters of \"bank.decided\", version 3, cannot be: nothing reads version 1 of \"bank.decided\"";
    let told = decide::<VERSION_1>().unwrap_err();
    assert!(told.starts_with(start), "{told}");

    let booked = "version 1 of \"account.booked\"";
    let batch = "version 1 of \"bank.batch\"";
    let decided = "versions 1 to 3 of \"bank.decided\"";
    let inquired = "every version of \"bank.inquired\" as nothing";
    for (told, event, manifest, cause, reads) in [
        (
            decide::<VERSION_1_AS_NEVER_STORED>(),
            3,
            "bank.decided:v1",
            "no step reads version 1 of \"bank.decided\"",
            [
                booked,
                batch,
                "versions 2 to 3 of \"bank.decided\"",
                inquired,
            ]
            .join(", "),
        ),
        (
            decide::<FIRST_NAME>(),
            1,
            "account.booked:v1",
            "unknown manifest \"account.booked:v1\"",
            [batch, decided, inquired].join(", "),
        ),
        (
            decide::<BATCH>(),
            6,
            "bank.batch:v1",
            "unknown manifest \"bank.batch:v1\"",
            [booked, decided, inquired].join(", "),
        ),
        (
            decide::<INQUIRED>(),
            7,
            "bank.inquired:v1",
            "unknown manifest \"bank.inquired:v1\"",
            [booked, batch, decided].join(", "),
        ),
    ] {
        let expected = format!(
            "the command was not processed, because its actor could not be recovered: could not decode event {event} of \
             \"Account|DE-2001\", stored by serializer 1 as {manifest:?}: {cause}; this program reads {reads}"
        );
        assert_eq!(told.unwrap_err(), expected);
    }
}
