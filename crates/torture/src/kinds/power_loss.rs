//! The writes and syncs of a real program are recorded, and after each of them power is lost: whatever a disk may hold then is
//! read by plain SQL, and opened by the product.
//!
//! Nothing confirmed is lost, no write is there by half, no page is damaged, and the product neither complains without need
//! nor misses what is gone. What a disk may hold is `Disk`'s to say.

mod disk;
mod note;
pub(crate) mod product;
mod recording;
pub(crate) mod scratch;

use std::collections::BTreeMap;

use fastrand::Rng;

use self::disk::{Changed, Disk, Survives};
use self::note::Note;
use self::recording::{Base, Recording};
use self::scratch::Scratch;
use super::Kind;
use super::files::expected::{Expected, Verdict};
use super::files::found::{Found, Reader, put_files};
use super::files::mark;
use super::files::stores::{MAIN, Stores};
use crate::{Backend, Run, workers};

/// The description of this kind of torture.
pub const KIND: Kind = Kind {
    name: "power-loss",
    sentence: "The writes and syncs of a program on SQLite are recorded, and whatever a disk may hold after each of \
               them is judged, and opened by the product; also while it recovers from a loss of power.",
    backends: &[Backend::Sqlite],
    run: |run| lose_power(run, Plant::Nothing),
    worker: Some(workers::power_loss::work),
};

/// The same for a program that does not wait for the disk, but is judged as if it did: it must be found.
pub const WITHOUT_SYNC: Kind = Kind {
    run: |run| lose_power(run, Plant::WithoutSync),
    ..KIND
};

/// The same on a disk that says it has synced what it has not: it must be found.
pub const LYING_DISK: Kind = Kind {
    run: |run| lose_power(run, Plant::LyingDisk),
    ..KIND
};

/// A defect on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    Nothing,
    WithoutSync,
    LyingDisk,
}

/// The number of random parts of what is not safe that are tried after each operation.
const PARTS: usize = 4;
/// The share of states that the product opens: one in this many.
const OPENED_ONE_IN: u32 = 120;
/// The share of states that lose a part of their log that was safe, which the product has to notice: one in this many.
const CUT_ONE_IN: u32 = 400;
/// The share of states where the next program begins: one in this many.
const BASE_ONE_IN: u32 = 150;
/// Power is lost again at most so often while a program recovers.
const DEEPEST: u32 = 3;
/// The number of bytes of the header of a log.
const LOG_HEADER: usize = 32;

fn lose_power(run: &Run, plant: Plant) -> anyhow::Result<()> {
    actix::System::new().block_on(async {
        let mut rng = run.rng();
        let scratch = Scratch::new(run.folder())?;
        let mut bases: Vec<Base> = Vec::new();
        while !run.is_over() {
            let base = match bases.pop() {
                Some(base) => base,
                None => Base::empty(stores(plant, &mut rng)),
            };
            let recording = Recording::make(run, &scratch, base, &mut rng)?;
            bases.extend(
                Explored::new(run, &scratch, recording, plant, rng.fork())
                    .await?
                    .explore()
                    .await?,
            );
        }
        Ok(())
    })
}

/// The settings of a program.
fn stores(plant: Plant, rng: &mut Rng) -> Stores {
    let split = rng.u8(..3) == 0;
    Stores {
        split,
        full: plant != Plant::WithoutSync,
        snapshots_full: !split || (rng.bool() && plant != Plant::WithoutSync),
        short_log: rng.u8(..3) == 0,
    }
}

/// A recording that is being replayed.
struct Explored<'a> {
    run: &'a Run,
    scratch: &'a Scratch,
    recording: Recording,
    plant: Plant,
    rng: Rng,
    reader: Reader,
    expected: Expected,
    /// The transactions and revisions at the last look at all that was written.
    seen: Option<(u64, BTreeMap<String, u64>)>,
    /// The states that programs begin with later.
    bases: Vec<Base>,
}

/// The findings of a reader, or why there is nothing to be found.
type Read = Result<Found, String>;
type Files = BTreeMap<String, Vec<u8>>;

impl<'a> Explored<'a> {
    async fn new(
        run: &'a Run,
        scratch: &'a Scratch,
        recording: Recording,
        plant: Plant,
        rng: Rng,
    ) -> anyhow::Result<Self> {
        let base = &recording.base;
        Ok(Self {
            run,
            scratch,
            plant,
            rng,
            reader: Reader::new(base.stores).await?,
            expected: base.expected.clone(),
            seen: None,
            bases: Vec::new(),
            recording,
        })
    }

    fn stores(&self) -> Stores {
        self.recording.base.stores
    }

    /// Loses power after each operation.
    async fn explore(mut self) -> anyhow::Result<Vec<Base>> {
        let base = &self.recording.base;
        let mut disk = Disk::new(&self.recording.folder, &base.files, self.rng.fork());
        if self.plant == Plant::LyingDisk {
            disk.lie();
        }
        // What is the same as before is read once.
        let (mut seen, mut safe): (Option<Read>, Option<Read>) = (None, None);
        for happened in std::mem::take(&mut self.recording.log) {
            if self.run.is_over() {
                return Ok(Vec::new());
            }
            match disk.apply(&happened)? {
                Changed::Nothing => continue,
                Changed::Seen => seen = None,
                Changed::Safe => safe = None,
                Changed::Said(lines) => {
                    let acknowledged = self.expected.acknowledged;
                    for mark in mark::read(&lines)? {
                        self.expected.hear(&mark);
                    }
                    self.run
                        .acknowledged(self.expected.acknowledged - acknowledged);
                }
            }
            for (survives, known) in [
                (Survives::Nothing, &mut safe),
                (Survives::Everything, &mut seen),
            ] {
                let files = disk.after(survives, &mut self.rng);
                let read = match known.take() {
                    Some(read) => read,
                    None => self.read(&files).await?,
                };
                self.judge(&files, &read, survives).await?;
                *known = Some(read);
            }
            for _ in 0..PARTS {
                let files = disk.after(Survives::Something, &mut self.rng);
                let read = self.read(&files).await?;
                self.judge(&files, &read, Survives::Something).await?;
            }
        }
        self.run.add("recordings", 1);
        if self.plant == Plant::Nothing {
            let all = disk.after(Survives::Everything, &mut self.rng);
            let recorded = &self.recording.files;
            let names: Vec<_> = all.keys().chain(recorded.keys()).collect();
            let differ: Vec<_> = names
                .iter()
                .filter(|name| all.get(**name) != recorded.get(**name))
                .collect();
            anyhow::ensure!(
                differ.is_empty(),
                "the recording is not whole: {differ:?} differ"
            );
        }
        Ok(self.bases)
    }

    async fn read(&mut self, files: &Files) -> anyhow::Result<Read> {
        let files = files
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        let folder = put_files(self.scratch.states(), files)?;
        self.reader.read(&folder).await
    }

    async fn judge(
        &mut self,
        files: &Files,
        read: &Read,
        survives: Survives,
    ) -> anyhow::Result<()> {
        self.run.cycle();
        let found = match read {
            Ok(found) => found,
            Err(damage) => return self.tell(files, survives, std::slice::from_ref(damage)),
        };
        if survives == Survives::Everything {
            self.count_groups(found);
        }
        let stores = self.stores();
        let keeps_snapshots = stores.keeps_snapshots() || self.plant != Plant::Nothing;
        let verdict = self.expected.judge(found, keeps_snapshots);
        let note = files
            .get(&format!("{MAIN}-position"))
            .and_then(|note| Note::of(note));
        let mut wrong = verdict.wrong.clone();
        if let Some(note) = note.filter(|note| note.is_durable && note.commits > found.commits) {
            wrong.push(format!(
                "{} transactions are noted, and {} are there",
                note.commits, found.commits
            ));
        }
        // Without its snapshot nothing can be done for an actor; it must not start, see below.
        if keeps_snapshots {
            wrong.extend(
                verdict
                    .lacks_snapshot
                    .iter()
                    .map(|id| format!("{id} lacks its snapshot")),
            );
        }
        wrong.extend(verdict.lost.iter().map(|lost| format!("{lost} is lost")));
        if !wrong.is_empty() {
            return self.tell_lost(files, survives, verdict.lost.len(), &wrong);
        }
        if self.plant != Plant::Nothing {
            return Ok(());
        }
        let is_rare = !verdict.lacks_snapshot.is_empty();
        if self.rng.u32(..OPENED_ONE_IN) == 0 || (is_rare && self.rng.u32(..20) == 0) {
            self.open(files, &verdict, survives).await?;
        }
        if self.rng.u32(..CUT_ONE_IN) == 0 {
            self.cut(files, found, note).await?;
        }
        if self.rng.u32(..BASE_ONE_IN) == 0
            && self.recording.base.depth < DEEPEST
            && self.bases.is_empty()
            && !is_rare
        {
            self.bases.push(self.recording.base_of(files, found));
        }
        Ok(())
    }

    /// Counts the transactions that have stored the states of several ids.
    fn count_groups(&mut self, found: &Found) {
        let states = found.states.iter();
        let states: BTreeMap<_, _> = states
            .map(|(id, state)| (id.clone(), state.revision))
            .collect();
        if let Some((commits, before)) = &self.seen
            && found.commits == commits + 1
        {
            let changed = states
                .iter()
                .filter(|(id, now)| before.get(*id) != Some(now));
            if changed.count() > 1 {
                self.run.add("groups of states", 1);
            }
        }
        self.seen = Some((found.commits, states));
    }

    /// Opens the files by the product, and compares what it shows with the verdict.
    async fn open(
        &mut self,
        files: &Files,
        verdict: &Verdict,
        survives: Survives,
    ) -> anyhow::Result<()> {
        let pairs = files
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        let folder = put_files(self.scratch.opened(), pairs)?;
        self.run.add("opened by the product", 1);
        if !verdict.lacks_snapshot.is_empty() {
            self.run.add("opened without a snapshot that is needed", 1);
        }
        let again = |_: &_| self.run.add("last looks begun again", 1);
        match product::recovers(&folder, self.stores(), verdict, again).await? {
            Ok(()) => Ok(()),
            Err(sentence) => self.tell(files, survives, &[sentence]),
        }
    }

    /// Takes away from the end of the log what was safe, or all of it, which the product has to notice.
    async fn cut(
        &mut self,
        files: &Files,
        found: &Found,
        note: Option<Note>,
    ) -> anyhow::Result<()> {
        let name = format!("{MAIN}-wal");
        let (Some(note), Some(log)) = (note.filter(|note| note.is_durable), files.get(&name))
        else {
            return Ok(());
        };
        if log.len() <= LOG_HEADER || note.commits != found.commits {
            return Ok(());
        }
        let mut cut = files.clone();
        let is_removed = self.rng.u8(..4) == 0;
        if is_removed && self.rng.bool() {
            cut.remove(&name);
        } else {
            let length = match is_removed {
                true => self.rng.usize(..LOG_HEADER),
                false => self.rng.usize(LOG_HEADER..log.len()),
            };
            cut.insert(name, log[..length].to_vec());
        }
        match self.read(&cut).await? {
            // Nothing that was safe is gone.
            Ok(left) if left == *found => return Ok(()),
            // A database that is not known any more, or is no database, was never confirmed.
            Ok(left) if left.commits == 0 => return Ok(()),
            // Without any log, damage to pages shows that its copy was not finished, or nothing does.
            Ok(left) if is_removed && left.commits >= note.commits => return Ok(()),
            Ok(_) | Err(_) => {}
        }
        if is_removed {
            self.run.add("losses of a whole log", 1);
        }
        let pairs = cut
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
        let folder = put_files(self.scratch.opened(), pairs)?;
        self.run.add("losses noticed", 1);
        match product::notices_loss(&folder, self.stores()).await? {
            Ok(()) => Ok(()),
            Err(sentence) => self.tell(&cut, Survives::Something, &[sentence]),
        }
    }

    fn tell(&self, files: &Files, survives: Survives, wrong: &[String]) -> anyhow::Result<()> {
        self.tell_lost(files, survives, 0, wrong)
    }

    /// Keeps the files of a violation.
    fn tell_lost(
        &self,
        files: &Files,
        survives: Survives,
        lost: usize,
        wrong: &[String],
    ) -> anyhow::Result<()> {
        let what = wrong
            .iter()
            .take(3)
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("; ");
        let number = self.run.summary().violations;
        let folder = self.run.folder().join(format!("violation-{number}"));
        std::fs::create_dir_all(&folder)?;
        for (name, bytes) in files {
            std::fs::write(folder.join(name), bytes)?;
        }
        let recording = &self.recording;
        let sentence = format!(
            "after a loss of power ({survives:?} that was not synced is there, stores '{}', seed {}, {} steps, power was \
             lost {} times before), the disk is in {}: {what}",
            recording.base.stores,
            recording.seed,
            recording.steps,
            recording.base.depth,
            folder.display(),
        );
        if lost > 0 {
            self.run.lost(lost as u64, sentence);
        } else {
            self.run.violation(sentence);
        }
        Ok(())
    }
}
