//! The contract as a plain sequential machine, and what it makes of a program.

use std::collections::VecDeque;

use actix_persistence_storage_api::Revision;

use crate::fates::Fates;

use super::super::memo::shown;
use super::Observed;
use super::program::{Change, Command, Op, Step, Verdict, What};

/// The outcome of a program.
pub(crate) fn expected(steps: &[Step]) -> Observed {
    let mut machine = Machine::default();
    machine.recover();
    for step in steps {
        match step {
            Step::Send(command) => machine.send(command.clone()),
            Step::Answer(verdict) => machine.answer(*verdict),
            Step::BackOff => machine.back_off(),
            Step::Start if matches!(machine.life, Life::Down) => machine.recover(),
            Step::Start => {}
        }
        machine.settle();
    }
    // Each incarnation that fails has taken a command.
    for _ in 0..=steps.len() {
        while machine.held {
            machine.answer(Verdict::Store);
            machine.settle();
        }
        machine.back_off();
        machine.settle();
    }
    machine.finish()
}

/// Code of the actor did what ends the incarnation.
struct Ended;

#[derive(Default)]
struct Machine {
    log: Vec<String>,
    numbers: i64,
    /// The answer that each asker got.
    answers: Vec<Option<String>>,
    /// The fates of the calls that each command led to.
    fates: Vec<Fates>,
    /// For each command, true if its handler has returned, so that its channel is answered later.
    handed_over: Vec<bool>,
    /// The command that caused what happens now.
    cause: Option<usize>,
    mailbox: VecDeque<(usize, Command)>,
    aside: VecDeque<(usize, Command)>,
    life: Life,
    stored: (Revision, Option<i64>),
    /// True if a write waits in the store.
    held: bool,
    /// True if the incarnation ends because another writer was there first.
    lost: bool,
    /// The number of conflicts since anything was stored.
    conflicts: u32,
}

#[derive(Default)]
enum Life {
    #[default]
    Down,
    BackingOff,
    /// After a conflict: it is not needed before a command waits.
    OutOfDate {
        delayed: bool,
    },
    Up(Actor),
}

#[derive(Default)]
struct Actor {
    state: Option<i64>,
    revision: Revision,
    closed: bool,
    stopping: bool,
    queue: VecDeque<Pending>,
    has_stored: bool,
    /// The last revision known to be used.
    used: Revision,
    failed: bool,
}

struct Pending {
    content: Content,
    handler: Vec<Op>,
    entry: String,
    complete: Vec<Op>,
    /// The command that caused it.
    cause: Option<usize>,
    /// True if it answers that command.
    replies: bool,
    fate: Fate,
}

#[derive(Clone, Copy)]
enum Content {
    Nothing,
    State(i64),
    Delete,
}

#[derive(Clone, Copy)]
enum Fate {
    Unsent,
    Sent(Revision),
    Stored(Revision),
    Rejected,
    Failed(&'static str, Revision),
}

impl Content {
    fn state(self) -> Option<i64> {
        match self {
            Content::State(n) => Some(n),
            Content::Nothing | Content::Delete => None,
        }
    }
}

impl Machine {
    fn actor(&mut self) -> &mut Actor {
        match &mut self.life {
            Life::Up(actor) => actor,
            _ => unreachable!("only a live actor has turns"),
        }
    }

    fn number(&mut self) -> i64 {
        self.numbers += 1;
        self.numbers - 1
    }

    fn send(&mut self, command: Command) {
        let ask = self.answers.len();
        let is_up = !matches!(self.life, Life::Down);
        self.answers.push(None);
        self.fates.push(Fates::default());
        self.handed_over.push(false);
        if is_up {
            self.mailbox.push_back((ask, command));
        }
        self.catch_up();
    }

    /// Recovers an actor that was out of date, as soon as somebody needs it.
    fn catch_up(&mut self) {
        let is_due = matches!(self.life, Life::OutOfDate { delayed: false });
        if is_due && !self.mailbox.is_empty() {
            self.recover();
        }
    }

    fn back_off(&mut self) {
        self.answer(Verdict::LostUnknown);
        self.settle();
        match &mut self.life {
            Life::BackingOff => self.recover(),
            Life::OutOfDate { delayed } => {
                *delayed = false;
                self.catch_up();
            }
            Life::Down | Life::Up(_) => {}
        }
    }

    fn recover(&mut self) {
        let (revision, state) = self.stored;
        self.log.push(format!("state {}", shown(state)));
        self.log.push(format!("recovered at {revision}"));
        self.life = Life::Up(Actor {
            state,
            revision,
            used: revision,
            ..Actor::default()
        });
    }

    /// Lets everything happen that can.
    fn settle(&mut self) {
        while matches!(self.life, Life::Up(_)) {
            match self.next_turn() {
                Err(Ended) => self.fail(),
                Ok(false) => return,
                Ok(true) => {
                    self.flush();
                    let actor = self.actor();
                    if actor.stopping && actor.queue.is_empty() {
                        self.stopped();
                    }
                }
            }
        }
    }

    /// Does the next thing that the actor does; returns whether there was one.
    fn next_turn(&mut self) -> Result<bool, Ended> {
        let actor = self.actor();
        match actor.queue.front().map(|head| head.fate) {
            Some(Fate::Unsent | Fate::Sent(_)) => Ok(false),
            Some(fate) => {
                let head = actor.queue.pop_front().unwrap();
                self.handle(head, fate).map(|()| true)
            }
            None => match self.mailbox.pop_front() {
                Some((ask, command)) => self.command(ask, command).map(|()| true),
                None => Ok(false),
            },
        }
    }

    fn command(&mut self, ask: usize, command: Command) -> Result<(), Ended> {
        if self.actor().closed && !command.opens() {
            self.log.push(format!("aside {ask}"));
            self.aside.push_back((ask, command));
            return Ok(());
        }
        self.log.push(format!("command {ask}"));
        self.cause = Some(ask);
        self.play(command.ops)?;
        match command.last {
            Some(change) => {
                self.change(change, true);
                self.handed_over[ask] = true;
            }
            None => self.answers[ask] = Some(ask.to_string()),
        }
        Ok(())
    }

    fn play(&mut self, ops: Vec<Op>) -> Result<(), Ended> {
        ops.into_iter().try_for_each(|op| self.perform(op))
    }

    fn perform(&mut self, op: Op) -> Result<(), Ended> {
        match op {
            Op::Change(change) => self.change(change, false),
            Op::Defer(complete) => {
                let entry = format!("deferred {}", self.number());
                let cause = self.cause;
                self.actor().queue.push_back(Pending {
                    content: Content::Nothing,
                    handler: Vec::new(),
                    entry,
                    complete,
                    cause,
                    replies: false,
                    fate: Fate::Stored(0),
                });
            }
            Op::Close => self.actor().closed = true,
            Op::Open => {
                self.actor().closed = false;
                self.take_back_all();
            }
            Op::Stop => self.actor().stopping = true,
            Op::Panic => return Err(Ended),
        }
        Ok(())
    }

    fn change(&mut self, change: Change, replies: bool) {
        let content = match change.what {
            What::Delete => Content::Delete,
            What::State | What::Unencodable => Content::State(self.number()),
        };
        let entry = format!("completed {}", self.number());
        let fate = match change.what {
            What::Unencodable => Fate::Rejected,
            What::State | What::Delete => Fate::Unsent,
        };
        let cause = self.cause;
        self.actor().queue.push_back(Pending {
            content,
            handler: change.handler,
            entry,
            complete: change.complete,
            cause,
            replies,
            fate,
        });
    }

    /// Sends the oldest change that is unsent, unless one is under way or has failed.
    fn flush(&mut self) {
        let actor = self.actor();
        let is_sent = |pending: &Pending| matches!(pending.fate, Fate::Sent(_));
        if actor.failed || actor.queue.iter().any(is_sent) {
            return;
        }
        let revision = actor.used + 1;
        let is_unsent = |pending: &&mut Pending| matches!(pending.fate, Fate::Unsent);
        if let Some(unsent) = actor.queue.iter_mut().find(is_unsent) {
            unsent.fate = Fate::Sent(revision);
            self.held = true;
        }
    }

    /// The store answers the write that waits, if there is one.
    fn answer(&mut self, verdict: Verdict) {
        if !std::mem::take(&mut self.held) {
            return;
        }
        let usurper = match verdict {
            Verdict::Usurped => Some(self.number()),
            _ => None,
        };
        let actor = self.actor();
        let is_sent = |pending: &&mut Pending| matches!(pending.fate, Fate::Sent(_));
        let sent = actor.queue.iter_mut().find(is_sent).unwrap();
        let Fate::Sent(revision) = sent.fate else {
            unreachable!()
        };
        let stored = (revision, sent.content.state());
        sent.fate = match verdict {
            Verdict::Store => Fate::Stored(revision),
            Verdict::Reject => Fate::Rejected,
            Verdict::NotStored => Fate::Failed("NotStored", revision),
            Verdict::StoredUnknown | Verdict::LostUnknown => Fate::Failed("Unknown", revision),
            Verdict::Usurped => Fate::Failed("Conflict", revision),
        };
        actor.failed = matches!(sent.fate, Fate::Failed(..));
        if let Verdict::Store = verdict {
            actor.used = revision;
        }
        match verdict {
            Verdict::Store | Verdict::StoredUnknown => self.stored = stored,
            Verdict::Usurped => self.stored = (revision, usurper),
            Verdict::Reject | Verdict::NotStored | Verdict::LostUnknown => {}
        }
        // What waits goes out before the handlers of what came back run.
        self.flush();
    }

    fn handle(&mut self, head: Pending, fate: Fate) -> Result<(), Ended> {
        let cause = head.cause;
        self.cause = cause;
        match fate {
            Fate::Stored(revision) => {
                if let Some(cause) = cause.filter(|_| revision > 0) {
                    self.fates[cause].note_stored();
                }
                let ended = self.handle_stored(head, revision);
                if ended.is_err() {
                    self.tell(cause, unanswered(revision));
                }
                ended
            }
            Fate::Rejected => {
                let state = shown(head.content.state());
                self.log.push(format!("rejected {state}"));
                self.tell(cause, "Rejected");
                Ok(())
            }
            Fate::Failed(kind, revision) => {
                let state = shown(head.content.state());
                self.log
                    .push(format!("failed {state} at {revision}: {kind}"));
                self.tell(cause, kind);
                self.lost = kind == "Conflict";
                Err(Ended)
            }
            Fate::Unsent | Fate::Sent(_) => unreachable!("the head is settled"),
        }
    }

    fn handle_stored(&mut self, head: Pending, revision: Revision) -> Result<(), Ended> {
        let state = head.content.state();
        if !matches!(head.content, Content::Nothing) {
            let actor = self.actor();
            (actor.state, actor.revision) = (state, revision);
            actor.has_stored = true;
            self.log.push(format!("state {}", shown(state)));
        }
        if let Some(n) = state {
            self.log.push(format!("handler {n} at {revision}"));
            self.play(head.handler)?;
        }
        self.log.push(head.entry);
        self.play(head.complete)?;
        if let Some(ask) = head.cause.filter(|_| head.replies) {
            self.log.push(format!("answer {ask}"));
            self.answers[ask] = Some(ask.to_string());
        }
        Ok(())
    }

    fn tell(&mut self, cause: Option<usize>, kind: &'static str) {
        let Some(ask) = cause else {
            return;
        };
        self.fates[ask].note(kind);
    }

    /// The incarnation ends: whoever waits for its calls learns what is certain about them.
    fn abandon(&mut self) -> Actor {
        let Life::Up(mut actor) = std::mem::take(&mut self.life) else {
            unreachable!("only a live actor ends")
        };
        let is_conflict = |pending: &Pending| matches!(pending.fate, Fate::Failed("Conflict", _));
        let overtaken = self.lost || actor.queue.iter().any(is_conflict);
        for pending in actor.queue.drain(..) {
            let kind = match pending.fate {
                Fate::Unsent if overtaken => "Conflict",
                Fate::Unsent => "ActorFailed",
                // It was sent in this very turn, and is called back before it comes to the store.
                Fate::Sent(_) => "Unknown",
                Fate::Stored(revision) => unanswered(revision),
                Fate::Rejected => "Rejected",
                Fate::Failed(kind, _) => kind,
            };
            self.tell(pending.cause, kind);
        }
        self.held = false;
        actor
    }

    fn fail(&mut self) {
        let actor = self.abandon();
        let lost = std::mem::take(&mut self.lost);
        if actor.stopping {
            self.mailbox.clear();
            self.aside.clear();
            return;
        }
        self.take_back_all();
        if !lost {
            self.life = Life::BackingOff;
            return;
        }
        if actor.has_stored {
            self.conflicts = 0;
        }
        self.conflicts += 1;
        let delayed = self.conflicts > 3;
        self.life = Life::OutOfDate { delayed };
        self.catch_up();
    }

    fn stopped(&mut self) {
        let actor = self.abandon();
        let (state, revision) = (shown(actor.state), actor.revision);
        self.log.push(format!("stopped with {state} at {revision}"));
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
        let closed = || "Closed".to_owned();
        let fates = self.fates.into_iter().zip(self.handed_over);
        let answers = self.answers.into_iter().zip(fates);
        let answers = answers.map(|(answer, (mut fates, handed_over))| {
            let told = || fates.take().filter(|_| handed_over).map(str::to_owned);
            answer.or_else(told).unwrap_or_else(closed)
        });
        Observed {
            log: self.log,
            answers: answers.collect(),
            stored: self.stored,
            state: self.stored.1,
        }
    }
}

/// Returns the answer for a call that nothing is left to answer; one that stores nothing has revision 0.
fn unanswered(revision: Revision) -> &'static str {
    if revision == 0 {
        "ActorFailed"
    } else {
        "StoredUnanswered"
    }
}
