//! Reads that wait for a connection at the same time share a statement.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix_persistence_storage_api::{Operation, StorageError};
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::RecvError;
use tokio::time::timeout;

use super::seats::Lease;
use super::{Call, Connections, Work, detached, not_stored};
use crate::{ConnectionOf, Connector, SqlError};

/// Questions of one kind that wait for a connection, in the order in which they came.
///
/// Whoever gets a connection asks for all that wait then, up to a number: nobody waits for company. A question that the
/// shared statement does not answer is asked alone, as if there had been no others.
#[derive(Debug)]
pub(crate) struct ReadLine<Q, A> {
    waiting: Mutex<Waiting<Q, A>>,
    /// The most questions that share a statement.
    most: usize,
}

#[derive(Debug)]
struct Waiting<Q, A> {
    questions: VecDeque<(u64, Q, oneshot::Sender<SharedAnswer<A>>)>,
    next: u64,
}

/// The answer of a shared statement; `None` if the question has to be asked alone.
type SharedAnswer<A> = Option<Result<A, StorageError>>;

/// A question in the line, and its answer; dropped, it leaves the line.
struct Place<'l, Q, A> {
    line: &'l ReadLine<Q, A>,
    number: u64,
    answer: oneshot::Receiver<SharedAnswer<A>>,
}

/// The end of the wait in a line.
enum Turn<A, C: Connector> {
    Answered(Result<A, StorageError>),
    /// The question is to be asked alone, perhaps on a connection that is there.
    Alone(Option<Lease<C>>),
}

impl<Q, A> ReadLine<Q, A> {
    /// Makes an empty line, of which so many questions share a statement.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            waiting: Mutex::new(Waiting {
                questions: VecDeque::new(),
                next: 0,
            }),
            most,
        }
    }

    fn enter(&self, question: Q) -> Place<'_, Q, A> {
        let (sender, answer) = oneshot::channel();
        let mut waiting = self.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.questions.push_back((number, question, sender));
        Place {
            line: self,
            number,
            answer,
        }
    }

    /// Takes the questions that have waited for the longest time.
    fn take(&self) -> (Vec<Q>, Vec<oneshot::Sender<SharedAnswer<A>>>) {
        let mut waiting = self.lock();
        let number = waiting.questions.len().min(self.most);
        let taken = waiting.questions.drain(..number);
        taken
            .map(|(_, question, answer)| (question, answer))
            .unzip()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting<Q, A>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Q, A> Waiting<Q, A> {
    fn position(&self, number: u64) -> Option<usize> {
        let number_of = |(number, ..): &(u64, Q, oneshot::Sender<SharedAnswer<A>>)| *number;
        self.questions.binary_search_by_key(&number, number_of).ok()
    }
}

impl<Q, A> Place<'_, Q, A> {
    fn is_waiting(&self) -> bool {
        self.line.lock().position(self.number).is_some()
    }

    /// Returns true if it was alone in the line, which it has left then.
    fn leave_if_alone(&self) -> bool {
        let mut waiting = self.line.lock();
        let is_alone = waiting.questions.len() == 1 && waiting.questions[0].0 == self.number;
        if is_alone {
            waiting.questions.clear();
        }
        is_alone
    }

    /// Leaves the line; returns whether it still waited there.
    fn leave(&self) -> bool {
        let mut waiting = self.line.lock();
        let left = waiting.position(self.number);
        left.and_then(|position| waiting.questions.remove(position))
            .is_some()
    }

    /// Returns the answer that the call gives which has taken the question.
    async fn answered<C: Connector>(&mut self, call: &Call<C>) -> Turn<A, C> {
        // That call may have panicked, or its runtime is not run any more.
        let patience = call.time_limit.map_or(Duration::MAX, |limit| 2 * limit);
        let answer = timeout(patience, &mut self.answer).await;
        Turn::of(answer.unwrap_or(Ok(None)))
    }

    /// Returns the answer that this call itself has just given, with its connection if there is to be another one.
    fn answered_here<C: Connector>(&mut self, lease: Lease<C>) -> Turn<A, C> {
        match self.answer.try_recv() {
            Ok(Some(answer)) => {
                lease.give_back_unused();
                Turn::Answered(answer)
            }
            Ok(None) | Err(_) => Turn::Alone(Some(lease)),
        }
    }
}

impl<A, C: Connector> Turn<A, C> {
    fn of(answer: Result<SharedAnswer<A>, RecvError>) -> Self {
        match answer.unwrap_or(None) {
            Some(answer) => Turn::Answered(answer),
            None => Turn::Alone(None),
        }
    }
}

impl<Q, A> Drop for Place<'_, Q, A> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<C: Connector> Connections<C> {
    /// Runs one statement that reads, for this question and others of the line that wait at the same time.
    ///
    /// `together` answers several questions in their order, with `None` for each that is to be asked alone. If it fails, all
    /// of them are, unless the database is silent.
    ///
    /// # Errors
    /// If the database does not answer, or refuses.
    ///
    /// # Cancel safety
    /// The work goes on to its end even if the future is dropped.
    pub(crate) async fn read_in_line<Q, A>(
        &self,
        operation: Operation,
        line: &Arc<ReadLine<Q, A>>,
        question: Q,
        together: impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, Vec<Q>) -> Work<'c, Vec<Option<A>>>
        + Send
        + Sync
        + 'static,
        alone: impl for<'c> FnOnce(&'c mut ConnectionOf<C::Dialect>, Q) -> Work<'c, A> + Send + 'static,
    ) -> Result<A, StorageError>
    where
        Q: Clone + Send + 'static,
        A: Send + 'static,
    {
        let call = self.call(&self.readers);
        let line = Arc::clone(line);
        detached(operation, async move {
            let mut turn = Turn::Alone(None);
            if line.most > 1 {
                let place = line.enter(question.clone());
                turn = call.wait_in_line(operation, place, &together).await;
            }
            let lease = match turn {
                Turn::Answered(answer) => return answer,
                Turn::Alone(Some(lease)) => lease,
                Turn::Alone(None) => call.seat().await.map_err(not_stored::<C>(operation))?,
            };
            call.read(operation, lease, Lease::give_back, |connection| {
                alone(connection, question)
            })
            .await
        })
        .await
    }
}

impl<C: Connector> Call<C> {
    /// Waits until another call answers the question, or this one has a connection and answers all that wait.
    async fn wait_in_line<Q, A>(
        &self,
        operation: Operation,
        mut place: Place<'_, Q, A>,
        together: &(
             impl for<'c> Fn(&'c mut ConnectionOf<C::Dialect>, Vec<Q>) -> Work<'c, Vec<Option<A>>> + Sync
         ),
    ) -> Turn<A, C> {
        let wait = self.seats.wait();
        let seat = tokio::select! {
            biased;
            answer = &mut place.answer => return Turn::of(answer),
            seat = self.seats.vacant(wait) => seat,
        };
        let lease = match seat {
            Ok(seat) if !place.is_waiting() => {
                // Another call asks for it; the seat is for the next one.
                drop(seat);
                return place.answered(self).await;
            }
            Ok(seat) => self.seats.sit(seat).await,
            Err(error) => Err(error),
        };
        let mut lease = match lease {
            Ok(lease) => lease,
            Err(error) if place.leave() => {
                return Turn::Answered(Err(not_stored::<C>(operation)(error)));
            }
            Err(_) => return place.answered(self).await,
        };
        if !place.is_waiting() {
            lease.give_back_unused();
            return place.answered(self).await;
        }
        while place.is_waiting() {
            if place.leave_if_alone() {
                return Turn::Alone(Some(lease));
            }
            let (questions, answers) = place.line.take();
            let work = together(lease.connection(), questions);
            match self.within_limit(work).await {
                Ok(found) => {
                    lease.was_served();
                    for (answer, found) in answers.into_iter().zip(found) {
                        // Its caller may have gone away.
                        let _ = answer.send(found.map(Ok));
                    }
                }
                Err(error) => {
                    lease.hear(&error);
                    // Before others hear of it, who may want the seat.
                    drop(lease);
                    share::<C, A>(operation, error, answers);
                    return match place.leave() {
                        true => Turn::Alone(None),
                        false => place.answered(self).await,
                    };
                }
            }
        }
        place.answered_here(lease)
    }

    /// Runs a read on a connection.
    pub(super) async fn read<T>(
        &self,
        operation: Operation,
        mut lease: Lease<C>,
        afterwards: fn(Lease<C>),
        work: impl for<'c> FnOnce(&'c mut ConnectionOf<C::Dialect>) -> Work<'c, T>,
    ) -> Result<T, StorageError> {
        let value = self
            .within_limit(work(lease.connection()))
            .await
            .inspect_err(|error: &SqlError| lease.hear(error))
            .map_err(not_stored::<C>(operation))?;
        afterwards(lease);
        Ok(value)
    }
}

/// Tells those that shared a statement of its error: that the server is silent is the answer to each of them; anything else
/// may be the matter of one of them or of the session, and each asks alone.
fn share<C: Connector, A>(
    operation: Operation,
    error: SqlError,
    answers: Vec<oneshot::Sender<SharedAnswer<A>>>,
) {
    let is_silent = matches!(error, SqlError::Silent);
    let error = not_stored::<C>(operation)(error);
    for answer in answers {
        let _ = answer.send(is_silent.then(|| Err(error.clone())));
    }
}
