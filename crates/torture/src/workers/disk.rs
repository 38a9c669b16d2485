//! Lets its own file operations fail, one after the other, and looks what comes of it.
//!
//! `FOLDER KEPT SEED PLANT`: works in one folder, and keeps the files of what it finds in another one.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use actix_persistence::{RecoveryError, error::ErrorChain};
use fastrand::Rng;

use crate::kinds::files::expected::Expected;
use crate::kinds::files::found::{Reader, files_of, put_files};
use crate::kinds::files::mark;
use crate::kinds::files::program::{Plant, Program, Step};
use crate::kinds::files::shim::CONTROL;
use crate::kinds::files::stores::Stores;
use crate::kinds::power_loss::product;
use crate::workers::{count, fault, run_until_told};

/// The time that a program may take to go on once the disk is well, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// A disk that fails for good is well again after this, as far as a trial goes: until then some things wait.
const FOR_GOOD: Duration = Duration::from_millis(300);
/// No program does more operations of a sort.
const MOST_OPERATIONS: u32 = 2_000;

/// While what it does the disk fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum During {
    /// The first opening, which makes the tables.
    Creating,
    /// Opening what another process has left.
    Opening,
    Appending,
    AppendingMany,
    /// The program takes snapshots, and makes the deletes that follow them.
    Retaining,
    Deleting,
    Resetting,
    Holding,
    Recovering,
    Stopping,
}

const ALL: [During; 10] = [
    During::Creating,
    During::Opening,
    During::Appending,
    During::AppendingMany,
    During::Retaining,
    During::Deleting,
    During::Resetting,
    During::Holding,
    During::Recovering,
    During::Stopping,
];

/// The faults of operations: which operation, how it fails, and how often.
const FAULTS: [(&str, &str, &str); 19] = [
    ("write", "28", "1"),
    ("write", "28", "5"),
    ("write", "28", "for-good"),
    ("write", "5", "1"),
    ("write", "5", "for-good"),
    ("write", "4", "1"),
    ("write", "short", "1"),
    ("write", "short", "5"),
    ("sync", "5", "1"),
    ("sync", "28", "1"),
    ("sync", "5", "for-good"),
    ("truncate", "5", "1"),
    ("truncate", "28", "for-good"),
    ("open", "28", "1"),
    ("open", "24", "for-good"),
    ("open", "5", "1"),
    ("read", "5", "1"),
    ("unlink", "5", "for-good"),
    ("any", "5", "3"),
];

/// Words that would send a reader the wrong way: the disk alone is to blame.
const MISLEADING: [&str; 4] = [
    "restore a backup",
    "name another file",
    "allow writing",
    "check 'url'",
];

pub(crate) fn work(arguments: &[String]) -> anyhow::Result<()> {
    let [folder, kept, seed, plant] = arguments else {
        anyhow::bail!("it needs FOLDER KEPT SEED PLANT");
    };
    let mut rng = Rng::with_seed(seed.parse()?);
    let mut sweep = Sweep {
        folder: folder.into(),
        kept: kept.into(),
        plant: plant.parse()?,
        trials: 0,
    };
    run_until_told(async |ended| {
        loop {
            let mut trials: Vec<_> = ALL
                .iter()
                .flat_map(|during| FAULTS.map(|fault| (*during, fault)))
                .collect();
            rng.shuffle(&mut trials);
            // A short run has one of each, a long one has all.
            for (first, (during, fault)) in trials
                .iter()
                .map(|trial| (true, *trial))
                .chain(trials.iter().map(|trial| (false, *trial)))
            {
                let stores = Stores {
                    split: rng.u8(..4) == 0,
                    full: true,
                    snapshots_full: true,
                    short_log: rng.bool(),
                };
                let one = rng.u32(1..=4);
                let all = if first {
                    one..=one
                } else {
                    1..=MOST_OPERATIONS
                };
                for nth in all {
                    if ended.is_told() {
                        return Ok(());
                    }
                    let trial = Trial {
                        during,
                        fault,
                        nth,
                        stores,
                    };
                    if !sweep.run(trial).await? {
                        break;
                    }
                }
            }
            count("whole sweeps");
        }
    })
}

/// A trial of one operation that fails.
#[derive(Clone, Copy, Debug)]
struct Trial {
    during: During,
    fault: (&'static str, &'static str, &'static str),
    nth: u32,
    stores: Stores,
}

struct Sweep {
    folder: PathBuf,
    kept: PathBuf,
    plant: Plant,
    trials: u32,
}

impl Sweep {
    /// Runs a trial; returns false if there are fewer operations.
    async fn run(&mut self, trial: Trial) -> anyhow::Result<bool> {
        self.trials += 1;
        let folder = self.folder.join(format!("trial-{}", self.trials));
        fs::create_dir(&folder)?;
        let mut wrong = Vec::new();
        let struck = self.fail(&folder, trial, &mut wrong).await?;
        if wrong.is_empty() {
            wrong = self.judge(&folder, trial.stores).await?;
        }
        if !wrong.is_empty() {
            let kept = self
                .kept
                .join(format!("{}-{}", std::process::id(), self.trials));
            copy(&folder, &kept)?;
            let wrong = wrong.join("; ");
            let kept = kept.display();
            fault(format!("{trial:?}: {wrong}; the files are in {kept}"));
        }
        fs::remove_dir_all(&folder)?;
        if struck {
            count("cycles");
        }
        Ok(struck)
    }

    async fn fail(
        &self,
        folder: &Path,
        trial: Trial,
        wrong: &mut Vec<String>,
    ) -> anyhow::Result<bool> {
        let mut program = None;
        if trial.during != During::Creating {
            let mut opened = Program::open(folder, trial.stores, 0)
                .await?
                .planted(self.plant);
            for id in ["a", "a", "r1", "r1", "d1", "x0"] {
                opened.put(id, 1).await?;
            }
            opened.hold("s0", true).await?;
            wrong.extend(opened.take_errors());
            if trial.during == During::Opening {
                opened.close().await;
            } else {
                program = Some(opened);
            }
        }
        let (class, kind, times) = trial.fault;
        self.control(&format!("fail {class} {} {kind} {times}", trial.nth))?;
        let mut work = Box::pin(self.work(folder, trial, program));
        let early = tokio::time::timeout(FOR_GOOD, &mut work).await;
        let struck = self.calm()?;
        // What waits for the disk goes on now, and by itself.
        let late = match early {
            Ok(worked) => Ok(worked),
            Err(_) => tokio::time::timeout(PATIENCE, work).await,
        };
        let program = match late {
            Ok(worked) => worked?,
            Err(_) => {
                wrong.push(format!(
                    "it still waits {PATIENCE:?} after the disk is well"
                ));
                return Ok(struck);
            }
        };
        if let Err(error) = &program {
            look_at(&[format!("{error:#}")], wrong);
        }
        // What the program could not open, or has closed, is opened again.
        let program = match program {
            Ok(program) if trial.during != During::Stopping => Ok(program),
            _ => Program::open(folder, trial.stores, 200).await,
        };
        let mut program = match program {
            Ok(program) => program,
            Err(error) => {
                wrong.push(format!(
                    "although the disk is well, it is not opened: {error:#}"
                ));
                return Ok(struck);
            }
        };
        let since = Instant::now();
        for id in ["a", "r1", "d1"] {
            while !program.put(id, 1).await? && since.elapsed() < PATIENCE {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
        while !program.hold("s0", true).await? && since.elapsed() < PATIENCE {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let errors = program.take_errors();
        if since.elapsed() >= PATIENCE {
            let last = errors.last();
            wrong.push(format!(
                "it does not go on by itself once the disk is well: {last:?}"
            ));
        }
        look_at(&errors, wrong);
        let report = program.close().await;
        if !report.is_complete() {
            wrong.push(format!("it cannot stop once the disk is well: {report}"));
        }
        Ok(struck)
    }

    /// Works while the disk fails; an inner error if the files cannot be opened.
    async fn work(
        &self,
        folder: &Path,
        trial: Trial,
        program: Option<Program>,
    ) -> anyhow::Result<anyhow::Result<Program>> {
        let Some(mut program) = program else {
            let opened = Program::open(folder, trial.stores, 100).await;
            return Ok(opened.map(|program| program.planted(self.plant)));
        };
        during(&mut program, trial.during).await?;
        Ok(Ok(program))
    }

    /// Checks that confirmed writes are there, and that refused ones are not, for SQL and for the product.
    async fn judge(&self, folder: &Path, stores: Stores) -> anyhow::Result<Vec<String>> {
        let mut expected = Expected::default();
        for mark in mark::read(&fs::read_to_string(folder.join(mark::FILE))?)? {
            expected.hear(&mark);
        }
        for _ in 0..expected.acknowledged {
            count("acknowledged");
        }
        // SQLite has them open no more, but the copy is the one that is used up.
        let copied = folder.join("copied");
        fs::create_dir(&copied)?;
        let files = files_of(folder)?;
        put_files(
            &copied,
            files
                .iter()
                .map(|(name, bytes)| (name.as_str(), bytes.as_slice())),
        )?;
        let mut reader = Reader::new(stores).await?;
        let found = match reader.read(&copied).await? {
            Ok(found) => found,
            Err(damage) => return Ok(vec![damage]),
        };
        let verdict = expected.judge(&found, true);
        let mut wrong = verdict.wrong.clone();
        wrong.extend(verdict.lost.iter().map(|lost| format!("{lost} is lost")));
        wrong.extend(
            verdict
                .lacks_snapshot
                .iter()
                .map(|id| format!("{id} lacks its snapshot")),
        );
        let again =
            |error: &RecoveryError| eprintln!("it is looked at again: {}", ErrorChain(error));
        if wrong.is_empty()
            && let Err(sentence) = product::recovers(folder, stores, &verdict, again).await?
        {
            wrong.push(sentence);
        }
        Ok(wrong)
    }

    fn control(&self, command: &str) -> std::io::Result<()> {
        fs::write(self.folder.join(CONTROL), command)
    }

    /// True if anything has failed.
    fn calm(&self) -> std::io::Result<bool> {
        match self.control("calm") {
            Ok(()) => Ok(true),
            Err(error) if error.raw_os_error() == Some(NO_DATA) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// The error number `ENODATA` of Linux.
const NO_DATA: i32 = 61;

/// Runs a step of the program while the disk fails.
async fn during(program: &mut Program, during: During) -> anyhow::Result<()> {
    let steps = match during {
        During::Creating | During::Opening => Vec::new(),
        During::Appending => vec![put("a", 1), put("a", 1), put("d1", 1)],
        During::AppendingMany => vec![put("a", 60), put("d1", 3)],
        During::Retaining => vec![put("r1", 3), put("r1", 5), put("r1", 4)],
        During::Deleting => {
            let id = "d1".to_owned();
            let delete = |spared| Step::DeleteAllBut {
                id: id.clone(),
                spared,
            };
            vec![
                put("d1", 4),
                delete(2),
                put("d1", 1),
                delete(0),
                put("d1", 1),
            ]
        }
        During::Resetting => {
            let id = "x0".to_owned();
            vec![put("x0", 5), Step::Reset { id }, put("x0", 1)]
        }
        During::Holding => {
            let hold = |live| Step::Hold {
                id: "s0".to_owned(),
                live,
            };
            vec![hold(true), hold(false), hold(true)]
        }
        During::Recovering => {
            let restart = |id: &str| Step::Restart { id: id.to_owned() };
            vec![restart("a"), put("a", 1), restart("r1"), put("r1", 1)]
        }
        During::Stopping => {
            program.take(&put("a", 2)).await?;
            program.close().await;
            return Ok(());
        }
    };
    for step in steps {
        program.take(&step).await?;
    }
    Ok(())
}

fn put(id: &str, events: u32) -> Step {
    Step::Put {
        id: id.to_owned(),
        events,
    }
}

/// Errors say what the matter is, and do not blame the file or the settings.
fn look_at(errors: &[String], wrong: &mut Vec<String>) {
    for error in errors {
        let misleads = MISLEADING.iter().find(|text| error.contains(**text));
        // SQLite calls a page damaged that it could not read, and cannot know better.
        let misleads = misleads.filter(|_| !error.contains("or the disk gave wrong data once"));
        if let Some(text) = misleads {
            wrong.push(format!("an error says {text:?}: {error}"));
        }
        if error.len() > 2_000 || error.trim().is_empty() {
            wrong.push(format!("an error is of no use: {error:.200}"));
        }
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in from.read_dir()? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
