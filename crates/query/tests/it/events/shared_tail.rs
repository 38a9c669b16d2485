//! Live streams that share the reader of the tail.

use std::future::Future;
use std::time::Duration;

use actix_persistence_query::{EventQuery, EventStream, EventTail, QueryError, QuerySettings};
use actix_persistence_storage_api::{EventOffset, EventSelection, StorageErrorKind};
use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};

use super::fixture::{Said, id, said, take};
use super::partitioned::{Partitioned, on_paused_clock};

const HOUR: Duration = Duration::from_secs(3_600);

/// A journal of eight partitions, whose queries look again after an hour.
fn journal() -> Partitioned {
    let settings = QuerySettings::default().with_refresh_interval(HOUR);
    Partitioned::new(8, None, settings)
}

/// Polls streams until they wait for what is not yet stored.
async fn at_the_tail(streams: impl IntoIterator<Item = &mut EventStream<Said>>) {
    let waiting = streams.into_iter().map(async |stream| {
        let next = timeout(Duration::from_millis(100), stream.next());
        assert!(next.await.is_err(), "nothing is there");
    });
    join_all(waiting).await;
}

async fn took<T>(done: impl Future<Output = T>) -> (T, Duration) {
    let begin = Instant::now();
    let done = done.await;
    (done, begin.elapsed())
}

fn tagged(tag: &str) -> EventSelection {
    EventSelection::all().with_tag(tag)
}

#[test]
fn ten_streams_read_as_many_pages_as_one() {
    let pages_of = |number: usize| {
        on_paused_clock(async {
            let journal = journal();
            let mut streams: Vec<_> = (0..number)
                .map(|nr| match nr {
                    0 => journal.live(EventSelection::all()),
                    nr => journal.live(tagged(&nr.to_string())),
                })
                .collect();
            at_the_tail(&mut streams).await;
            let before = journal.pages();
            for number in 1..=50 {
                let tags: Vec<_> = (1..10).map(|tag| tag.to_string()).collect();
                let event = said(number, "word").with_tags(tags);
                journal.store(&id("a"), event).await;
                let taken = streams.iter_mut().map(|stream| take(stream, 1));
                assert!(
                    join_all(taken)
                        .await
                        .iter()
                        .all(|taken| taken[0].1 == number)
                );
            }
            journal.pages() - before
        })
    };
    let (one, ten) = (pages_of(1), pages_of(10));
    assert!(one >= 50, "{one}");
    assert!(ten <= one + one / 10, "{ten} in place of {one}");
}

#[test]
fn the_reader_asks_for_no_more_than_its_streams_select() {
    on_paused_clock(async {
        let journal = journal();
        let of_type = EventSelection::all().of_entity_type("Talker");
        let selections = || journal.journal.script().pages.split_off(0);
        let mut red = journal.live(of_type.clone().with_tag("red").of_slices(0..=99));
        at_the_tail([&mut red]).await;
        let all = selections();
        assert!(all.iter().all(|one| one.tag.as_deref() == Some("red")));
        let mut blue = journal.live(of_type.clone().with_tag("blue").of_slices(500..=600));
        at_the_tail([&mut blue]).await;
        selections();
        journal.store(&id("a"), said(1, "word")).await;
        at_the_tail([&mut red, &mut blue]).await;
        let both = of_type.clone().of_slices(0..=600);
        assert_eq!(selections().first(), Some(&both));
        drop(blue);
        journal.store(&id("a"), said(2, "word")).await;
        at_the_tail([&mut red]).await;
        let all = selections();
        assert!(!all.is_empty() && all.iter().all(|one| one.tag.as_deref() == Some("red")));
    });
}

#[test]
fn a_slow_stream_delays_no_other_and_gets_all_later() {
    on_paused_clock(async {
        let journal = journal();
        let mut slow = journal.live(EventSelection::all());
        let mut quick = journal.live(EventSelection::all());
        at_the_tail([&mut slow, &mut quick]).await;
        for number in 1..=300 {
            journal.store(&id("a"), said(number, "word")).await;
            let (taken, delay) = took(take(&mut quick, 1)).await;
            assert_eq!(taken[0].1, number);
            assert!(delay < Duration::from_millis(50), "{delay:?}");
        }
        let taken = take(&mut slow, 300).await;
        let numbers: Vec<_> = taken.iter().map(|taken| taken.1).collect();
        assert_eq!(numbers, (1..=300).collect::<Vec<_>>());
        // It is at the tail again.
        at_the_tail([&mut slow]).await;
        let before = journal.pages();
        journal.store(&id("a"), said(301, "word")).await;
        let both = join_all([take(&mut slow, 1), take(&mut quick, 1)]);
        assert!(both.await.iter().all(|taken| taken[0].1 == 301));
        assert!(journal.pages() - before <= 2);
    });
}

/// A stream that nobody has polled for long has a backlog, which is its own.
#[test]
fn what_a_sleeping_stream_lacks_is_no_delay_for_a_new_one() {
    on_paused_clock(async {
        let settings = QuerySettings::default().with_page_size(1);
        let journal = Partitioned::new(8, None, settings);
        let mut asleep = journal.live(EventSelection::all());
        at_the_tail([&mut asleep]).await;
        for number in 1..=500 {
            journal
                .store_elsewhere(&id("a"), said(number, "word"))
                .await;
        }
        sleep(HOUR).await;
        let all = EventSelection::all();
        let queries = &journal.queries;
        let newest = queries.current_events::<Said>(all.clone(), EventOffset::start());
        let mut newest = Box::pin(newest);
        while newest.next().await.is_some() {}
        let mut new = queries.events::<Said>(all, newest.offset().clone());
        at_the_tail([&mut new]).await;
        let both = async {
            let backlog = take(&mut asleep, 500);
            let fresh = took(take(&mut new, 1));
            journal.store(&id("b"), said(1, "word")).await;
            let (backlog, (fresh, delay)) = futures_util::join!(backlog, fresh);
            assert_eq!((backlog.len(), fresh.len()), (500, 1));
            delay
        };
        let delay = both.await;
        assert!(delay < Duration::from_millis(100), "{delay:?}");
    });
}

#[test]
fn trouble_is_waited_for_once_for_all_streams() {
    on_paused_clock(async {
        let journal = journal();
        let mut streams: Vec<_> = (0..10)
            .map(|_| journal.live(EventSelection::all()))
            .collect();
        at_the_tail(&mut streams).await;
        let before = journal.pages();
        let errors = [StorageErrorKind::Unavailable; 3];
        journal.journal.script().errors.extend(errors);
        journal.store(&id("a"), said(1, "word")).await;
        let taken = join_all(streams.iter_mut().map(|stream| take(stream, 1)));
        assert_eq!(taken.await.len(), 10);
        let pages = journal.pages() - before;
        assert!((4..=6).contains(&pages), "{pages}");
    });
}

#[test]
fn a_damaged_event_ends_only_the_streams_that_select_it() {
    on_paused_clock(async {
        let journal = journal();
        let mut all = journal.live(EventSelection::all());
        let mut red = journal.live(tagged("red"));
        let mut green = journal.live(tagged("green"));
        at_the_tail([&mut all, &mut red, &mut green]).await;
        journal.journal.script().damaged = Some("broken");
        let broken = said(1, "broken").with_tags(["red"]);
        journal.store(&id("a"), broken).await;
        let failed = join_all([all.next(), red.next()]);
        for ended in failed.await {
            match ended.unwrap().unwrap_err() {
                QueryError::Store(error) => {
                    assert_eq!(error.kind(), StorageErrorKind::Corrupt);
                    assert_eq!(error.persistence_id(), Some(&id("a")));
                }
                other => panic!("{other:?}"),
            }
        }
        for number in 1..=3 {
            let event = said(number, "word").with_tags(["green"]);
            journal.store(&id("b"), event).await;
            assert_eq!(take(&mut green, 1).await[0].1, number);
        }
    });
}

#[test]
fn the_reader_ends_with_the_last_stream() {
    on_paused_clock(async {
        let settings = QuerySettings::default();
        let journal = Partitioned::new(8, None, settings);
        let mut streams: Vec<_> = (0..3)
            .map(|_| journal.live(EventSelection::all()))
            .collect();
        at_the_tail(&mut streams).await;
        let pages = async {
            let before = journal.pages();
            sleep(Duration::from_secs(60)).await;
            journal.pages() - before
        };
        let (polled, alone) = futures_util::join!(at_the_tail_for_a_minute(&mut streams), pages);
        assert_eq!(polled, 3);
        assert!((15..=25).contains(&alone), "{alone}");
        drop(streams);
        let before = journal.pages();
        journal.store(&id("a"), said(1, "word")).await;
        sleep(HOUR).await;
        assert_eq!(journal.pages(), before);
        assert_eq!(
            take(&mut journal.live(EventSelection::all()), 1)
                .await
                .len(),
            1
        );
    });
}

/// Waits at streams that give nothing; returns how many.
async fn at_the_tail_for_a_minute(streams: &mut [EventStream<Said>]) -> usize {
    let limit = Duration::from_secs(60);
    let waited = streams
        .iter_mut()
        .map(|stream| timeout(limit, stream.next()));
    let waited = join_all(waited).await;
    waited.into_iter().filter(Result::is_err).count()
}

#[test]
fn the_reader_looks_again_as_soon_as_any_stream_wants_it() {
    on_paused_clock(async {
        let journal = journal();
        let tail = EventTail::new();
        let with = |interval| {
            let settings = QuerySettings::default().with_refresh_interval(interval);
            let queries = EventQuery::new(journal.handle.clone(), Handle::current(), (), settings);
            queries.unwrap().with_tail(tail.clone())
        };
        let all = EventSelection::all;
        let mut patient = with(HOUR).events::<Said>(all(), EventOffset::start());
        at_the_tail([&mut patient]).await;
        let interval = Duration::from_millis(200);
        let mut hasty = with(interval).events::<Said>(all(), EventOffset::start());
        at_the_tail([&mut hasty]).await;
        sleep(Duration::from_secs(10)).await;
        let both = took(join_all([take(&mut patient, 1), take(&mut hasty, 1)]));
        let write = async {
            sleep(Duration::from_secs(1)).await;
            journal.store_elsewhere(&id("a"), said(1, "word")).await;
        };
        let ((_, delay), ()) = futures_util::join!(both, write);
        assert!(delay < Duration::from_millis(1_250), "{delay:?}");
    });
}

#[test]
fn a_stream_that_is_dropped_while_it_waits_leaves_the_others_waiting() {
    on_paused_clock(async {
        let journal = journal();
        let mut first = journal.live(EventSelection::all());
        let mut second = journal.live(EventSelection::all());
        at_the_tail([&mut first]).await;
        at_the_tail([&mut second]).await;
        // The one that has begun the look.
        drop(first);
        journal.store(&id("a"), said(1, "word")).await;
        assert_eq!(take(&mut second, 1).await.len(), 1);
        assert!(second.next().now_or_never().is_none());
    });
}

/// A look after each write that brings nothing would cost the database as much as the writes.
#[test]
fn a_rare_tag_beside_steady_writes_is_looked_for_every_ten_ms() {
    on_paused_clock(async {
        let journal = journal();
        let mut rare = journal.live(tagged("rare"));
        at_the_tail([&mut rare]).await;
        let before = journal.pages();
        let write = async {
            let begin = Instant::now();
            for number in 1..=1_000 {
                journal.store(&id("a"), said(number, "word")).await;
                sleep(Duration::from_millis(1)).await;
            }
            let (looks, time) = (
                journal.pages() - before,
                begin.elapsed().as_millis() as usize,
            );
            assert!(
                (time / 20..=time / 10 + 4).contains(&looks),
                "{looks} in {time} ms"
            );
            let event = said(1_001, "found").with_tags(["rare"]);
            journal.store(&id("a"), event).await;
            Instant::now()
        };
        let found = async {
            let found = take(&mut rare, 1).await;
            (found, Instant::now())
        };
        let ((found, at), stored) = futures_util::join!(found, write);
        assert_eq!(found[0].1, 1_001);
        let delay = at - stored;
        assert!(delay < Duration::from_millis(15), "{delay:?}");
    });
}

/// Looks by the clock are no writes that brought nothing.
#[test]
fn a_write_after_an_idle_time_is_seen_without_a_delay() {
    on_paused_clock(async {
        let settings = QuerySettings::default().with_refresh_interval(Duration::from_millis(500));
        let journal = Partitioned::new(8, None, settings);
        let mut live = journal.live(EventSelection::all());
        for number in 1..=3 {
            at_the_tail([&mut live]).await;
            let idle = timeout(Duration::from_secs(60), live.next());
            assert!(idle.await.is_err(), "nothing is there");
            journal.store(&id("a"), said(number, "word")).await;
            let (taken, delay) = took(take(&mut live, 1)).await;
            assert_eq!(taken[0].1, number);
            // A page takes a millisecond.
            assert!(delay <= Duration::from_millis(4), "{delay:?}");
        }
    });
}
