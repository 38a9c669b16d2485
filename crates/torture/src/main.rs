//! Enters numbers into the books of a few ids until its standard input ends, and tells every answer on its standard output.
//!
//! Made to fight with others of its kind, to be stopped and to be killed; the tests run it as
//! `fighter CONFIG CLIENT EVERY KEEP NEXT..`, with the next number of this client for each id.

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::io::{self, Write};
use std::rc::Rc;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::{CleanupError, Config, ReplayError};
use actix_persistence_torture::{Enter, Ledger, Retaining};

/// How long the program waits in the end for what is under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);
/// An actor gets so many commands at most before something else is done with its id.
const LONGEST_BURST: u32 = 60;
/// The longest pause of a client, which lets others in between.
const LONGEST_PAUSE: Duration = Duration::from_millis(4);

/// What became of an entry.
type Answer = Result<Result<SequenceNr, PersistError>, MailboxError>;

/// One id, and what this process has done to it.
struct Client {
    persistence: Persistence,
    number: u32,
    id: usize,
    retaining: Retaining,
    /// The next number that it enters.
    next: u64,
    /// The highest number, and the highest event, that were acknowledged.
    acknowledged: Option<(u64, SequenceNr)>,
    ended: Rc<Cell<bool>>,
}

#[actix::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let log = tracing_subscriber::fmt().with_writer(io::stderr);
    log.with_ansi(false).init();
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [config, number, every, keep, next @ ..] = &arguments[..] else {
        return Err("usage: fighter CONFIG CLIENT EVERY KEEP NEXT..".into());
    };
    let retaining = Retaining {
        every: every.parse()?,
        keep: keep.parse()?,
    };
    let persistence = Persistence::open(Config::from_file(config)?).await?;
    let ended = Rc::new(Cell::new(false));
    let mut clients = Vec::new();
    for (id, next) in next.iter().enumerate() {
        let client = Client {
            persistence: persistence.clone(),
            number: number.parse()?,
            id,
            retaining,
            next: next.parse()?,
            acknowledged: None,
            ended: Rc::clone(&ended),
        };
        clients.push(actix::spawn(client.work()));
    }
    // It also ends with whoever started us.
    tokio::io::copy(&mut tokio::io::stdin(), &mut tokio::io::sink()).await?;
    ended.set(true);
    for client in clients {
        client.await?;
    }
    let report = persistence.stop(STOP_DEADLINE).await;
    if report.is_complete() {
        Ok(())
    } else {
        Err(report.to_string().into())
    }
}

impl Client {
    async fn work(mut self) {
        while !self.ended.get() {
            let ledger = self.start().await;
            for _ in 0..fastrand::u32(1..=LONGEST_BURST) {
                if self.ended.get() {
                    return;
                }
                self.enter(&ledger).await;
                if fastrand::bool() {
                    tokio::time::sleep(LONGEST_PAUSE.mul_f64(fastrand::f64())).await;
                }
            }
            match fastrand::u8(..4) {
                0 => self.look().await,
                1 => self.clean_up().await,
                // A look beside the retention of this process.
                2 => {
                    let ((), answer) = tokio::join!(self.look(), ledger.send(self.entry()));
                    self.is_decided(answer);
                }
                // The actor ends when its address is dropped, and recovers again.
                _ => {}
            }
        }
    }

    fn ledger(&self) -> Ledger {
        Ledger::named(self.id.to_string())
            .retaining(self.retaining)
            .telling(tell_of_recovery)
    }

    /// Waits until the actor of before is gone.
    async fn start(&self) -> Addr<Ledger> {
        let ledger = self.ledger();
        loop {
            match self.persistence.start({
                let ledger = ledger.clone();
                move || ledger.clone()
            }) {
                Ok(ledger) => return ledger,
                Err(StartError::AlreadyRunning(_)) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn entry(&self) -> Enter {
        Enter {
            client: self.number,
            number: self.next,
        }
    }

    /// Sends the same entry again whenever it is certainly not stored.
    async fn enter(&mut self, ledger: &Addr<Ledger>) {
        while !self.ended.get() {
            let answer = ledger.send(self.entry()).await;
            if self.is_decided(answer) {
                return;
            }
        }
    }

    /// Takes note of what became of the next entry; false if it is certainly not stored.
    fn is_decided(&mut self, answer: Answer) -> bool {
        let (id, number) = (self.id, self.next);
        match answer {
            Ok(Ok(event)) => {
                tell(format_args!("acknowledged {id} {number} {event}"));
                self.acknowledged = Some((number, event));
            }
            Ok(Err(PersistError::Conflict(_))) => {
                tell(format_args!("conflict {id}"));
                return false;
            }
            Ok(Err(error)) if error.is_certainly_not_stored() => {
                tell(format_args!("not-stored {id}"));
                return false;
            }
            // Nobody knows, so that this number is never used again.
            Ok(Err(_)) | Err(_) => tell(format_args!("unsure {id} {number}")),
        }
        self.next += 1;
        true
    }

    /// What a look shows is a state that there was, and none from before an acknowledged entry.
    async fn look(&self) {
        let acknowledged = self.acknowledged;
        let replayed = match self.persistence.replay(self.ledger()).await {
            Ok(replayed) => replayed,
            Err(ReplayError::Recovery(error)) => return tell_of_recovery(&error),
            Err(error) => return tell(format_args!("fault {error}")),
        };
        let book = replayed.actor.book;
        if let Err(fault) = book.check(replayed.sequence_nr) {
            tell(format_args!("fault a look shows {fault}"));
        }
        if let Some((number, event)) = acknowledged
            && (!book.has(self.number, number) || replayed.sequence_nr < event)
        {
            let at = replayed.sequence_nr;
            tell(format_args!(
                "fault a look at event {at} lacks entry {number}, which was event {event}"
            ));
        }
        tell(format_args!("look {}", self.id));
    }

    async fn clean_up(&self) {
        let id = self.ledger().persistence_id();
        match self
            .persistence
            .cleanup()
            .cleanup_before_snapshot(&id)
            .await
        {
            Ok(()) => tell(format_args!("cleaned-up {}", self.id)),
            // The database is busy with others.
            Err(CleanupError::Storage(error)) => eprintln!("cleanup of {id}: {error}"),
            Err(error) => tell(format_args!("fault cleanup of {id}: {error}")),
        }
    }
}

/// A database that is busy, and events that were deleted meanwhile, are no faults: the actor recovers once more.
fn tell_of_recovery(error: &RecoveryError) {
    if error.is_curable_by_waiting() || matches!(error, RecoveryError::Overtaken { .. }) {
        tell(format_args!("again"));
    } else {
        tell(format_args!("fault {error}"));
    }
}

/// One call of the system, so that whoever is killed in it leaves a line without its end.
fn tell(what: fmt::Arguments<'_>) {
    let line = format!("{}\n", what.to_string().replace('\n', " "));
    // Whoever listens may be gone already; then this process ends as well.
    let _ = io::stdout().write_all(line.as_bytes());
}
