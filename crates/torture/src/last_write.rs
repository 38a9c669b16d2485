//! Writes to every id once more when no other process does: whatever was done to it, it takes a write in the end.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use actix::prelude::*;
use actix_persistence::error::{ErrorChain, RejectionCause, StorageErrorKind};
use actix_persistence::prelude::*;
use actix_persistence_history::{Answer, Done, Operation, Record};
use tokio::time::{sleep, timeout};

use crate::clock;
use crate::last_look::LONGEST_BUSY;
use crate::run::hold;
use crate::workers::Scribe;
use crate::workers::kept::{Change, Kept, kept_id};
use crate::workers::stream::{Stream, Write, stream_id};
use crate::writers::Scene;

/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(100);
/// The number of attempts that may be refused for reasons that the next one need not meet: a write of a process that was
/// killed may end only now.
const MOST_ATTEMPTS: u32 = 5;
/// The longest time of a stop in the end, when the stores have little to do.
const STOP_DEADLINE: Duration = Duration::from_secs(60);

/// The records and the faults of the process that writes last.
#[derive(Clone, Default)]
pub(crate) struct LastWrites {
    records: Arc<Mutex<Vec<Record>>>,
    faults: Arc<Mutex<Vec<String>>>,
}

impl LastWrites {
    /// Returns what was written, and what was answered.
    pub(crate) fn records(&self) -> Vec<Record> {
        std::mem::take(&mut hold(&self.records))
    }

    /// Returns sentences about what is wrong.
    pub(crate) fn faults(&self) -> Vec<String> {
        std::mem::take(&mut hold(&self.faults))
    }

    fn fault(&self, sentence: impl Into<String>) {
        hold(&self.faults).push(sentence.into());
    }

    fn scribe(&self, process: u32) -> Arc<Scribe> {
        let (told, found) = (self.clone(), self.clone());
        let tell = move |what| {
            let at = clock::now();
            hold(&told.records).push(Record { at, process, what });
        };
        Arc::new(Scribe::telling(process, tell, move |sentence: &str| {
            found.fault(sentence);
        }))
    }

    /// Lets every stream and every state of the scene take one write, until one does not, and stops the stores.
    ///
    /// A database that is busy is asked again, for a while.
    pub(crate) async fn write(&self, persistence: &Persistence, process: u32, scene: &Scene) {
        let scribe = self.scribe(process);
        for number in 0..scene.streams + scene.driven {
            let attempt = async || {
                let retaining = scene.retaining;
                let of_actor = Arc::clone(&scribe);
                let alive = move || {
                    let scribe = Arc::clone(&of_actor);
                    Stream::alive(number, retaining, scribe, |_| {})
                };
                let stream = started(persistence, alive)?;
                write_to(&stream, number, &scribe).await
            };
            self.takes_a_write(persistence, stream_id(number), attempt)
                .await;
        }
        for number in 0..scene.states {
            let attempt = async || {
                let of_actor = Arc::clone(&scribe);
                let alive = move || Kept::alive(number, Arc::clone(&of_actor), |_| {});
                let kept = started(persistence, alive)?;
                let (uid, deletes) = (scribe.uid(), false);
                kept.send(Change { uid, deletes })
                    .await?
                    .map_err(Refused::from)
            };
            self.takes_a_write(persistence, kept_id(number), attempt)
                .await;
        }
        let report = persistence.stop(STOP_DEADLINE).await;
        if !report.is_complete() {
            self.fault(format!("after the last writes a stop tells: {report}"));
        }
    }

    async fn takes_a_write<T>(
        &self,
        persistence: &Persistence,
        id: PersistenceId,
        mut attempt: impl AsyncFnMut() -> Result<T, Refused>,
    ) {
        if !hold(&self.faults).is_empty() {
            // The others are likely to take as long to say the same.
            return;
        }
        let since = Instant::now();
        let mut attempts_left = MOST_ATTEMPTS;
        loop {
            let attempted = timeout(LONGEST_BUSY, attempt()).await;
            let refused = match attempted {
                Ok(Ok(_)) => return,
                Ok(Err(refused)) => refused,
                Err(late) => Refused::for_now(&late),
            };
            let is_cured = match refused.cure {
                Cure::None => false,
                Cure::Waiting => since.elapsed() < LONGEST_BUSY,
                Cure::AnotherAttempt => {
                    attempts_left -= 1;
                    attempts_left > 0
                }
            };
            if !is_cured {
                return self.fault(format!(
                    "{id} takes no write in the end, though nobody else writes: {}",
                    refused.error
                ));
            }
            sleep(PAUSE).await;
            // One that has failed is on its way out.
            let _ = timeout(LONGEST_BUSY, persistence.stopped(&id)).await;
        }
    }
}

/// The reason why a write was not stored, or may not be.
struct Refused {
    error: String,
    cure: Cure,
}

/// An action that may help against a refusal.
enum Cure {
    None,
    Waiting,
    /// A few more attempts may help.
    AnotherAttempt,
}

impl Refused {
    fn for_now(error: &(dyn std::error::Error + 'static)) -> Self {
        Self {
            error: ErrorChain(error).to_string(),
            cure: Cure::Waiting,
        }
    }
}

impl From<PersistError> for Refused {
    fn from(error: PersistError) -> Self {
        let cure = match &error {
            PersistError::NotStored(cause) | PersistError::Unknown(cause)
                if !cause.kind().is_transient() =>
            {
                Cure::None
            }
            // On a busy machine a change handler may be too late.
            PersistError::Rejected(RejectionCause::Storage(cause))
                if cause.kind() == StorageErrorKind::Extension =>
            {
                Cure::AnotherAttempt
            }
            PersistError::Rejected(_) => Cure::None,
            PersistError::Conflict(_) => Cure::AnotherAttempt,
            _ => Cure::Waiting,
        };
        Self {
            cure,
            ..Self::for_now(&error)
        }
    }
}

impl From<MailboxError> for Refused {
    fn from(error: MailboxError) -> Self {
        Self::for_now(&error)
    }
}

fn started<A: PersistentActor>(
    persistence: &Persistence,
    factory: impl FnMut() -> A + Clone + Send + Unpin + 'static,
) -> Result<Addr<A>, Refused> {
    let started = persistence.start(factory);
    started.map_err(|error| Refused::for_now(&error))
}

/// Sends a command of one event, and reports the answer.
async fn write_to(
    stream: &Addr<Stream>,
    number: u32,
    scribe: &Scribe,
) -> Result<SequenceNr, Refused> {
    let uid = scribe.uid();
    let call = scribe.invoke(Operation::Ask {
        id: stream_id(number).to_string(),
        sender: u64::from(scribe.process()) << 32 | u64::from(number),
        uid,
    });
    let write = Write {
        uids: vec![uid],
        asynchronously: false,
    };
    let outcome = stream.send(write).await;
    let answer = match &outcome {
        Ok(Ok(first)) => Answer::Ok(Done::Persisted { first: *first }),
        Ok(Err(error)) if error.is_not_stored() => Answer::Failed,
        _ => Answer::Unknown,
    };
    scribe.answer(call, answer);
    outcome?.map_err(Refused::from)
}
