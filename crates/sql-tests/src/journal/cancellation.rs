//! Calls whose futures are dropped at any poll.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use actix_persistence_storage_api::{
    EventDeletion, Journal, PageLimit, Payload, PersistenceId, ReplayRange, SnapshotCriteria,
    SnapshotMetadata, Timestamp, WriterId,
};
use actix_persistence_tck::TakeOverOne;

use crate::Tables;
use crate::steps::{id, numbers, write};

/// Polls a future at most `polls` times and drops it then; returns its answer if it came in time.
async fn polled<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut left = polls;
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        future.as_mut().poll(context).map(Some)
    })
    .await
}

/// A sequence of small numbers that looks random and is the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % end
    }
}

/// Lives one life of an actor: it takes the id over, writes until a call is dropped or fails, and takes it over again.
async fn live(journal: Arc<dyn Journal>, id: PersistenceId, seed: u64) -> Vec<(u64, WriterId)> {
    let mut dice = Dice(seed);
    let mut confirmed = Vec::new();
    for _ in 0..60 {
        let writer = WriterId::random();
        let Some(taken) = polled(1 + dice.below(4), journal.take_over_one(&id, writer)).await
        else {
            continue;
        };
        let taken = taken.unwrap();
        let mut next = taken.highest_sequence_nr + 1;
        loop {
            let count = dice.below(3) as u64;
            let write = write(&id, taken.epoch, writer, next..=next + count);
            let call = journal.write_messages(vec![write]);
            let Some(outcomes) = polled(1 + dice.below(5), call).await else {
                break;
            };
            assert!(outcomes.unwrap()[0].is_stored(), "nobody else writes");
            confirmed.extend((next..=next + count).map(|number| (number, writer)));
            next += count + 1;
        }
    }
    confirmed
}

/// Actors whose calls are dropped at any poll, and who take over then.
pub async fn no_confirmed_event_is_lost_and_nothing_hangs_when_calls_are_dropped(
    place: &dyn Tables,
) {
    let journal = place.journal().await;
    let lives: Vec<_> = (0..6_u64)
        .map(|actor| {
            let id = id(&actor.to_string());
            (
                id.clone(),
                tokio::spawn(live(Arc::clone(&journal), id, actor)),
            )
        })
        .collect();
    let mut total = 0;
    for (id, life) in lives {
        let confirmed = life.await.unwrap();
        let page = crate::steps::replay_all(&*journal, &id).await;
        let stored: Vec<_> = page
            .events
            .iter()
            .map(|event| (event.sequence_nr, event.writer))
            .collect();
        let expected: Vec<_> = (1..=stored.len() as u64).collect();
        assert_eq!(numbers(&*journal, &id).await, expected, "a gap in {id}");
        for event in &confirmed {
            assert!(stored.contains(event), "{event:?} of {id} is lost");
        }
        total += confirmed.len();
    }
    assert!(total > 0, "every call was dropped, so nothing was tried");
}

/// Every operation, dropped after each number of polls; then the store must still do its work.
pub async fn every_operation_may_be_dropped_at_every_poll(place: &dyn Tables) {
    let journal = place.journal().await;
    let snapshots = place.snapshot_store().await;
    let (a, writer) = (id("a"), WriterId::random());
    for polls in 1..6 {
        polled(polls, journal.initialize()).await;
        polled(polls, journal.take_over_one(&a, writer)).await;
        let taken = journal.take_over_one(&a, writer).await.unwrap();
        let next = taken.highest_sequence_nr + 1;
        let group = vec![write(&a, taken.epoch, writer, next..=next)];
        polled(polls, journal.write_messages(group)).await;
        let page = PageLimit::DEFAULT;
        polled(polls, journal.replay_messages(&a, ReplayRange::ALL, page)).await;
        polled(polls, journal.read_highest_sequence_nr(&a)).await;
        polled(
            polls,
            journal.delete_messages_to(&a, EventDeletion::up_to(next - 1)),
        )
        .await;

        let metadata = SnapshotMetadata::new(a.clone(), next, Timestamp::now());
        let payload = Payload::new(1, "m", vec![1, 2, 3]);
        polled(polls, snapshots.initialize()).await;
        polled(polls, snapshots.save(metadata.clone(), payload.clone())).await;
        polled(polls, snapshots.load(&a, SnapshotCriteria::LATEST)).await;
        polled(polls, snapshots.delete(&metadata)).await;
        polled(
            polls,
            snapshots.delete_matching(&a, SnapshotCriteria::LATEST),
        )
        .await;

        snapshots
            .save(metadata.clone(), payload.clone())
            .await
            .unwrap();
        let loaded = snapshots.load(&a, SnapshotCriteria::LATEST).await.unwrap();
        assert_eq!(loaded.unwrap().payload, payload);
        crate::steps::store(&*journal, &a, 1).await;
    }
}
