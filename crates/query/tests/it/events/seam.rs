//! Random histories of streams that share a tail.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use actix_persistence_query::{EventStream, QuerySettings};
use actix_persistence_storage_api::{
    EventOffset, EventRecord, EventSelection, Journal, PersistenceId, SequenceNr, StorageErrorKind,
};
use fastrand::Rng;
use futures_util::StreamExt;
use futures_util::future::{join, join_all};
use tokio::time::{sleep, timeout};

use super::fixture::{Said, said};
use super::partitioned::{Partitioned, on_paused_clock};

const TYPES: [&str; 2] = ["Talker", "Singer"];
const TAGS: [&str; 3] = ["red", "green", "blue"];
const HISTORIES: usize = 40;
const STEPS: usize = 80;
const MOST_STREAMS: usize = 8;

/// An event that was stored, in the order of all.
struct Stored {
    id: PersistenceId,
    record: EventRecord,
    is_deleted: bool,
}

struct Reader {
    selection: EventSelection,
    stream: EventStream<Said>,
    got: Vec<(PersistenceId, SequenceNr)>,
}

struct World {
    rng: Rng,
    journal: Partitioned,
    stored: Vec<Stored>,
    readers: Vec<Reader>,
}

impl Reader {
    /// Takes what comes within a time, at most so many.
    async fn take(&mut self, most: usize, time: Duration) {
        let taking = async {
            for _ in 0..most {
                let envelope = self.stream.next().await.unwrap().unwrap();
                self.got
                    .push((envelope.persistence_id, envelope.sequence_nr));
            }
        };
        let _ = timeout(time, taking).await;
    }
}

impl World {
    fn selection(&mut self) -> EventSelection {
        let mut selection = EventSelection::all();
        if self.rng.u8(..3) == 0 {
            selection = selection.of_entity_type(self.rng.choice(TYPES).unwrap());
        }
        if self.rng.u8(..3) == 0 {
            selection = selection.with_tag(self.rng.choice(TAGS).unwrap());
        }
        if self.rng.bool() {
            let start = self.rng.u16(..1024);
            selection = selection.of_slices(start..=self.rng.u16(start..1024));
        }
        selection
    }

    async fn store(&mut self) {
        let name = self.rng.u8(..6).to_string();
        let id = PersistenceId::of(self.rng.choice(TYPES).unwrap(), &name);
        let of_id = self.stored.iter().filter(|stored| stored.id == id);
        let tags = TAGS.into_iter().filter(|_| self.rng.u8(..3) == 0);
        let record = said(of_id.count() as u64 + 1, "word").with_tags(tags.collect::<Vec<_>>());
        match self.rng.bool() {
            true => self.journal.store(&id, record.clone()).await,
            false => self.journal.store_elsewhere(&id, record.clone()).await,
        }
        self.stored.push(Stored {
            id,
            record,
            is_deleted: false,
        });
    }

    async fn delete(&mut self) {
        let Some(last) = self.rng.choice(&self.stored) else {
            return;
        };
        let (id, to) = (last.id.clone(), last.record.sequence_nr);
        let journal = &self.journal.journal;
        journal.delete_messages_to(&id, to.into()).await.unwrap();
        for stored in &mut self.stored {
            stored.is_deleted |= stored.id == id && stored.record.sequence_nr <= to;
        }
    }

    fn open(&mut self) {
        let selection = self.selection();
        self.readers.push(Reader {
            stream: self.journal.live(selection.clone()),
            selection,
            got: Vec::new(),
        });
    }

    /// Ends a stream, and goes on from its offset, as the text that is kept.
    fn reopen(&mut self, nr: usize) {
        let reader = &mut self.readers[nr];
        let kept: EventOffset = reader.stream.offset().to_string().parse().unwrap();
        let selection = reader.selection.clone();
        reader.stream = self.journal.queries.events(selection, kept);
    }

    /// Stores while all streams are polled.
    async fn store_beside_readers(&mut self) {
        let time = Duration::from_millis(self.rng.u64(20..200));
        let mut readers = std::mem::take(&mut self.readers);
        let reading = join_all(readers.iter_mut().map(|reader| reader.take(50, time)));
        let storing = async {
            for _ in 0..self.rng.u8(1..20) {
                self.store().await;
                sleep(Duration::from_millis(self.rng.u64(..10))).await;
            }
        };
        join(reading, storing).await;
        self.readers = readers;
    }

    async fn step(&mut self) {
        let number = self.readers.len();
        let nr = self.rng.usize(..number.max(1));
        match self.rng.u8(..18) {
            0..=3 => {
                for _ in 0..self.rng.u8(1..6) {
                    self.store().await;
                }
            }
            4 => self.journal.journal.script().complete_to = Some(self.stored.len() as i64),
            5 => self.journal.journal.script().complete_to = None,
            6 => self.delete().await,
            7 if number < MOST_STREAMS => self.open(),
            8 if number > 0 => self.reopen(nr),
            9 if number > 4 => drop(self.readers.swap_remove(nr)),
            10 => {
                let errors = [StorageErrorKind::Unavailable, StorageErrorKind::Timeout];
                let error = self.rng.choice(errors).unwrap();
                self.journal.journal.script().errors.push(error);
            }
            11 => sleep(Duration::from_secs(self.rng.u64(..60))).await,
            12 if number > 0 => {
                let time = Duration::from_millis(self.rng.u64(..20));
                self.readers[nr].take(self.rng.usize(..10), time).await;
            }
            13 => {
                let time = Duration::from_millis(self.rng.u64(..200));
                join_all(self.readers.iter_mut().map(|reader| reader.take(50, time))).await;
            }
            _ => self.store_beside_readers().await,
        }
    }

    /// Takes all the rest, and compares what each stream got with what was stored.
    async fn end(mut self, seed: u64) {
        self.journal.journal.script().complete_to = None;
        let rest = self.readers.iter_mut();
        join_all(rest.map(|reader| reader.take(usize::MAX, Duration::from_secs(100)))).await;
        let pages = self.journal.pages();
        assert!(pages < 3_000, "seed {seed}: {pages} pages");
        let mut places = BTreeMap::new();
        for (place, stored) in self.stored.iter().enumerate() {
            places.insert((&stored.id, stored.record.sequence_nr), place);
        }
        for Reader { selection, got, .. } in &self.readers {
            let mut seen = BTreeSet::new();
            let mut last_of_id = BTreeMap::new();
            for (id, number) in got {
                let place = places[&(id, *number)];
                assert!(
                    seen.insert(place),
                    "seed {seed}: {number} of {id:?} came twice"
                );
                let last = last_of_id.insert(id, place);
                assert!(last < Some(place), "seed {seed}: {id:?} is out of order");
            }
            for (place, stored) in self.stored.iter().enumerate() {
                let is_due = selection.selects(&stored.id, &stored.record);
                let (id, number) = (&stored.id, stored.record.sequence_nr);
                assert!(
                    seen.contains(&place) == is_due || (is_due && stored.is_deleted),
                    "seed {seed}: {number} of {id:?} for {selection:?}, which got {got:?}"
                );
            }
        }
    }
}

#[test]
fn each_stream_gets_each_event_once_and_in_order_whatever_meets() {
    // Each run makes other histories. The last seed that is said is that of a failure.
    let mut seeds = Rng::new();
    for seed in (0..HISTORIES).map(|_| seeds.u64(..)) {
        eprintln!("seed {seed}");
        on_paused_clock(async {
            fastrand::seed(seed);
            let mut rng = Rng::with_seed(seed);
            let partitions = rng.choice([1, 4, 8]).unwrap();
            let settings = QuerySettings::default().with_page_size(rng.usize(1..8));
            let mut world = World {
                journal: Partitioned::new(partitions, Some(seed), settings),
                rng,
                stored: Vec::new(),
                readers: Vec::new(),
            };
            for _ in 0..STEPS {
                world.step().await;
            }
            world.end(seed).await;
        });
    }
}
