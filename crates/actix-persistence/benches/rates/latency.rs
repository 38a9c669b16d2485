//! The time from a command to its answer, which comes when its event is stored: as fast as some actors answer, and at a fixed
//! rate below that; and the time of a bare commit.

use std::thread;
use std::time::{Duration, Instant};

use actix::Addr;
use actix_persistence::Persistence;
use futures_util::future::join_all;
use tokio::sync::mpsc;

use crate::database::{Connection, Database};
use crate::notebook::Notebook;
use crate::place::{FAR, ONE_WAY, Place};
use crate::replay::Note;
use crate::row::{Row, Table};
use crate::series::{Reading, Series};

/// The least pause between arrivals that wake their reader, so that they take no processor from what is measured.
const LEAST_PAUSE: Duration = Duration::from_micros(200);
/// The share of the largest rate at which commands arrive.
const LOAD: f64 = 0.8;

pub(crate) async fn run<D: Database>(series: &Series) {
    let actors = series.number("latency-");
    let mut near = Measured::<D>::make(actors, None).await;
    let mut far = match series.has_side_of(FAR) {
        true => Some(Measured::<D>::make(actors, Some(ONE_WAY)).await),
        false => None,
    };
    series
        .measure(async |side| {
            let (place, work) = match (side.strip_prefix(FAR), &mut far) {
                (Some(work), Some(far)) => (far, work),
                _ => (&mut near, side),
            };
            match work {
                "commit" => place.commits(series.time).await,
                "actors" => place.asks(series.time).await,
                "actors-80" => place.asks_at(LOAD, series.time).await,
                other => series.has_no(other),
            }
        })
        .await;
    near.close().await;
    if let Some(far) = far {
        far.close().await;
    }
}

/// Actors, and a bare connection to their database.
struct Measured<D: Database> {
    place: Place<D, Notebook>,
    bare: D::Connection,
    /// The commands per second that were answered last.
    peak: f64,
}

impl<D: Database> Measured<D> {
    async fn make(actors: usize, one_way: Option<Duration>) -> Self {
        let mut database = D::make().await;
        if let Some(one_way) = one_way {
            database.move_away(one_way);
        }
        let bare = D::Connection::connect(database.url()).await;
        let start = |persistence: &Persistence| Notebook::start_many(persistence, actors);
        let place = Place::make(database, &["journal"], Persistence::builder(), start);
        Self {
            place: place.await,
            bare,
            peak: 0.0,
        }
    }

    /// One row after the other, each in a transaction.
    async fn commits(&mut self, time: Duration) -> Reading {
        let (begin, mut times) = (Instant::now(), Vec::new());
        while times.is_empty() || begin.elapsed() < time {
            let start = Instant::now();
            self.bare.write(Table::Events, vec![Row::next(0)]).await;
            times.push(start.elapsed());
        }
        Reading::of(times, begin.elapsed())
    }

    /// Asks each actor again as soon as it has answered.
    async fn asks(&mut self, time: Duration) -> Reading {
        let begin = Instant::now();
        let asked = self.place.actors.iter().map(async |notebook| {
            let mut times = Vec::new();
            while times.is_empty() || begin.elapsed() < time {
                let start = Instant::now();
                ask(notebook).await;
                times.push(start.elapsed());
            }
            times
        });
        let times = join_all(asked).await.concat();
        let reading = Reading::of(times, begin.elapsed());
        self.peak = reading.rate;
        reading
    }

    /// Asks at a part of the largest rate, one actor after the other, whether or not those before have answered. The time of an
    /// answer begins when it was to be asked.
    async fn asks_at(&mut self, load: f64, time: Duration) -> Reading {
        assert!(self.peak > 0.0, "the largest rate is measured before");
        let rate = self.peak * load;
        let (answer, mut answers) = mpsc::unbounded_channel();
        let begin = Instant::now();
        let mut due = arrivals(begin, rate, time);
        let mut notebooks = self.place.actors.iter().cycle();
        let mut asked = 0;
        while let Some(planned) = due.recv().await {
            let notebook = notebooks.next().expect("an actor").clone();
            let answer = answer.clone();
            actix::spawn(async move {
                ask(&notebook).await;
                let _ = answer.send((planned, Instant::now()));
            });
            asked += 1;
        }
        drop(answer);
        let (mut times, mut end) = (Vec::new(), begin);
        while let Some((planned, answered)) = answers.recv().await {
            times.push(answered - planned);
            end = end.max(answered);
        }
        assert_eq!(times.len(), asked, "each is answered");
        Reading::of(times, end - begin)
    }

    async fn close(self) {
        drop(self.bare);
        self.place.close().await;
    }
}

async fn ask(notebook: &Addr<Notebook>) {
    notebook.send(Note(1)).await.unwrap().unwrap();
}

/// Returns the times of arrival, each when it has come or a little later, at equal distances. A thread waits for them: timers
/// of tokio are a millisecond apart.
fn arrivals(begin: Instant, rate: f64, time: Duration) -> mpsc::UnboundedReceiver<Instant> {
    let (arrive, arrived) = mpsc::unbounded_channel();
    thread::spawn(move || {
        let count = (rate * time.as_secs_f64()).ceil();
        for number in 0..count as u32 {
            let planned = begin + Duration::from_secs_f64(f64::from(number) / rate);
            let now = Instant::now();
            if planned > now {
                thread::sleep((planned - now).max(LEAST_PAUSE));
            }
            if arrive.send(planned).is_err() {
                return;
            }
        }
    });
    arrived
}
