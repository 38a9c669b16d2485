//! Between two lives of a process its config names other stores, or the stores are older copies: each life either sees
//! everything acknowledged that the stores hold, or refuses with the error that says why; it is never silently wrong.

mod model;

use std::fs;

use fastrand::Rng;

use super::Kind;
use super::copies::{self, Copied};
use crate::workers::lives::{Life, Said};
use crate::{Backend, Line, Place, Run, is_interrupted, workers};
use model::{Expected, Heads, Model};

pub(super) const KIND: Kind = Kind {
    name: "config",
    sentence: "Between two lives of a process its stores are forgotten, moved, made less durable, or restored from \
               older copies, journal and snapshots together or one of them.",
    backends: Backend::DATABASES,
    run,
    worker: Some(workers::lives::work),
};

/// The ids: `r` deletes what its snapshots cover, `s` takes snapshots and keeps all events, `d` deletes by hand.
const IDS: [&str; 6] = ["r1", "r2", "s1", "s2", "d1", "p1"];
/// The largest number of lives in a round, which has databases of its own.
const LIVES: u32 = 12;
/// The largest number of writes to each id in a life.
const MOST_WRITES: u32 = 6;
/// The number of uids of one life.
const UIDS: u32 = 1_000;
/// The beginning of the warning about a snapshot store that is less durable than the journal.
const WARNING: &str = "the snapshot store keeps less than the journal";

/// The difference between a life and the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// The config is the same.
    None,
    /// The config names no snapshot store.
    NoSnapshotStore,
    /// The config names another snapshot store.
    OtherSnapshotStore,
    /// The config names a snapshot store in memory.
    SnapshotsInMemory,
    /// The config names another journal.
    OtherJournal,
    /// The snapshot store confirms before its disk does.
    WeakerSnapshots,
    /// The journal does, and the snapshot store does not.
    WeakerJournal,
    /// The snapshots are those of an older copy.
    OlderSnapshots,
    /// The journal is that of an older copy.
    OlderJournal,
    /// The snapshots and the journal are those of an older copy, of one moment.
    OlderBoth,
}

const CHANGES: [Change; 10] = [
    Change::None,
    Change::NoSnapshotStore,
    Change::OtherSnapshotStore,
    Change::SnapshotsInMemory,
    Change::OtherJournal,
    Change::WeakerSnapshots,
    Change::WeakerJournal,
    Change::OlderSnapshots,
    Change::OlderJournal,
    Change::OlderBoth,
];

fn run(run: &Run) -> anyhow::Result<()> {
    let mut lives = 0;
    for number in 1.. {
        if run.is_over() {
            break;
        }
        let mut round = Round::new(run, number)?;
        let mut rng = run.rng();
        // The first one makes what can be lost.
        round.live(Change::None, &mut lives, &mut rng)?;
        for _ in 1..LIVES {
            if run.is_over() {
                break;
            }
            if round.copied.is_none() || rng.u8(..4) == 0 {
                round.copy()?;
                round.live(Change::None, &mut lives, &mut rng)?;
            }
            let change = CHANGES[rng.usize(..CHANGES.len())];
            run.add(&format!("lives with {change:?}"), 1);
            round.live(change, &mut lives, &mut rng)?;
            // Snapshots of what is no more, or of another journal, may be left for numbers that are given again: neither
            // looks otherwise than it should.
            match change {
                Change::OlderJournal | Change::OlderBoth => {
                    round.live(Change::None, &mut lives, &mut rng)?;
                    break;
                }
                Change::OtherJournal => break,
                _ => {}
            }
        }
    }
    Ok(())
}

/// Journals and snapshot stores, and what is in them.
struct Round<'a> {
    run: &'a Run,
    number: u32,
    /// The one that is meant, and another.
    journals: [Place; 2],
    snapshots: [Place; 2],
    models: [Model; 2],
    copied: Option<(Copied, Model)>,
}

impl<'a> Round<'a> {
    fn new(run: &'a Run, number: u32) -> anyhow::Result<Self> {
        Ok(Self {
            run,
            number,
            journals: [run.place()?, run.place()?],
            snapshots: [run.place()?, run.place()?],
            models: [Model::default(), Model::default()],
            copied: None,
        })
    }

    /// Makes a copy of journal and snapshots, of one moment: no process runs.
    fn copy(&mut self) -> anyhow::Result<()> {
        let copied = Copied::of(&self.journals[0], &self.snapshots[0])?;
        self.copied = Some((copied, self.models[0].clone()));
        Ok(())
    }

    /// Puts older copies in place; true if a start has to notice it. Notes that show it may be left, as by mistake.
    fn restore(&mut self, change: Change, rng: &mut Rng) -> anyhow::Result<bool> {
        let Some((copied, model)) = &self.copied else {
            return Ok(false);
        };
        let (journal, snapshots) = match change {
            Change::OlderJournal => (true, false),
            Change::OlderSnapshots => (false, true),
            Change::OlderBoth => (true, true),
            _ => return Ok(false),
        };
        let leaves_notes = rng.u8(..3) == 0;
        let mut is_noticed = false;
        if journal {
            is_noticed |= copied.journal.restore(&self.journals[0], leaves_notes)?;
            self.models[0] = model.clone();
        }
        if snapshots {
            is_noticed |= copied.snapshots.restore(&self.snapshots[0], leaves_notes)?;
        }
        Ok(is_noticed)
    }

    fn live(&mut self, change: Change, lives: &mut u32, rng: &mut Rng) -> anyhow::Result<()> {
        let must_refuse = self.restore(change, rng)?;
        if must_refuse {
            self.one_life(change, true, lives, rng)?;
            // As the message says.
            self.journals.iter().try_for_each(copies::forget_notes)?;
            self.snapshots.iter().try_for_each(copies::forget_notes)?;
        }
        self.one_life(change, false, lives, rng)
    }

    fn one_life(
        &mut self,
        change: Change,
        must_refuse: bool,
        lives: &mut u32,
        rng: &mut Rng,
    ) -> anyhow::Result<()> {
        *lives += 1;
        let journal = usize::from(change == Change::OtherJournal);
        let snapshots = usize::from(change == Change::OtherSnapshotStore);
        let has_snapshots = !matches!(change, Change::NoSnapshotStore | Change::SnapshotsInMemory);
        let places = (&self.journals[journal], &self.snapshots[snapshots]);
        let before = Heads::of(places.0, has_snapshots.then_some(places.1))?;
        let name = format!("round-{}-life-{lives}", self.number);
        let file = self.run.folder().join(format!("{name}.toml"));
        fs::write(&file, config(change, places))?;
        let life = Life {
            config: file,
            ids: IDS.map(str::to_owned).to_vec(),
            seed: rng.u64(..),
            last_uid: *lives * UIDS,
            writes: rng.u32(..=MOST_WRITES),
        };
        let life_writes = life.writes;
        let worker = self.run.worker(&name);
        let mut worker = worker.arg(serde_json::to_string(&life)?).start()?;
        // On a server, what a dead process has sent may be done later.
        let is_killed = self.run.backend() == Backend::Sqlite && rng.u8(..4) == 0;
        let mut left = is_killed.then(|| rng.u32(..60));
        let mut said: Vec<Said> = Vec::new();
        while let Some(line) = worker.next_line()? {
            match line {
                Line::Other { other } => said.push(serde_json::from_value(other)?),
                Line::Fault { fault } => self.run.violation(fault),
                line => anyhow::bail!("a worker said {line:?}"),
            }
            if let Some(left) = &mut left {
                if *left == 0 {
                    worker.kill()?;
                }
                *left = left.saturating_sub(1);
            }
        }
        match is_killed {
            // It may have been faster.
            true => worker.ended_or_killed()?,
            false => worker.ended(true)?,
        }
        self.run.cycle();
        self.judge_start(change, must_refuse, is_killed, &name, &said);
        if !is_killed && !is_interrupted() {
            self.judge_completeness(&name, life_writes, &said);
        }
        let after = Heads::of(places.0, has_snapshots.then_some(places.1))?;
        for id in IDS {
            let expected = match must_refuse {
                true => Expected::NotOpened,
                false => {
                    self.models[journal].expected(id, &before, change == Change::NoSnapshotStore)
                }
            };
            let judged =
                self.models[journal].judge(id, &expected, &said, (&before, &after), is_killed);
            match judged {
                Ok(acknowledged) => self.run.acknowledged(acknowledged),
                Err(sentence) => {
                    let sentence = format!("{name}, {change:?}: {id}: {sentence}");
                    self.run.violation(sentence);
                }
            }
            if !matches!(expected, Expected::State { .. }) {
                self.run.add("refused", 1);
            }
        }
        worker.forget_log();
        Ok(())
    }

    /// A life that was not killed reports everything that is judged: else nothing would be wrong with silence.
    fn judge_completeness(&self, name: &str, writes: u32, said: &[Said]) {
        let count = |is_it: &dyn Fn(&Said) -> bool| said.iter().filter(|said| is_it(said)).count();
        let opened = count(&|said| matches!(said, Said::Opened));
        let refused = count(&|said| matches!(said, Said::NotOpened { .. }));
        if opened + refused != 1 {
            let sentence = format!("{name}: it tells {opened} and {refused} times of its stores");
            self.run.violation(sentence);
        }
        for id in IDS.iter().filter(|_| opened == 1) {
            let looks = count(
                &|said| matches!(said, Said::Recovered { id: of, .. } | Said::NotRecovered { id: of, .. } if of == id),
            );
            let begun = count(
                &|said| matches!(said, Said::NotStarted { id: of } | Said::Asked { id: of, .. } if of == id),
            );
            if looks != 1 || (begun == 0 && writes > 0) {
                self.run.violation(format!(
                    "{name}: of {id} it tells of {looks} looks and {begun} writes"
                ));
            }
        }
    }

    /// The stores are opened or refused, and weaker ones are warned of.
    fn judge_start(
        &self,
        change: Change,
        must_refuse: bool,
        is_killed: bool,
        name: &str,
        said: &[Said],
    ) {
        let log = fs::read_to_string(self.run.folder().join(format!("{name}.log")));
        let log = log.unwrap_or_default();
        let is_open = said.iter().any(|said| matches!(said, Said::Opened));
        for one in said {
            if let Said::NotOpened { error } = one
                && !must_refuse
            {
                let sentence = format!("{name}, {change:?}: the stores are not opened: {error}");
                self.run.violation(sentence);
            }
        }
        if is_open && must_refuse {
            let sentence = format!("{name}, {change:?}: an older copy is not noticed");
            self.run.violation(sentence);
        }
        let is_weaker = match change {
            Change::SnapshotsInMemory => true,
            // What the server is set to is not known there.
            Change::WeakerSnapshots => self.run.backend() != Backend::Mysql,
            _ => false,
        };
        if is_open && log.contains(WARNING) != is_weaker && !is_killed {
            let warned = if is_weaker { "is not" } else { "is" };
            self.run.violation(format!(
                "{name}, {change:?}: a less durable snapshot store {warned} warned of"
            ));
        }
    }
}

/// The stores of a life, as its config names them.
fn config(change: Change, (journal, snapshots): (&Place, &Place)) -> String {
    let weak = match journal.backend() {
        Backend::Sqlite | Backend::Memory => "synchronous = \"normal\"\n",
        Backend::Postgres => "synchronous-commit = \"off\"\n",
        Backend::Mysql => "durability = \"server\"\n",
    };
    let weak_if = |is_weak| if is_weak { weak } else { "" };
    let journal = journal.config_of(&["journal"], weak_if(change == Change::WeakerJournal));
    let snapshots = match change {
        Change::NoSnapshotStore => String::new(),
        Change::SnapshotsInMemory => {
            "[persistence.snapshot-store]\nplugin = \"memory\"\n[persistence.snapshot-store.memory]\n".to_owned()
        }
        _ => snapshots.config_of(
            &["snapshot-store"],
            weak_if(change == Change::WeakerSnapshots),
        ),
    };
    journal + &snapshots
}
