//! Whatever is asked and whatever the journal does: one reply each, in order, and no two calls of an id at once.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Duration;

use actix_persistence_storage_api::{
    CommandRules, CommandTurn, JournalCapabilities, Operation, PageLimit, ReplayRange,
    StorageError, StorageErrorKind, WriteOutcome, WriterId,
};
use futures_util::FutureExt;
use proptest::prelude::*;
use tokio::time::Instant;

use crate::fixture::{Fixture, atomic_write, id, on_paused_clock, seconds, settings, write};
use crate::scripted_journal::{Answer, Call, Called, Calls, Probe};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Clone, Debug)]
enum Ask {
    Write,
    TakeOver,
    Look,
    ReadHighest,
    Replay,
    Delete,
    /// A command after the requests of the id, in their order, or alone.
    Command(Turn),
    /// A write whose asker leaves at once.
    Abandon,
}

#[derive(Clone, Copy, Debug)]
enum Turn {
    After,
    InOrder,
    Alone,
}

#[derive(Clone, Debug)]
enum Behaviour {
    Works,
    FailsNotStored,
    FailsUnknown,
    Rejects,
    Miscounts,
    Panics,
}

#[derive(Clone, Debug)]
struct Step {
    ask: Ask,
    name: usize,
    /// The time to wait before it.
    pause_ms: u64,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let ask = prop_oneof![
        4 => Just(Ask::Write),
        1 => Just(Ask::TakeOver),
        2 => Just(Ask::Look),
        1 => Just(Ask::ReadHighest),
        1 => Just(Ask::Replay),
        1 => Just(Ask::Delete),
        1 => prop_oneof![Just(Turn::After), Just(Turn::InOrder), Just(Turn::Alone)]
            .prop_map(Ask::Command),
        1 => Just(Ask::Abandon),
    ];
    let pause = prop_oneof![4 => Just(0_u64), 1 => 1..50_u64, 1 => 1_000..9_000_u64];
    let step = (ask, 0..NAMES.len(), pause).prop_map(|(ask, name, pause_ms)| Step {
        ask,
        name,
        pause_ms,
    });
    prop::collection::vec(step, 1..60)
}

/// Draws the behaviour of the journal's calls, in turn: their time, and their end.
///
/// Some take longer than they may; all end within the grace, so that no two calls of an id may overlap.
fn behaviours() -> impl Strategy<Value = Vec<(u64, Behaviour)>> {
    let behaviour = prop_oneof![
        6 => Just(Behaviour::Works),
        1 => Just(Behaviour::FailsNotStored),
        1 => Just(Behaviour::FailsUnknown),
        1 => Just(Behaviour::Rejects),
        1 => Just(Behaviour::Miscounts),
        1 => Just(Behaviour::Panics),
    ];
    let millis = prop_oneof![2 => Just(0_u64), 6 => 1..100_u64, 1 => 10_001..19_000_u64];
    prop::collection::vec((millis, behaviour), 1..40)
}

impl Behaviour {
    fn answer(&self, call: &Call) -> Answer {
        let error = StorageError::new(StorageErrorKind::Backend, Operation::WriteMessages);
        match (self, call) {
            (Behaviour::Works, _) => Answer::Works,
            (Behaviour::FailsNotStored, _) => Answer::Fails(error.not_stored()),
            (Behaviour::FailsUnknown, _) => Answer::Fails(error),
            (Behaviour::Rejects, Call::Write(writes)) => {
                Answer::Outcomes(vec![WriteOutcome::Rejected(error); writes.len()])
            }
            (Behaviour::Miscounts, Call::Write(_)) => Answer::Outcomes(Vec::new()),
            (Behaviour::Rejects | Behaviour::Miscounts, _) => Answer::Works,
            (Behaviour::Panics, _) => Answer::Panics,
        }
    }
}

/// The calls that the journal has seen.
#[derive(Default)]
struct Seen {
    /// The ids that have a call under way that changes them.
    under_way: BTreeSet<String>,
    /// True while a command runs that is to run alone.
    still: bool,
    /// The number of the last write of each id.
    written: HashMap<String, u64>,
    /// Ids with a write of unknown outcome that were not taken over since.
    unsettled: BTreeSet<String>,
    faults: Vec<String>,
}

impl Seen {
    fn end(&mut self, call: &Call, ids: &[String], behaviour: &Behaviour, in_time: bool) {
        use Behaviour::*;
        let unknown = !in_time || matches!(behaviour, FailsUnknown | Miscounts | Panics);
        let recovered = in_time && matches!(behaviour, Works | Rejects | Miscounts);
        if *call == Call::Command(CommandTurn::Alone) {
            self.still = false;
        }
        for id in ids {
            self.under_way.remove(id);
            match call {
                Call::Write(_) if unknown => {
                    self.unsettled.insert(id.clone());
                }
                Call::TakeOver(_) if recovered => {
                    self.unsettled.remove(id);
                }
                _ => {}
            }
        }
    }

    fn begin(&mut self, call: &Call) -> Vec<String> {
        let ids: Vec<String> = match call {
            Call::Write(writes) => {
                for write in writes {
                    self.note_write(write.persistence_id().as_str(), write.lowest_sequence_nr());
                }
                let ids = writes
                    .iter()
                    .map(|write| write.persistence_id().to_string());
                ids.collect()
            }
            Call::TakeOver(requests) => {
                let ids = requests.iter().map(|r| r.persistence_id.to_string());
                ids.collect()
            }
            Call::Delete(id, _) | Call::Command(CommandTurn::InOrder(id)) => vec![id.to_string()],
            Call::Command(CommandTurn::Alone) => {
                if self.still || !self.under_way.is_empty() {
                    let text = format!("a command that is not alone: {:?}", self.under_way);
                    self.faults.push(text);
                }
                self.still = true;
                return Vec::new();
            }
            Call::ReadHighest(id) | Call::Command(CommandTurn::After(id)) => {
                if self.under_way.contains(id.as_str()) {
                    self.faults
                        .push(format!("{id} is read while it is written"));
                }
                Vec::new()
            }
            Call::Head(id) => {
                if self.under_way.contains(id.as_str()) {
                    self.faults
                        .push(format!("{id} is looked at while it is written"));
                }
                if self.unsettled.contains(id.as_str()) {
                    self.faults
                        .push(format!("{id} is looked at although a write may still come"));
                }
                Vec::new()
            }
            Call::Initialize | Call::Replay(_) | Call::Command(CommandTurn::Beside) => Vec::new(),
        };
        if self.still && !ids.is_empty() {
            self.faults.push(format!(
                "{ids:?} are changed beside a command that is alone"
            ));
        }
        for id in &ids {
            if !self.under_way.insert(id.clone()) {
                self.faults.push(format!("two calls of {id} at once"));
            }
        }
        ids
    }

    /// Requests are numbered as they are sent; a group that is split repeats a number.
    fn note_write(&mut self, id: &str, number: u64) {
        let last = self.written.insert(id.to_owned(), number).unwrap_or(0);
        if number < last {
            self.faults.push(format!("{id}: {number} after {last}"));
        }
    }
}

/// Answers calls as told until the journal is gone.
async fn serve(mut calls: Calls, script: Vec<(u64, Behaviour)>, seen: Rc<RefCell<Seen>>) {
    let mut script = script.into_iter().cycle();
    while let Some(called) = calls.recv().await {
        let (millis, behaviour) = script.next().expect("endless");
        actix_rt::spawn(end_later(called, millis, behaviour, seen.clone()));
    }
}

async fn end_later(called: Called, millis: u64, behaviour: Behaviour, seen: Rc<RefCell<Seen>>) {
    let ids = seen.borrow_mut().begin(&called.call);
    tokio::time::sleep(Duration::from_millis(millis)).await;
    let in_time = millis < 10_000;
    seen.borrow_mut()
        .end(&called.call, &ids, &behaviour, in_time);
    let answer = behaviour.answer(&called.call);
    called.gives(answer);
}

/// Sends everything and gives how many requests were not answered in time, and what went wrong at the journal.
async fn run(
    steps: Vec<Step>,
    script: Vec<(u64, Behaviour)>,
    lanes: usize,
) -> (usize, Vec<String>) {
    let capabilities = JournalCapabilities::default()
        .with_lanes(lanes)
        .with_max_group(3, 1_000);
    let Fixture { handle, calls } = Fixture::ready_with(settings(), capabilities).await;
    let send_write = |name: &str, number| {
        let deadline = Instant::now() + handle.settings().write_timeout;
        write(
            &handle,
            name,
            vec![atomic_write(name, number, 1, 1)],
            deadline,
        )
    };
    let seen = Rc::new(RefCell::new(Seen::default()));
    actix_rt::spawn(serve(calls, script, seen.clone()));
    let mut replies = Vec::new();
    for (number, step) in (1..).zip(steps) {
        tokio::time::sleep(Duration::from_millis(step.pause_ms)).await;
        let name = NAMES[step.name];
        replies.push(match step.ask {
            Ask::Write => send_write(name, number)
                .map(|reply| assert_eq!(reply.outcomes.len(), 1))
                .boxed_local(),
            Ask::TakeOver => handle
                .take_over(id(name), WriterId::NIL)
                .map(drop)
                .boxed_local(),
            Ask::Look => handle.look(id(name), WriterId::NIL).map(drop).boxed_local(),
            Ask::ReadHighest => handle
                .read_highest_sequence_nr(id(name))
                .map(drop)
                .boxed_local(),
            Ask::Replay => handle
                .replay(id(name), ReplayRange::ALL, PageLimit::DEFAULT)
                .map(drop)
                .boxed_local(),
            Ask::Delete => handle
                .delete_messages_to(id(name), 1)
                .map(drop)
                .boxed_local(),
            Ask::Command(turn) => {
                let rules = match turn {
                    Turn::After => CommandRules::after(id(name)),
                    Turn::InOrder => CommandRules::in_order(id(name)),
                    Turn::Alone => CommandRules::alone(),
                };
                handle.ask(Probe(rules)).map(drop).boxed_local()
            }
            Ask::Abandon => {
                drop(send_write(name, number));
                continue;
            }
        });
    }
    tokio::time::sleep(seconds(3_600)).await;
    let unanswered = replies
        .into_iter()
        .filter_map(|reply| reply.now_or_never().is_none().then_some(()))
        .count();
    handle.drained().await;
    let faults = seen.borrow().faults.clone();
    (unanswered, faults)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_reply_each_in_order_and_never_two_calls_of_an_id(
        steps in steps(),
        script in behaviours(),
        lanes in 1..3_usize,
    ) {
        let (unanswered, faults) = on_paused_clock(run(steps, script, lanes));
        prop_assert_eq!(unanswered, 0);
        prop_assert!(faults.is_empty(), "{:?}", faults);
    }
}
