//! The contract as a plain sequential machine, and what it makes of a program.

use std::collections::VecDeque;

use super::Observed;
use super::program::{Call, Command, How, Op, Step, Verdict};
use crate::fates::Fates;

/// In milliseconds, as everything about time here.
pub(crate) const CALL_TIMEOUT: u64 = 10_000;
const BACK_OFF: u64 = 3_000;
const TIMER: u64 = 1_300;
/// An actor lets others run after this many turns; what happens then depends on the scheduler, so that such programs are
/// left out.
const TURNS_AT_ONCE: usize = 60;

/// The outcome of a program; `None` if it does too much at once.
pub(crate) fn expected(steps: &[Step]) -> Option<Observed> {
    let mut world = Reference {
        life: Life::Recovering,
        ..Reference::default()
    };
    world.pass(1);
    for step in steps {
        match step {
            Step::Send(command) => world.send(command.clone()),
            Step::Answer(verdict) => world.answer(*verdict),
            Step::Minute => world.pass(60_000),
            Step::Start if matches!(world.life, Life::Down) => world.life = Life::Recovering,
            Step::Start => {}
        }
        world.pass(1);
    }
    while world.held.is_some() {
        world.answer(Verdict::Store);
        world.pass(1);
    }
    world.pass(3_600_000);
    (world.most_turns <= TURNS_AT_ONCE).then(|| world.finish())
}

/// Returns the time that a timer of the program takes.
pub(crate) fn timer_millis(after: u64) -> u64 {
    after * TIMER
}

/// Code of the actor did what ends the incarnation.
struct Panicked;

#[derive(Default)]
struct Reference {
    now: u64,
    log: Vec<String>,
    numbers: i64,
    asks: Vec<Ask>,
    mailbox: VecDeque<(usize, Command)>,
    aside: VecDeque<(usize, Command)>,
    life: Life,
    stored: Vec<i64>,
    snapshot: Option<(usize, Vec<i64>)>,
    held: Option<Held>,
    incarnations: usize,
    most_turns: usize,
}

#[derive(Default)]
enum Life {
    #[default]
    Down,
    BackingOff {
        until: u64,
    },
    /// Waits for a write of the last incarnation.
    Recovering,
    Up(Incarnation),
}

/// The write that the journal has not answered.
struct Held {
    since: u64,
    owner: usize,
    writes: Vec<Vec<i64>>,
    /// True if it has come as far as the journal, or would die on the way with its asker.
    arrived: bool,
}

#[derive(Default)]
struct Ask {
    /// True if the channel was handed over, to be answered later.
    handed_over: bool,
    answer: Option<String>,
    fates: Fates,
}

#[derive(Default)]
struct Incarnation {
    number: usize,
    state: Vec<i64>,
    last: usize,
    closed: bool,
    queue: VecDeque<Pending>,
    failed: bool,
    waits: VecDeque<Callback>,
    tasks: VecDeque<(u64, Callback)>,
    /// True if tasks had a turn and want another.
    message_is_next: bool,
    saving: Vec<usize>,
    saved: VecDeque<usize>,
    stopping: bool,
    terminated: bool,
}

struct Callback {
    entry: String,
    then: Vec<Op>,
}

struct Pending {
    stashing: bool,
    events: Vec<i64>,
    handler: Vec<Op>,
    complete: Callback,
    /// Of the command that caused it.
    cause: Option<usize>,
    /// True if it answers that command.
    replies: bool,
    fate: Fate,
}

#[derive(Clone, Copy)]
enum Fate {
    Unsent,
    Sent(usize),
    Stored(usize),
    Rejected,
    Failed(&'static str, usize),
}

impl Incarnation {
    fn holds_back(&self) -> bool {
        self.queue.iter().any(|pending| pending.stashing)
    }

    fn head_is_settled(&self) -> bool {
        self.queue
            .front()
            .is_some_and(|head| !matches!(head.fate, Fate::Unsent | Fate::Sent(_)))
    }

    fn interrupts_turns(&self) -> bool {
        self.stopping || self.holds_back() || !self.waits.is_empty() || self.head_is_settled()
    }
}

impl Reference {
    fn actor(&mut self) -> &mut Incarnation {
        match &mut self.life {
            Life::Up(incarnation) => incarnation,
            _ => unreachable!("only a live actor has turns"),
        }
    }

    fn number(&mut self) -> i64 {
        self.numbers += 1;
        self.numbers - 1
    }

    fn send(&mut self, command: Command) {
        let ask = self.asks.len();
        self.asks.push(Ask::default());
        if !matches!(self.life, Life::Down) {
            self.mailbox.push_back((ask, command));
        }
    }

    /// Lets time pass, and everything happen that can.
    fn pass(&mut self, millis: u64) {
        let end = self.now + millis;
        loop {
            self.settle();
            let Some(next) = self.next_instant().filter(|next| *next <= end) else {
                break;
            };
            self.now = next;
            if self
                .held
                .as_ref()
                .is_some_and(|held| held.since + CALL_TIMEOUT == next)
            {
                self.answer(Verdict::LostUnknown);
            }
            if matches!(self.life, Life::BackingOff { until } if until == next) {
                self.life = Life::Recovering;
            }
        }
        self.now = end;
    }

    fn next_instant(&self) -> Option<u64> {
        let timeout = self.held.as_ref().map(|held| held.since + CALL_TIMEOUT);
        let (rebuild, timers) = match &self.life {
            Life::BackingOff { until } => (Some(*until), None),
            Life::Up(incarnation) => {
                let timers = incarnation.tasks.iter().map(|(at, _)| *at);
                (None, timers.filter(|at| *at > self.now).min())
            }
            _ => (None, None),
        };
        [timeout, rebuild, timers].into_iter().flatten().min()
    }

    fn settle(&mut self) {
        let mut turns = 0;
        loop {
            match &mut self.life {
                Life::Recovering if self.held.is_none() => self.recover(),
                Life::Up(_) => {
                    if self.act() {
                        turns += 1;
                        self.most_turns = self.most_turns.max(turns);
                        continue;
                    }
                    turns = 0;
                    if let Some(held) = &mut self.held {
                        held.arrived = true;
                    }
                    let actor = self.actor();
                    if actor.saving.is_empty() {
                        return;
                    }
                    let saved = std::mem::take(&mut actor.saving);
                    actor.saved.extend(saved);
                    if self.actor().holds_back() {
                        return;
                    }
                }
                _ => return,
            }
        }
    }

    fn recover(&mut self) {
        let mut actor = Incarnation {
            number: self.incarnations,
            ..Incarnation::default()
        };
        self.incarnations += 1;
        if let Some((last, state)) = &self.snapshot {
            self.log.push(format!("snapshot {last}"));
            actor.state.clone_from(state);
            actor.last = *last;
        }
        for event in &self.stored[actor.last..] {
            self.log.push(format!("event {event}"));
            actor.state.push(*event);
        }
        actor.last = self.stored.len();
        self.log.push(format!("recovered at {}", actor.last));
        self.life = Life::Up(actor);
    }

    /// The next thing the actor does, if there is one.
    fn act(&mut self) -> bool {
        if self.actor().terminated {
            self.stopped();
            return true;
        }
        let Ok(progress) = self.next_turn() else {
            self.fail();
            return true;
        };
        self.flush();
        let actor = self.actor();
        if actor.stopping && !actor.terminated && actor.queue.is_empty() {
            self.stopped();
            return true;
        }
        progress
    }

    fn next_turn(&mut self) -> Result<bool, Panicked> {
        let now = self.now;
        let actor = self.actor();
        if actor.head_is_settled() {
            self.handle_head()?;
        } else if actor.holds_back() || actor.stopping {
            return Ok(false);
        } else if let Some(wait) = actor.waits.pop_front() {
            self.call(wait, None)?;
        } else if let Some(saved) = actor.saved.pop_front() {
            self.log.push(format!("saved {saved}"));
        } else {
            let message_is_next = std::mem::take(&mut actor.message_is_next);
            let are_due = actor.tasks.iter().any(|(at, _)| *at <= now);
            if are_due && (!message_is_next || self.mailbox.is_empty()) {
                self.run_tasks()?;
            } else if let Some((ask, command)) = self.mailbox.pop_front() {
                self.command(ask, command)?;
            } else {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn run_tasks(&mut self) -> Result<(), Panicked> {
        let mut unpolled = std::mem::take(&mut self.actor().tasks);
        let mut kept = VecDeque::new();
        while let Some((at, callback)) = unpolled.pop_front() {
            if at > self.now {
                kept.push_back((at, callback));
                continue;
            }
            self.call(callback, None)?;
            if self.actor().interrupts_turns() {
                self.actor().message_is_next = true;
                break;
            }
        }
        let spawned = std::mem::take(&mut self.actor().tasks);
        self.actor().message_is_next |= !spawned.is_empty();
        self.actor().tasks = unpolled.into_iter().chain(kept).chain(spawned).collect();
        Ok(())
    }

    fn command(&mut self, ask: usize, command: Command) -> Result<(), Panicked> {
        if self.actor().closed && !command.opens() {
            self.log.push(format!("aside {ask}"));
            self.aside.push_back((ask, command));
            return Ok(());
        }
        self.log.push(format!("command {ask}"));
        self.play(command.ops, Some(ask))?;
        match command.reply {
            How::Now => self.asks[ask].answer = Some(ask.to_string()),
            How::ByHandler => self.asks[ask].handed_over = true,
            How::With(call) => {
                self.persist(call, Some(ask), true);
                self.asks[ask].handed_over = true;
            }
        }
        Ok(())
    }

    fn call(&mut self, callback: Callback, cause: Option<usize>) -> Result<(), Panicked> {
        self.log.push(callback.entry);
        self.play(callback.then, cause)
    }

    fn play(&mut self, ops: Vec<Op>, cause: Option<usize>) -> Result<(), Panicked> {
        ops.into_iter().try_for_each(|op| self.perform(op, cause))
    }

    fn perform(&mut self, op: Op, cause: Option<usize>) -> Result<(), Panicked> {
        let now = self.now;
        match op {
            Op::Persist(call) => self.persist(call, cause, false),
            Op::Defer { stashing, then } => {
                let complete = self.callback("deferred", then);
                self.actor().queue.push_back(Pending {
                    stashing,
                    events: Vec::new(),
                    handler: Vec::new(),
                    complete,
                    cause,
                    replies: false,
                    fate: Fate::Stored(0),
                });
            }
            Op::Timer(after, then) => {
                let callback = self.callback("timer", then);
                let at = now + timer_millis(after);
                self.actor().tasks.push_back((at, callback));
            }
            Op::Spawn(then) => {
                let callback = self.callback("spawned", then);
                self.actor().tasks.push_back((now, callback));
            }
            Op::Wait(then) => {
                let callback = self.callback("waited", then);
                self.actor().waits.push_back(callback);
            }
            Op::SaveSnapshot => {
                let actor = self.actor();
                let (last, state) = (actor.last, actor.state.clone());
                actor.saving.push(last);
                self.snapshot = Some((last, state));
            }
            Op::Close => self.actor().closed = true,
            Op::OpenAll => {
                self.actor().closed = false;
                self.take_back_all();
            }
            Op::OpenOne => {
                self.actor().closed = false;
                self.mailbox.extend(self.aside.pop_front());
            }
            Op::Answer => {
                let number = self.number();
                let taken = self.answer_ask(cause, number.to_string());
                self.log.push(format!("answered {number}: {taken}"));
            }
            Op::Mark => {
                self.number();
            }
            Op::Stop => self.actor().stopping = true,
            Op::Terminate => {
                self.actor().stopping = true;
                self.actor().terminated = true;
            }
            Op::Panic => return Err(Panicked),
        }
        Ok(())
    }

    fn callback(&mut self, name: &str, then: Vec<Op>) -> Callback {
        let entry = format!("{name} {}", self.number());
        Callback { entry, then }
    }

    fn persist(&mut self, call: Call, cause: Option<usize>, replies: bool) {
        let events: Vec<_> = (0..call.events).map(|_| self.number()).collect();
        let complete = self.callback("completed", call.complete);
        let fate = if events.is_empty() {
            Fate::Stored(0)
        } else if call.unencodable {
            Fate::Rejected
        } else {
            Fate::Unsent
        };
        self.actor().queue.push_back(Pending {
            stashing: call.stashing,
            events,
            handler: call.handler,
            complete,
            cause,
            replies,
            fate,
        });
    }

    /// Sends everything that is unsent, unless a write is under way or has failed.
    fn flush(&mut self) {
        let (now, stored) = (self.now, self.stored.len());
        if self.held.is_some() || self.actor().failed {
            return;
        }
        let actor = self.actor();
        let mut next = stored + 1;
        let mut writes = Vec::new();
        for pending in &mut actor.queue {
            if matches!(pending.fate, Fate::Unsent) {
                pending.fate = Fate::Sent(next);
                next += pending.events.len();
                writes.push(pending.events.clone());
            }
        }
        let owner = actor.number;
        if !writes.is_empty() {
            self.held = Some(Held {
                since: now,
                owner,
                writes,
                arrived: false,
            });
        }
    }

    /// The journal answers the write it holds, if there is one.
    fn answer(&mut self, verdict: Verdict) {
        let Some(held) = self.held.take() else {
            return;
        };
        let stored = match verdict {
            Verdict::Store | Verdict::StoredUnknown => held.writes.len(),
            Verdict::Reject(index) => index % held.writes.len(),
            Verdict::NotStored | Verdict::LostUnknown => 0,
        };
        self.stored
            .extend(held.writes.iter().take(stored).flatten());
        let Life::Up(actor) = &mut self.life else {
            return;
        };
        if actor.number != held.owner {
            return;
        }
        let sent = actor
            .queue
            .iter_mut()
            .filter(|pending| matches!(pending.fate, Fate::Sent(_)));
        for (index, pending) in sent.enumerate() {
            let Fate::Sent(first) = pending.fate else {
                unreachable!()
            };
            pending.fate = match verdict {
                Verdict::NotStored => Fate::Failed("NotStored", first),
                Verdict::StoredUnknown | Verdict::LostUnknown => Fate::Failed("Unknown", first),
                Verdict::Reject(_) if index == stored => Fate::Rejected,
                Verdict::Reject(_) if index > stored => Fate::Unsent,
                Verdict::Reject(_) | Verdict::Store => Fate::Stored(first),
            };
            actor.failed |= matches!(pending.fate, Fate::Failed(..));
        }
        self.flush();
    }

    fn handle_head(&mut self) -> Result<(), Panicked> {
        let actor = self.actor();
        let Some(head) = actor.queue.pop_front() else {
            return Ok(());
        };
        let cause = head.cause;
        match head.fate {
            Fate::Stored(first) => {
                if let Some(cause) = cause.filter(|_| !head.events.is_empty()) {
                    self.asks[cause].fates.note_stored();
                }
                let unanswered = unanswered(&head.events);
                if self.handle_stored(head, first).is_err() {
                    self.tell_failure(cause, unanswered);
                    return Err(Panicked);
                }
            }
            Fate::Rejected => {
                for event in head.events {
                    self.log.push(format!("rejected {event}"));
                }
                self.tell_failure(cause, "Rejected");
            }
            Fate::Failed(kind, first) => {
                self.log
                    .push(format!("failed {} at {first}: {kind}", head.events[0]));
                self.tell_failure(cause, kind);
                return Err(Panicked);
            }
            Fate::Unsent | Fate::Sent(_) => unreachable!("the head is settled"),
        }
        Ok(())
    }

    fn handle_stored(&mut self, head: Pending, first: usize) -> Result<(), Panicked> {
        for (number, event) in (first..).zip(head.events) {
            let actor = self.actor();
            actor.last = number;
            actor.state.push(event);
            self.log.push(format!("event {event}"));
            self.log.push(format!("handler {event}"));
            self.play(head.handler.clone(), head.cause)?;
        }
        self.call(head.complete, head.cause)?;
        if head.replies {
            let ask = head.cause.unwrap();
            self.log.push(format!("answer {ask}"));
            self.answer_ask(head.cause, ask.to_string());
        }
        Ok(())
    }

    /// Answers a command, once; returns whether an asker waited.
    fn answer_ask(&mut self, cause: Option<usize>, answer: String) -> bool {
        let Some(ask) = cause.map(|cause| &mut self.asks[cause]) else {
            return false;
        };
        let waits = ask.handed_over && ask.answer.is_none();
        if waits {
            ask.answer = Some(answer);
        }
        waits
    }

    fn tell_failure(&mut self, cause: Option<usize>, kind: &'static str) {
        let Some(ask) = cause else {
            return;
        };
        self.asks[ask].fates.note(kind);
    }

    /// The incarnation ends: whoever waits for its calls learns what is certain about them.
    fn abandon(&mut self) -> Incarnation {
        let Life::Up(mut actor) = std::mem::take(&mut self.life) else {
            unreachable!("only a live actor ends")
        };
        for pending in actor.queue.drain(..) {
            let kind = match pending.fate {
                Fate::Unsent => "ActorFailed",
                Fate::Sent(_) => "Unknown",
                Fate::Stored(_) => unanswered(&pending.events),
                Fate::Rejected => "Rejected",
                Fate::Failed(kind, _) => kind,
            };
            self.tell_failure(pending.cause, kind);
        }
        if self.held.as_ref().is_some_and(|held| !held.arrived) {
            self.held = None;
        }
        actor
    }

    fn fail(&mut self) {
        let actor = self.abandon();
        if actor.stopping {
            self.mailbox.clear();
            self.aside.clear();
            return;
        }
        self.take_back_all();
        self.life = Life::BackingOff {
            until: self.now + BACK_OFF,
        };
    }

    fn stopped(&mut self) {
        let actor = self.abandon();
        self.log.push(format!("stopped with {:?}", actor.state));
        self.mailbox.clear();
        self.aside.clear();
    }

    fn take_back_all(&mut self) {
        while let Some(command) = self.aside.pop_back() {
            self.mailbox.push_front(command);
        }
    }

    /// The last address is dropped, and the actor is started once more to see what it knows.
    fn finish(mut self) -> Observed {
        if matches!(self.life, Life::Up(_)) {
            self.stopped();
        }
        let answers = self.asks.into_iter().map(|mut ask| {
            let noted = ask.fates.take().filter(|_| ask.handed_over);
            ask.answer
                .or(noted.map(str::to_owned))
                .unwrap_or_else(|| "Closed".to_owned())
        });
        Observed {
            log: self.log,
            answers: answers.collect(),
            state: self.stored.clone(),
            stored: self.stored,
        }
    }
}

fn unanswered(events: &[i64]) -> &'static str {
    if events.is_empty() {
        "ActorFailed"
    } else {
        "StoredUnanswered"
    }
}
