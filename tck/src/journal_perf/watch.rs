//! The time limit of each round, and the end by Ctrl-C.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::sleep;

use super::Scale;
use crate::failure::Failure;

/// Ends as soon as the measurement shall.
pub(super) type Interrupt = dyn Future<Output = ()>;

/// Reports the steps of a work: the preparation, the round to warm up, and the rounds that count.
pub(super) struct Steps(UnboundedSender<Duration>);

impl Steps {
    /// Reports that a step has ended, and the time that it took by its own account.
    pub(super) fn ended(&self, time: Duration) {
        // After a limit or an interruption no one listens any more.
        let _ = self.0.send(time);
    }
}

/// Runs a work as a task of the stores' runtime, and returns its result with the times of the rounds that count; `None` if
/// it was interrupted.
///
/// A step that takes longer than the limit of a round ends the work with a failure; so does a panic. The watching runtime
/// is another one, which goes on when a store blocks all threads of its own.
pub(super) async fn watch<T, F>(
    stores: &Handle,
    scale: Scale,
    mut interrupt: Pin<&mut Interrupt>,
    work: impl FnOnce(Steps) -> F,
) -> Option<Result<(T, Vec<Duration>), Failure>>
where
    F: Future<Output = Result<T, Failure>> + Send + 'static,
    T: Send + 'static,
{
    let (sender, mut ended) = unbounded_channel();
    let task = stores.spawn(work(Steps(sender)));
    let mut times = Vec::new();
    loop {
        tokio::select! {
            biased;
            step = ended.recv() => match step {
                Some(time) => times.push(time),
                None => break,
            },
            () = interrupt.as_mut() => {
                task.abort();
                return None;
            }
            () = sleep(scale.round_limit) => {
                task.abort();
                let limit = scale.round_limit;
                let text = format!("expected an end within {limit:?}, but it is still running");
                let failure = Failure::without_location(text);
                return Some(Err(at(times.len(), scale.rounds, failure)));
            }
        }
    }
    let result = task
        .await
        .unwrap_or_else(|error| Err(Failure::of_task(error)));
    let steps = times.len();
    // Neither the preparation nor the round to warm up counts.
    let counted = times.into_iter().skip(2).collect();
    Some(match result {
        Ok(done) => Ok((done, counted)),
        Err(failure) => Err(at(steps, scale.rounds, failure)),
    })
}

/// Names the step of a work with this number of rounds that follows on the ended ones.
fn at(ended: usize, rounds: usize, failure: Failure) -> Failure {
    match ended {
        0 => failure.within("the preparation"),
        1 => failure.within("the round to warm up"),
        _ if ended <= rounds + 1 => failure.within(format_args!("round {}", ended - 1)),
        _ => failure.within("the end of the work"),
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::pin::pin;

    use tokio::sync::oneshot;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn scale() -> Scale {
        Scale {
            round_limit: 60 * SECOND,
            ..Scale::default()
        }
    }

    /// Watches on a clock that jumps to the next timer whenever nothing else can be done.
    async fn watched<T: Send + 'static, F>(
        work: impl FnOnce(Steps) -> F,
    ) -> Result<(T, Vec<Duration>), String>
    where
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let watched = watch(&Handle::current(), scale(), pin!(pending()), work).await;
        watched.unwrap().map_err(|failure| failure.to_string())
    }

    #[tokio::test(start_paused = true)]
    async fn rounds_count_without_the_preparation_and_the_warm_up() {
        let work = |steps: Steps| async move {
            for seconds in 0..5 {
                steps.ended(seconds * SECOND);
            }
            Ok("done")
        };
        let (done, times) = watched(work).await.unwrap();
        assert_eq!(done, "done");
        assert_eq!(times, [2 * SECOND, 3 * SECOND, 4 * SECOND]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_limit_begins_anew_with_each_step() {
        let work = |steps: Steps| async move {
            for _ in 0..4 {
                sleep(59 * SECOND).await;
                steps.ended(SECOND);
            }
            Ok(())
        };
        assert_eq!(watched(work).await.unwrap().1, [SECOND, SECOND]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_above_the_limit_fails_by_its_name() {
        for (ended, name) in [
            (0, "the preparation: "),
            (1, "the round to warm up: "),
            (4, "round 3: "),
            (11, "round 10: "),
            (12, "the end of the work: "),
        ] {
            let work = move |steps: Steps| async move {
                (0..ended).for_each(|_| steps.ended(SECOND));
                pending::<Result<(), _>>().await
            };
            let text = watched(work).await.unwrap_err();
            assert!(text.starts_with(name), "{text}");
            assert!(text.contains("within 60s"), "{text}");
        }
    }

    fn panics() -> Failure {
        panic!("no such row")
    }

    #[tokio::test]
    async fn a_panic_and_an_error_fail_by_their_step() {
        let work = |steps: Steps| async move {
            steps.ended(SECOND);
            Err::<(), _>(panics())
        };
        let text = watched(work).await.unwrap_err();
        assert!(text.starts_with("the round to warm up: "), "{text}");
        assert!(text.contains("no such row"), "{text}");
        let work = |_steps: Steps| async move { Err::<(), _>(Failure::new("the disk is full")) };
        let text = watched(work).await.unwrap_err();
        assert!(
            text.starts_with("the preparation: the disk is full"),
            "{text}"
        );
    }

    #[tokio::test]
    async fn an_interruption_ends_a_work_that_hangs() {
        let (hangs, interrupt) = oneshot::channel::<()>();
        let work = |steps: Steps| async move {
            steps.ended(SECOND);
            hangs.send(()).unwrap();
            pending::<Result<(), Failure>>().await
        };
        let interrupt = pin!(async move { interrupt.await.unwrap() });
        let watched = watch(&Handle::current(), scale(), interrupt, work).await;
        assert!(watched.is_none());
    }
}
