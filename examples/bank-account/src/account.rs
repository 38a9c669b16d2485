//! The domain: an account, what is booked on it, and what became of that.

mod older_forms;

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use actix::{Actor, Handler, Message};
use actix_persistence::prelude::*;
use serde::{Deserialize, Serialize};

use crate::Month;
use older_forms::{Balance1, Batch, Decided1, Decided2};

/// A snapshot is taken whenever this many more events are stored.
const SNAPSHOT_EVERY: u64 = 100;
/// The most cents that an account may hold: those that fit in a `BIGINT` of the table of balances.
const MAX_CENTS: u64 = i64::MAX as u64;

/// The direction in which money moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// The money comes to the account.
    Deposit,
    /// The money goes from the account.
    Withdraw,
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "deposit" => Ok(Kind::Deposit),
            "withdraw" => Ok(Kind::Withdraw),
            other => Err(format!("the kind is deposit or withdraw, not {other:?}")),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Deposit => "deposit",
            Kind::Withdraw => "withdraw",
        })
    }
}

/// The decision about one line of a file; final.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Decided {
    /// The id in the line.
    pub id: String,
    /// The direction that is asked for.
    pub kind: Kind,
    /// The amount, in cents.
    pub cents: u64,
    /// True if it did: not if there was not enough, or no room for more.
    pub applied: bool,
}

impl Event for Decided {
    const MANIFEST: &'static str = "bank.decided";
    const VERSION: u32 = 3;

    fn upcasters() -> Upcasters<Self> {
        Upcasters::new()
            .chain(Chain::of::<Decided1>(1).then::<Decided2>(2))
            .renamed("account.booked", 1)
            .split("bank.batch", Chain::of::<Batch>(1), Batch::decisions)
            .retired("bank.inquired")
    }
}

/// The state: what the account holds, and which lines it has decided about.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Balance {
    cents: u64,
    decided: HashSet<String>,
}

impl Balance {
    /// The balance of an account that has decided about these lines.
    pub fn new(cents: u64, decided: impl IntoIterator<Item = String>) -> Self {
        let decided = decided.into_iter().collect();
        Self { cents, decided }
    }
}

impl Snapshot for Balance {
    const MANIFEST: &'static str = "bank.balance";
    const VERSION: u32 = 2;

    fn upcasters() -> StateUpcasters<Self> {
        StateUpcasters::new().chain(Chain::of::<Balance1>(1))
    }
}

/// An account of the bank.
pub struct Account {
    name: String,
    balance: Balance,
}

impl Account {
    /// The text before the `|` of its persistence ids.
    pub const ENTITY_TYPE: &'static str = "Account";

    /// An empty account of this name; what was booked on it comes from the journal.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            balance: Balance::default(),
        }
    }

    /// The id under which an account of this name is stored.
    pub fn id_of(name: &str) -> PersistenceId {
        PersistenceId::of(Self::ENTITY_TYPE, name)
    }

    /// Returns its balance, in cents.
    pub fn cents(&self) -> u64 {
        self.balance.cents
    }

    /// Returns whether a booking is possible: there is enough money for it, and room for more.
    fn allows(&self, kind: Kind, cents: u64) -> bool {
        self.after(kind, cents)
            .is_some_and(|after| kind == Kind::Withdraw || after <= MAX_CENTS)
    }

    /// Returns the balance after a booking; none if no balance is that.
    fn after(&self, kind: Kind, cents: u64) -> Option<u64> {
        match kind {
            Kind::Deposit => self.balance.cents.checked_add(cents),
            Kind::Withdraw => self.balance.cents.checked_sub(cents),
        }
    }
}

impl Actor for Account {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Account {
    type Event = Decided;
    type Snapshot = Balance;

    fn persistence_id(&self) -> PersistenceId {
        Self::id_of(&self.name)
    }

    fn on_event(&mut self, event: &Decided) {
        if event.applied
            && let Some(cents) = self.after(event.kind, event.cents)
        {
            self.balance.cents = cents;
        }
        self.balance.decided.insert(event.id.clone());
    }

    fn on_snapshot(&mut self, offer: SnapshotOffer<Balance>) {
        self.balance = offer.snapshot;
    }

    /// The month of the booking, by which statements find it.
    fn tags(&self, _: &Decided) -> Vec<String> {
        vec![Month::now().to_string()]
    }

    fn retention(&self) -> Option<Retention<Self>> {
        Some(
            Retention::snapshot_every(SNAPSHOT_EVERY, |account: &Self| account.balance.clone())
                .with_kept_snapshots(1),
        )
    }
}

/// Books money on the account, once per `id`: sending it again is safe.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Booked, BookError>")]
pub struct Book {
    /// The id of this booking, unique for the account.
    pub id: String,
    /// The direction in which money moves.
    pub kind: Kind,
    /// The amount, in cents.
    pub cents: u64,
}

/// The result of a booking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Booked {
    /// The account holds more or less now.
    Applied,
    /// The booking was refused: not enough money, or no room for more.
    Refused,
    /// The booking was decided before, and stays so.
    Duplicate,
}

impl Booked {
    /// Returns the result in one word.
    pub fn name(self) -> &'static str {
        match self {
            Booked::Applied => "applied",
            Booked::Refused => "refused",
            Booked::Duplicate => "duplicate",
        }
    }
}

/// The reason why the result of a booking is not known.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The decision was not stored, or it is not known whether it was.
    #[error(transparent)]
    Persist(#[from] PersistError),
}

impl BookError {
    /// Returns the reason in a word or two.
    pub fn name(&self) -> &'static str {
        let BookError::Persist(error) = self;
        match error {
            PersistError::Rejected(_) => "rejected",
            PersistError::Conflict(_) => "conflict",
            PersistError::NotStored(_) => "not stored",
            PersistError::Unknown(_) => "unknown",
            _ => "failed",
        }
    }

    /// Returns whether the same booking may be decided when it is sent again.
    ///
    /// After a conflict the account knows what the other process has booked; a database that is away comes back.
    pub fn is_passing(&self) -> bool {
        let BookError::Persist(error) = self;
        match error {
            PersistError::Conflict(_) => true,
            PersistError::NotStored(cause) | PersistError::Unknown(cause) => {
                cause.kind().is_transient()
            }
            _ => false,
        }
    }
}

impl Handler<Book> for Account {
    type Result = Reply<Book>;

    fn handle(&mut self, book: Book, ctx: &mut Self::Context) -> Reply<Book> {
        if self.balance.decided.contains(&book.id) {
            return Reply::now(Ok(Booked::Duplicate));
        }
        let applied = self.allows(book.kind, book.cents);
        let decided = Decided {
            id: book.id,
            kind: book.kind,
            cents: book.cents,
            applied,
        };
        ctx.persist(decided).reply(move |_| {
            Ok(match applied {
                true => Booked::Applied,
                false => Booked::Refused,
            })
        })
    }
}
