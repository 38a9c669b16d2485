//! Writes that arrive when their client is gone and somebody else has the id.

use std::sync::Arc;
use std::time::Duration;

use actix_persistence_storage_api::{
    Journal, PersistenceId, Recovered, SequenceNr, StorageError, WriterId,
};
use actix_persistence_test_servers::{Direction, FaultProxy, Flow};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep, timeout};

use crate::OpenJournal;
use crate::writer::{Writer, events};

/// After how many tenths of its bytes a write is held back: one of several statements is held between them somewhere,
/// and in the end before the last byte.
const HELD_AFTER: [usize; 6] = [0, 2, 4, 6, 8, 10];
/// How many events there are before the late one.
const EARLY: SequenceNr = 2;
/// How long anything may take on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// A recovery that takes longer is kept out by what the late write has locked.
const KEPT_OUT: Duration = Duration::from_secs(1);
/// How often it is tried again, and everything looked after.
const INTERVAL: Duration = Duration::from_millis(10);

/// When what was held back is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivered {
    /// Before the id is recovered elsewhere.
    First,
    /// After that, so that its number is still free.
    AfterRecovery,
    /// After another event has its number.
    AfterWrite,
}

use Delivered::{AfterRecovery, AfterWrite, First};

/// Holds writes back at many points, each until its client is gone and its id was recovered elsewhere.
///
/// What such a recovery has seen stays, and what it has not seen must never be stored.
///
/// # Panics
/// If an event is stored that must not be, or lost, or if no write is late.
pub fn late_writes_are_refused(url: &str, open: &OpenJournal) {
    runtime().block_on(async {
        let mut fates = Vec::new();
        for delivered in [First, AfterRecovery, AfterWrite] {
            for tenths in HELD_AFTER {
                let fate = is_stored(url, open, delivered, tenths).await;
                fates.push((delivered, tenths, fate));
            }
        }
        // Without the first the others would prove nothing.
        for expected in [(First, true), (AfterRecovery, false), (AfterWrite, false)] {
            let found = fates.iter().any(|fate| (fate.0, fate.2) == expected);
            assert!(found, "never {expected:?}: {fates:?}");
        }
    });
}

/// Makes one write late, and gives whether the recovery has seen it.
async fn is_stored(url: &str, open: &OpenJournal, delivered: Delivered, tenths: usize) -> bool {
    let network = FaultProxy::start(port(url)).expect("a port is free");
    let elsewhere = open(url);
    elsewhere.initialize().await.expect("the server answers");
    let id = PersistenceId::of("Late", &WriterId::random().to_string());

    let client = Client::open(open, &network.url(url));
    let late = client.writes_late(&id, &network, tenths).await;
    client.disappears();

    if delivered == First {
        delivers(&network).await;
    }
    let (writer, recovered) = recovers_before_delivery(&elsewhere, &id, &network).await;
    if delivered == AfterRecovery {
        delivers(&network).await;
    }
    let highest = recovered.highest_sequence_nr;
    assert!((EARLY..=EARLY + 1).contains(&highest), "{recovered:?}");

    let mut expected: Vec<_> = (1..=highest).map(|number| (number, late.writer)).collect();
    for number in highest + 1..=highest + 2 {
        let outcome = writer.write(&*elsewhere, number).await;
        let is_stored = outcome.as_ref().is_ok_and(|outcome| outcome.is_stored());
        assert!(
            is_stored,
            "{delivered:?}, held after {tenths} tenths: {outcome:?}"
        );
        expected.push((number, writer.writer));
        // Between the two events, if it was not before.
        delivers(&network).await;
        let found = events(&*elsewhere, &id).await.expect("the server answers");
        assert_eq!(found, expected, "{delivered:?}, held after {tenths} tenths");
    }
    highest > EARLY
}

/// Whose connections go through a network, and who disappears with all of them.
struct Client {
    runtime: Runtime,
    journal: Arc<dyn Journal>,
}

impl Client {
    fn open(open: &OpenJournal, url: &str) -> Self {
        let runtime = runtime();
        let entered = runtime.enter();
        let journal = open(url);
        drop(entered);
        Self { runtime, journal }
    }

    /// Stores some events, and gives their writer while its next one is held back.
    async fn writes_late(&self, id: &PersistenceId, network: &FaultProxy, tenths: usize) -> Writer {
        let (journal, id) = (Arc::clone(&self.journal), id.clone());
        let mut writer: Option<Writer> = None;
        let mut length = 0;
        for number in 0..=EARLY {
            let before = network.passed(Direction::Requests);
            let (journal, id, known) = (Arc::clone(&journal), id.clone(), writer.clone());
            let work = self.runtime.spawn(async move {
                let Some(writer) = known else {
                    journal.initialize().await?;
                    return Ok(Writer::recover(&*journal, &id).await?.0);
                };
                let outcome = writer.write(&*journal, number).await?;
                assert!(outcome.is_stored(), "{outcome:?}");
                Ok::<Writer, StorageError>(writer)
            });
            writer = Some(work.await.expect("no panic").expect("the server answers"));
            length = network.passed(Direction::Requests) - before;
        }
        let writer = writer.expect("it has recovered");
        // All writes have the same length, but for the first, which prepares statements.
        let passes = (length * tenths / 10).min(length - 1);
        let until = network.passed(Direction::Requests) + passes;
        network.set(Direction::Requests, Flow::HoldAfter(passes));
        let late = writer.clone();
        self.runtime
            .spawn(async move { late.write(&*journal, EARLY + 1).await });
        reaches("the point at which a write is held", || {
            network.passed(Direction::Requests) == until && network.held(Direction::Requests) > 0
        })
        .await;
        writer
    }

    fn disappears(self) {
        drop(self.journal);
        self.runtime.shutdown_background();
    }
}

/// Recovers the id, with the late write delivered only if it keeps everybody out.
async fn recovers_before_delivery(
    journal: &Arc<dyn Journal>,
    id: &PersistenceId,
    network: &FaultProxy,
) -> (Writer, Recovered) {
    let mut recovery = tokio::spawn(recovers(Arc::clone(journal), id.clone()));
    let in_time = timeout(KEPT_OUT, &mut recovery).await;
    if in_time.is_err() {
        network.pass();
    }
    match in_time {
        Ok(recovered) => recovered,
        Err(_) => recovery.await,
    }
    .expect("no panic")
}

/// Recovers the id, again and again while that fails for a reason that may pass.
async fn recovers(journal: Arc<dyn Journal>, id: PersistenceId) -> (Writer, Recovered) {
    let started = Instant::now();
    loop {
        match Writer::recover(&*journal, &id).await {
            Ok(recovered) => return recovered,
            Err(error) => {
                let may_pass = error.kind().is_curable_by_waiting() && started.elapsed() < PATIENCE;
                assert!(may_pass, "{error:?}");
                sleep(INTERVAL).await;
            }
        }
    }
}

/// Delivers what was held back, and waits until the server is done with it.
async fn delivers(network: &FaultProxy) {
    network.pass();
    reaches(
        "the end of the connections of a client that is gone",
        || network.connections() == 0,
    )
    .await;
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

/// The port of the server in a URL.
fn port(url: &str) -> u16 {
    let (_, rest) = url
        .rsplit_once("@127.0.0.1:")
        .expect("a proxy stands in front of a server on 127.0.0.1");
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
    let port = digits.and_then(|digits| digits.parse().ok());
    port.expect("the URL has a port")
}
