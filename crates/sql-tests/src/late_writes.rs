//! Writes that arrive when somebody else has the id.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    Journal, PersistenceId, SequenceNr, StorageError, TakenOver, WriteOutcome, WriterId,
};
use actix_persistence_test_servers::{Direction, FaultProxy, Flow};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::OpenJournal;
use crate::writer::{Writer, events};

/// The tenths of its bytes after which a write is held back: one of several statements is held between them somewhere,
/// and in the end before the last byte.
const HELD_AFTER: [usize; 5] = [0, 3, 6, 9, 10];
/// The number of events before the late one.
const EARLY: SequenceNr = 2;
/// The longest time that anything may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// A take-over that takes longer is kept out by what the late write has locked.
const KEPT_OUT: Duration = Duration::from_millis(500);
/// The interval of attempts and looks.
const INTERVAL: Duration = Duration::from_millis(10);

/// The way in which a write becomes late.
#[derive(Clone, Copy, Debug)]
struct Scene {
    /// True if its client is gone when it arrives; one that is not goes on with it then.
    client_is_gone: bool,
    delivered: Delivered,
    /// The tenths of its bytes after which the write is held back, one of [`HELD_AFTER`].
    tenths: usize,
}

/// The time at which the held-back bytes are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivered {
    /// Delivered before the id is taken over elsewhere.
    First,
    /// Delivered after that, while its number is still free.
    AfterTakeOver,
    /// Delivered after another event has its number.
    AfterWrite,
}

use Delivered::{AfterTakeOver, AfterWrite, First};

/// Holds writes back at many points, each until its id was taken over elsewhere.
///
/// A write that such a take-over has seen stays, any other must never be stored, and a client that is still there
/// gets a true answer.
///
/// # Panics
/// If an event is stored that must not be, or lost, or if no write is late.
pub fn late_writes_are_refused(url: &str, open: &OpenJournal) {
    runtime().block_on(async {
        let elsewhere = open(url);
        elsewhere.initialize().await.expect("the server answers");
        for client_is_gone in [true, false] {
            let mut fates = Vec::new();
            for delivered in [First, AfterTakeOver, AfterWrite] {
                for tenths in HELD_AFTER {
                    let scene = Scene {
                        client_is_gone,
                        delivered,
                        tenths,
                    };
                    let is_stored = scene.play(url, open, &elsewhere).await;
                    fates.push((delivered, tenths, is_stored));
                }
            }
            // Without the first the others would prove nothing.
            for expected in [(First, true), (AfterTakeOver, false), (AfterWrite, false)] {
                let found = fates.iter().any(|fate| (fate.0, fate.2) == expected);
                assert!(found, "never {expected:?}: {fates:?}");
            }
        }
    });
}

impl Scene {
    /// Returns whether the late write was stored, and the take-over has seen that.
    async fn play(self, url: &str, open: &OpenJournal, elsewhere: &Arc<dyn Journal>) -> bool {
        let id = PersistenceId::of("Late", &WriterId::random().to_string());
        let network = FaultProxy::start(port(url)).expect("a port is free");
        let client = Client::open(open, &network.url(url));
        let mut late = client.writes_late(&id, network, self.tenths).await;
        if self.client_is_gone {
            late.client.take().expect("it is there").disappears();
        }

        if self.delivered == First {
            late.is_delivered().await;
        }
        let (writer, taken) = late.kept_back_while_taking_over(elsewhere, &id).await;
        if self.delivered == AfterTakeOver {
            late.is_delivered().await;
        }
        let highest = taken.highest_sequence_nr;
        assert!((EARLY..=EARLY + 1).contains(&highest), "{taken:?}");

        let mut expected: Vec<_> = (1..=highest)
            .map(|number| (number, late.writer.writer))
            .collect();
        for number in highest + 1..=highest + 2 {
            let outcome = writer.write(&**elsewhere, number).await;
            let is_stored = outcome.as_ref().is_ok_and(WriteOutcome::is_stored);
            assert!(is_stored, "{self:?}: {outcome:?}");
            expected.push((number, writer.writer));
            // Between the two events, if it was not before.
            late.is_delivered().await;
            let found = events(&**elsewhere, &id).await.expect("the server answers");
            assert_eq!(found, expected, "{self:?}");
        }
        let is_stored = highest > EARLY;
        late.was_told(is_stored, self);
        is_stored
    }
}

/// A client whose connections go through a network.
struct Client {
    runtime: Runtime,
    journal: Arc<dyn Journal>,
}

/// A write that is held back.
struct Late {
    writer: Writer,
    network: FaultProxy,
    client: Option<Client>,
    write: JoinHandle<Result<WriteOutcome, StorageError>>,
    /// The outcome of the write, if the client still exists to receive it.
    told: Option<Result<WriteOutcome, StorageError>>,
}

impl Client {
    fn open(open: &OpenJournal, url: &str) -> Self {
        let runtime = runtime();
        let entered = runtime.enter();
        let journal = open(url);
        drop(entered);
        Self { runtime, journal }
    }

    /// Stores some events, and returns while the next one is held back.
    async fn writes_late(self, id: &PersistenceId, network: FaultProxy, tenths: usize) -> Late {
        let passed = || network.passed(Direction::Requests);
        let writer = self.takes_over(id).await;
        let mut length = 0;
        for number in 1..=EARLY {
            let before = passed();
            let outcome = self.writes(&writer, number).await.expect("no panic");
            let is_stored = outcome.as_ref().is_ok_and(WriteOutcome::is_stored);
            assert!(is_stored, "{outcome:?}");
            length = passed() - before;
        }
        // All writes have the same length, but for the first, which prepares statements.
        let passes = (length * tenths / 10).min(length - 1);
        let until = passed() + passes;
        network.set(Direction::Requests, Flow::HoldAfter(passes));
        let write = self.writes(&writer, EARLY + 1);
        reaches("the point at which a write is held", || {
            passed() == until && network.held(Direction::Requests) > 0
        })
        .await;
        Late {
            writer,
            network,
            client: Some(self),
            write,
            told: None,
        }
    }

    async fn takes_over(&self, id: &PersistenceId) -> Writer {
        let (journal, id) = (Arc::clone(&self.journal), id.clone());
        let take_over = self.runtime.spawn(async move {
            journal.initialize().await?;
            // Ends what the journal does by itself: from here on every byte belongs to a call of the test.
            journal.close().await;
            Writer::take_over(&*journal, &id).await
        });
        let taken = take_over.await.expect("no panic");
        taken.expect("the server answers").0
    }

    fn writes(
        &self,
        writer: &Writer,
        number: SequenceNr,
    ) -> JoinHandle<Result<WriteOutcome, StorageError>> {
        let (journal, writer) = (Arc::clone(&self.journal), writer.clone());
        self.runtime
            .spawn(async move { writer.write(&*journal, number).await })
    }

    /// Ends the client with everything that it has open.
    fn disappears(self) {
        drop(self.journal);
        self.runtime.shutdown_background();
    }
}

impl Late {
    /// Delivers what was held back, and waits until the server is done with it.
    async fn is_delivered(&mut self) {
        self.network.pass();
        if self.client.is_none() {
            reaches(
                "the end of the connections of a client that is gone",
                || self.network.connections() == 0,
            )
            .await;
        } else if self.told.is_none() {
            let told = timeout(PATIENCE, &mut self.write).await;
            self.told = Some(told.expect("every write is answered").expect("no panic"));
        }
    }

    /// Takes the id over elsewhere, with the write delivered only if it keeps everybody out.
    async fn kept_back_while_taking_over(
        &self,
        elsewhere: &Arc<dyn Journal>,
        id: &PersistenceId,
    ) -> (Writer, TakenOver) {
        let mut take_over = tokio::spawn(takes_over(Arc::clone(elsewhere), id.clone()));
        let in_time = timeout(KEPT_OUT, &mut take_over).await;
        if in_time.is_err() {
            self.network.pass();
        }
        let taken = match in_time {
            Ok(taken) => taken,
            Err(_) => take_over.await,
        };
        taken.expect("no panic")
    }

    /// The client may hear that the outcome is unknown, but nothing wrong.
    fn was_told(self, is_stored: bool, scene: Scene) {
        let is_true = match &self.told {
            Some(Ok(WriteOutcome::Stored)) => is_stored,
            Some(Ok(WriteOutcome::Failed(error)) | Err(error)) => {
                !is_stored || !error.is_not_stored()
            }
            Some(Ok(_)) => false,
            None => self.client.is_none(),
        };
        assert!(is_true, "{scene:?} told {:?}", self.told);
        if let Some(client) = self.client {
            client.disappears();
        }
    }
}

/// Takes the id over, again and again while that fails for a reason that may pass.
async fn takes_over(journal: Arc<dyn Journal>, id: PersistenceId) -> (Writer, TakenOver) {
    let started = Instant::now();
    loop {
        match Writer::take_over(&*journal, &id).await {
            Ok(taken) => return taken,
            Err(error) => {
                let may_pass = error.kind().is_transient() && started.elapsed() < PATIENCE;
                assert!(may_pass, "{error:?}");
                sleep(INTERVAL).await;
            }
        }
    }
}

async fn reaches(what: &str, condition: impl Fn() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < PATIENCE, "never reaches {what}");
        sleep(INTERVAL).await;
    }
}

fn runtime() -> Runtime {
    let mut runtime = Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build();
    runtime.expect("the system has another thread")
}

/// Returns the port of the server in a URL.
pub(crate) fn port(url: &str) -> u16 {
    let (_, rest) = url
        .rsplit_once("@127.0.0.1:")
        .expect("a proxy stands in front of a server on 127.0.0.1");
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
    let port = digits.and_then(|digits| digits.parse().ok());
    port.expect("the URL has a port")
}
