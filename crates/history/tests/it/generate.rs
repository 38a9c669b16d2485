//! Valid random histories: a store that keeps every promise, under several processes that are killed, and faults.

use actix_persistence_history::{
    Answer, Done, History, Incarnation, Operation, ProcessEvent, Record, Row, Table, Uid, What,
};

use crate::generate_events::{EventActor, EventStore};
use crate::generate_readers::ReaderSlot;
use crate::generate_states::{StateActor, StateStore};
use crate::random::Random;

/// The size of a history, and how wild it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) processes: usize,
    /// Ids with events, and as many with states.
    pub(crate) ids: usize,
    pub(crate) steps: usize,
    /// One write in this many meets a fault.
    pub(crate) fault_in: usize,
    /// A process is killed once in this many steps.
    pub(crate) kill_in: usize,
    /// True if ids are reset now and then.
    pub(crate) resets: bool,
}

impl Size {
    pub(crate) const SMALL: Size = Size {
        processes: 3,
        ids: 3,
        steps: 400,
        fault_in: 6,
        kill_in: 60,
        resets: false,
    };
}

/// The fate of a call that the store has dealt with.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    Ok,
    Rejected,
    Failed,
    UnknownDone,
    UnknownNotDone,
    UnknownLater,
}

/// The world so far.
pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) size: Size,
    now: u64,
    pub(crate) records: Vec<Record>,
    /// The number of the process in each place.
    processes: Vec<u32>,
    next_process: u32,
    next_call: u64,
    next_uid: u32,
    next_incarnation: u32,
    next_reader: u64,
    pub(crate) events: Vec<EventStore>,
    pub(crate) states: Vec<StateStore>,
    /// The order in which events were stored, over all ids: id and number.
    pub(crate) event_order: Vec<(usize, u64, Uid)>,
    /// The order in which states changed: id, life, revision, state.
    pub(crate) state_order: Vec<(usize, usize, u64, Option<Uid>)>,
}

impl World {
    fn new(seed: u64, size: Size) -> Self {
        Self {
            random: Random(seed),
            size,
            now: 1,
            records: Vec::new(),
            processes: (1..).take(size.processes).collect(),
            next_process: size.processes as u32 + 1,
            next_call: 0,
            next_uid: 0,
            next_incarnation: 0,
            next_reader: 0,
            events: (0..size.ids).map(EventStore::new).collect(),
            states: (0..size.ids).map(StateStore::new).collect(),
            event_order: Vec::new(),
            state_order: Vec::new(),
        }
    }

    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    pub(crate) fn record(&mut self, place: usize, what: What) {
        // Now and then two things happen at the same time.
        self.now += u64::from(!self.random.one_in(8));
        self.records.push(Record {
            at: self.now,
            process: self.processes.get(place).copied().unwrap_or(0),
            what,
        });
    }

    pub(crate) fn process(&self, place: usize) -> u32 {
        self.processes[place]
    }

    pub(crate) fn invoke(&mut self, place: usize, operation: Operation) -> u64 {
        self.next_call += 1;
        let call = self.next_call;
        self.record(place, What::Invoke { call, operation });
        call
    }

    pub(crate) fn answer(&mut self, place: usize, call: u64, answer: Answer) {
        self.record(place, What::Answer { call, answer });
    }

    pub(crate) fn uid(&mut self, place: usize) -> Uid {
        self.next_uid += 1;
        Uid::of(self.processes[place], self.next_uid)
    }

    pub(crate) fn incarnation(&mut self, place: usize) -> Incarnation {
        self.next_incarnation += 1;
        Incarnation::of(self.processes[place], self.next_incarnation)
    }

    pub(crate) fn reader(&mut self) -> u64 {
        self.next_reader += 1;
        self.next_reader
    }

    pub(crate) fn fate(&mut self) -> Fate {
        if !self.random.one_in(self.size.fault_in) {
            return Fate::Ok;
        }
        match self.random.below(5) {
            0 => Fate::Rejected,
            1 => Fate::Failed,
            2 => Fate::UnknownDone,
            3 => Fate::UnknownNotDone,
            _ => Fate::UnknownLater,
        }
    }

    /// Answers a call that did something and says no more of it.
    pub(crate) fn done(&mut self, place: usize, call: u64, fate: &Fate) {
        let answer = match fate {
            Fate::Ok => Answer::Ok(Done::Done),
            Fate::Rejected => Answer::Rejected,
            Fate::Failed => Answer::Failed,
            _ => Answer::Unknown,
        };
        self.answer(place, call, answer);
    }
}

/// A valid history.
pub(crate) fn history(seed: u64, size: Size) -> History {
    let mut world = World::new(seed, size);
    let places = size.processes * size.ids;
    let mut events: Vec<_> = (0..places).map(|_| EventActor::default()).collect();
    let mut states: Vec<_> = (0..places).map(|_| StateActor::default()).collect();
    let mut readers: Vec<_> = (0..4).map(ReaderSlot::new).collect();
    for _ in 0..size.steps {
        let (process, id) = (
            world.random.below(size.processes),
            world.random.below(size.ids),
        );
        let place = process * size.ids + id;
        match world.random.below(16) {
            0..8 => events[place].step(&mut world, process, id),
            8..13 => states[place].step(&mut world, process, id),
            13 => {
                let reader = world.random.below(readers.len());
                readers[reader].step(&mut world);
            }
            14 => EventStore::late(&mut world, id),
            _ => StateStore::late(&mut world, id),
        }
        if world.random.one_in(size.kill_in) {
            kill(&mut world, process, &mut events, &mut states);
        }
        if size.resets && world.random.one_in(40) {
            let of_id = |process: usize| process * size.ids + id;
            if (0..size.processes).all(|process| events[of_id(process)].is_down()) {
                EventStore::reset(&mut world, id);
            }
            if (0..size.processes).all(|process| states[of_id(process)].is_down()) {
                StateStore::reset(&mut world, id);
            }
        }
    }
    for process in 0..size.processes {
        kill(&mut world, process, &mut events, &mut states);
    }
    for id in 0..size.ids {
        EventStore::late(&mut world, id);
        StateStore::late(&mut world, id);
    }
    for reader in &mut readers {
        reader.finish(&mut world);
    }
    rows(&mut world);
    History {
        records: world.records,
    }
}

fn kill(world: &mut World, process: usize, events: &mut [EventActor], states: &mut [StateActor]) {
    for id in 0..world.size.ids {
        let place = process * world.size.ids + id;
        events[place].kill(world, id);
        states[place].kill(world, id);
    }
    let number = world.processes[process];
    let event = ProcessEvent::Killed;
    world.record(usize::MAX, What::Process { number, event });
    world.processes[process] = world.next_process;
    world.next_process += 1;
}

fn rows(world: &mut World) {
    let mut rows = Vec::new();
    for store in &world.events {
        store.rows(&mut rows);
    }
    for store in &world.states {
        store.rows(&mut rows);
    }
    for row in rows {
        world.record(usize::MAX, What::Row(row));
    }
    let changes = Table::Changes {
        table: "counts".into(),
        prefix: "state".into(),
    };
    for table in [
        Table::Events,
        Table::Heads,
        Table::Snapshots,
        Table::States,
        changes,
    ] {
        world.record(usize::MAX, What::Dumped(table));
    }
}

pub(crate) type Rows = Vec<Row>;
