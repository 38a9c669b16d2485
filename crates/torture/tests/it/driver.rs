//! The driver itself: what it keeps, what it says, how it ends, and that the judge bites.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use actix_persistence_torture::{
    Backend, Job, Kind, LongRuns, Run, Scene, Settings, Summary, Writers, block_on, kinds, run,
};
use tempfile::TempDir;

/// A kind of this test's own; its processes are those of `kill-app`.
const fn kind(run: fn(&Run) -> anyhow::Result<()>) -> Kind {
    Kind {
        name: "kill-app",
        sentence: "A test of the driver.",
        backends: &[Backend::Sqlite],
        run,
        worker: None,
    }
}

fn run_in(folder: &Path, kind: &'static Kind, seed: u64) -> Summary {
    run_with(folder, kind, seed, 0)
}

fn run_with(folder: &Path, kind: &'static Kind, seed: u64, least_cycles: u64) -> Summary {
    run_for(folder, kind, Duration::from_secs(60), seed, least_cycles)
}

fn run_for(
    folder: &Path,
    kind: &'static Kind,
    length: Duration,
    seed: u64,
    least_cycles: u64,
) -> Summary {
    run_until(folder, kind, length, seed, least_cycles, |_| true)
}

fn run_until(
    folder: &Path,
    kind: &'static Kind,
    length: Duration,
    seed: u64,
    least_cycles: u64,
    enough: fn(&Summary) -> bool,
) -> Summary {
    let settings = Settings {
        length,
        least_cycles,
        enough,
        seed,
        folder: folder.to_owned(),
        program: PathBuf::from(env!("CARGO_BIN_EXE_torture")),
    };
    let backend = Backend::Sqlite;
    run(Job { kind, backend }, &settings).unwrap()
}

#[test]
fn a_run_that_finds_something_keeps_its_folder_and_says_how_to_repeat_it() {
    static KIND: Kind = kind(|run| {
        fs::write(run.folder().join("evidence"), "here")?;
        run.lost(1, "an event is lost");
        Ok(())
    });
    let folder = tempfile::tempdir().unwrap();
    for kept in ["kill-app-sqlite-7", "kill-app-sqlite-7-2"] {
        let summary = run_in(folder.path(), &KIND, 7);
        assert_eq!((summary.lost, summary.violations), (1, 1));
        let kept = folder.path().join(kept);
        assert_eq!(fs::read_to_string(kept.join("evidence")).unwrap(), "here");
        let text = fs::read_to_string(kept.join("VIOLATIONS")).unwrap();
        assert!(text.contains("an event is lost"), "{text}");
        let command = "cargo xtask torture kill-app --backend sqlite --for '1m' --seed 7";
        assert!(text.contains(command), "{text}");
    }
}

/// A script has started the tests in the background with SIGINT ignored: then so did processes that were to stop by it, and
/// their run waited for them without an end.
#[test]
#[cfg(target_os = "linux")]
fn the_processes_of_a_run_do_not_ignore_ctrl_c() {
    static KIND: Kind = kind(|_| {
        let status = fs::read_to_string("/proc/self/status")?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.unwrap_or_default().trim(), 16)?;
        const SIGINT: u32 = 2;
        assert_ne!(caught >> (SIGINT - 1) & 1, 0, "{status}");
        Ok(())
    });
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run_in(folder.path(), &KIND, 7).violations, 0);
}

#[test]
fn a_run_that_finds_nothing_leaves_nothing() {
    static KIND: Kind = kind(|run| {
        fs::write(run.folder().join("evidence"), "here")?;
        run.place()?;
        Ok(())
    });
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run_in(folder.path(), &KIND, 7).violations, 0);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_kind_that_cannot_go_on_or_panics_has_violated_something() {
    static FAILS: Kind = kind(|_| anyhow::bail!("no server"));
    static PANICS: Kind = kind(|_| panic!("a mistake"));
    let folder = tempfile::tempdir().unwrap();
    let failed = run_in(folder.path(), &FAILS, 1);
    assert_eq!(failed.found, ["the run could not go on: no server"]);
    let panicked = run_in(folder.path(), &PANICS, 1);
    assert_eq!(panicked.found, ["the run panicked"]);
}

#[test]
fn a_run_goes_on_until_it_has_shown_enough() {
    static RARE: Kind = kind(|run| {
        let mut looks = 0;
        while !run.is_over() {
            run.cycle();
            run.acknowledged(1);
            looks += 1;
            if looks % 100 == 0 {
                run.add("rare", 1);
            }
        }
        Ok(())
    });
    let folder = tempfile::tempdir().unwrap();
    let is_enough = |done: &Summary| done.figures.get("rare") == Some(&3);
    let rare = run_until(folder.path(), &RARE, Duration::ZERO, 1, 1, is_enough);
    assert_eq!((rare.violations, rare.cycles), (0, 300), "{rare:?}");
}

#[test]
fn a_run_that_acknowledges_nothing_has_shown_nothing() {
    static IDLE: Kind = kind(|run| {
        run.cycle();
        Ok(())
    });
    static BUSY: Kind = kind(|run| {
        run.cycle();
        run.acknowledged(1);
        Ok(())
    });
    let folder = tempfile::tempdir().unwrap();
    let idle = run_with(folder.path(), &IDLE, 1, 1);
    assert_eq!(idle.found, ["the run has done nothing, and shows nothing"]);
    assert_eq!(run_with(folder.path(), &BUSY, 1, 1).violations, 0);
}

#[test]
fn a_run_goes_on_until_something_is_acknowledged() {
    static SLOW: Kind = kind(|run| {
        let mut looks = 0;
        while !run.is_over() {
            run.cycle();
            looks += 1;
            if looks == 1_000 {
                run.acknowledged(1);
            }
        }
        Ok(())
    });
    let folder = tempfile::tempdir().unwrap();
    let slow = run_for(folder.path(), &SLOW, Duration::ZERO, 1, 1);
    assert_eq!((slow.violations, slow.acknowledged), (0, 1), "{slow:?}");
}

#[test]
fn a_process_that_failed_before_it_was_killed_is_told_of() {
    static KIND: Kind = kind(|run| {
        let mut worker = run.worker("app").arg("no assignment").start()?;
        while worker.next_line()?.is_some() {}
        worker.kill()?;
        worker.ended(false)
    });
    let folder = tempfile::tempdir().unwrap();
    let summary = run_in(folder.path(), &KIND, 1);
    let told = "the run could not go on: a worker ended with exit status: 1";
    assert!(summary.found[0].starts_with(told), "{:?}", summary.found);
}

#[test]
fn a_seed_gives_the_same_decisions_again() {
    static KIND: Kind = kind(|run| {
        for part in ["first", "second"] {
            run.add(part, run.rng().u64(..));
        }
        Ok(())
    });
    let folder = tempfile::tempdir().unwrap();
    let [one, same, other] = [7, 7, 8].map(|seed| run_in(folder.path(), &KIND, seed).figures);
    assert_eq!(one, same);
    assert!(one != other && one["first"] != one["second"], "{one:?}");
}

/// A place with one process that writes.
fn writers<'a>(run: &'a Run, name: &str) -> anyhow::Result<Writers<'a>> {
    let scene = Scene {
        streams: 1,
        driven: 1,
        states: 1,
        retaining: None,
        longest_burst: 5,
        longest_pause: Duration::ZERO,
    };
    Writers::at(run.place()?, run, name, scene)
}

#[test]
fn a_process_that_goes_on_after_a_violation_is_killed_soon() {
    static KIND: Kind = kind(|run| {
        let writers = writers(run, "endless")?;
        let (_, mut worker) = writers.start("app", &mut run.rng())?;
        while let Some(line) = worker.next_line()?
            && !writers.hear(line)
        {}
        run.violation("something is wrong");
        // Nobody tells it to end.
        let since = Instant::now();
        while worker.next_line()?.is_some() {
            let goes_on = since.elapsed() > Duration::from_secs(60);
            anyhow::ensure!(!goes_on, "it goes on and on");
        }
        worker.ended(true)
    });
    let folder = tempfile::tempdir().unwrap();
    let summary = run_in(folder.path(), &KIND, 1);
    assert_eq!(summary.found, ["something is wrong"]);
}

/// Lets a process write, then does something to what is stored, and has it judged.
fn judged_after(sql: &'static str) -> Summary {
    static SQL: std::sync::Mutex<&str> = std::sync::Mutex::new("");
    static KIND: Kind = kind(|run| {
        let (mut rng, sql) = (run.rng(), *SQL.lock().unwrap());
        let writers = writers(run, "tampered")?;
        // Rarely none of so many writes is of a state.
        let (mut lives, mut states) = (0, 0);
        while states == 0 {
            lives += 1;
            anyhow::ensure!(lives < 10, "no state was changed in {lives} lives");
            let (_, mut worker) = writers.start("app", &mut rng)?;
            let mut writes_left = 60;
            while writes_left > 0
                && let Some(line) = worker.next_line()?
            {
                writes_left -= u32::from(writers.hear(line));
            }
            worker.end();
            while let Some(line) = worker.next_line()? {
                writers.hear(line);
            }
            worker.ended(true)?;
            let changed = "SELECT count(*) FROM durable_state WHERE revision > 1";
            states = block_on(writers.place().number(changed))?;
        }
        block_on(writers.place().execute(sql))?;
        writers.judge()
    });
    static ONE_AT_A_TIME: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one = ONE_AT_A_TIME
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    *SQL.lock().unwrap() = sql;
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), &KIND, 1)
}

#[test]
fn the_judge_finds_nothing_where_nothing_was_done() {
    let summary = judged_after("SELECT 1");
    assert_eq!(summary.violations, 0, "{:#?}", summary.found);
}

#[test]
fn the_judge_finds_an_id_that_takes_no_write_any_more() {
    for refuses in [
        "CREATE TRIGGER no_events BEFORE INSERT ON event_journal BEGIN SELECT RAISE(ABORT, 'no'); END",
        "CREATE TRIGGER no_changes BEFORE UPDATE ON durable_state BEGIN SELECT RAISE(ABORT, 'no'); END",
    ] {
        let summary = judged_after(refuses);
        let refused = summary
            .found
            .iter()
            .any(|says| says.contains("takes no write in the end"));
        assert!(refused, "{:?}", summary.found);
    }
}

#[test]
fn the_judge_finds_what_was_taken_away_or_changed() {
    for sql in [
        "DELETE FROM event_journal WHERE sequence_nr = (SELECT MAX(sequence_nr) FROM event_journal)",
        "DELETE FROM event_journal WHERE sequence_nr = 2",
        "UPDATE event_journal SET sequence_nr = sequence_nr + 1 WHERE sequence_nr = (SELECT MAX(sequence_nr) FROM event_journal)",
        "UPDATE durable_state SET revision = revision - 1",
        "DELETE FROM durable_state",
        "DELETE FROM noted WHERE revision = 1",
        "UPDATE note_count SET notes = notes + 1 WHERE place = 0",
    ] {
        let summary = judged_after(sql);
        assert!(summary.violations > 0, "nothing is wrong after {sql}");
    }
}

/// The command of a long run, which nobody waits for.
fn long_run(folder: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_torture"));
    command
        .args(["run", "fight", "--backend", "sqlite", "--for", "10m"])
        .arg("--keep")
        .arg(folder.path())
        .stdout(Stdio::piped());
    command
}

#[test]
fn ctrl_c_ends_the_run_and_its_processes_and_prints_what_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = long_run(&folder).spawn().unwrap();
    // Its processes write once there is a log.
    let since = Instant::now();
    let has_begun = || {
        let runs = fs::read_dir(folder.path()).unwrap().flatten();
        runs.flat_map(|run| fs::read_dir(run.path()).unwrap().flatten())
            .any(|file| file.path().extension().is_some_and(|name| name == "log"))
    };
    while !has_begun() {
        assert!(
            since.elapsed() < Duration::from_secs(60),
            "it does not begin"
        );
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut output = String::new();
    let mut stdout = child.stdout.take().unwrap();
    // Ends with the last process that holds it, which none of the workers does.
    stdout.read_to_string(&mut output).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(output.contains("fight on sqlite: "), "{output}");
    assert!(output.contains(", interrupted"), "{output}");
    assert!(
        since.elapsed() < Duration::from_secs(60),
        "it takes its time"
    );
}

#[test]
fn only_long_uninterrupted_runs_are_entered_in_the_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = LongRuns {
        file: folder.path().join("ledger.jsonl"),
        commit: "abc".to_owned(),
        kept: folder.path().to_path_buf(),
    };
    let run = |seconds, interrupted| Summary {
        kind: "fight".to_owned(),
        seconds,
        interrupted,
        ..Summary::default()
    };
    for summary in [
        run(179, false),
        run(180, false),
        run(900, true),
        run(900, false),
    ] {
        ledger.append(&summary).unwrap();
    }
    let text = fs::read_to_string(&ledger.file).unwrap();
    let lines: Vec<serde_json::Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let seconds: Vec<_> = lines.iter().map(|line| line["seconds"].as_u64()).collect();
    assert_eq!(seconds, [Some(180), Some(900)]);
    assert!(
        lines
            .iter()
            .all(|line| line["commit"] == "abc" && line["date"].is_string())
    );
}

#[test]
fn the_ledger_names_no_folder_of_one_machine() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = LongRuns {
        file: folder.path().join("ledger.jsonl"),
        commit: "abc".to_owned(),
        kept: folder.path().join("torture"),
    };
    let sentence = |disk: &Path| format!("the disk is in {}: it is opened", disk.display());
    let summary = Summary {
        seconds: 180,
        found: vec![sentence(&ledger.kept.join("disk-1/violation-0"))],
        ..Summary::default()
    };
    ledger.append(&summary).unwrap();
    let text = fs::read_to_string(&ledger.file).unwrap();
    let line: serde_json::Value = serde_json::from_str(&text).unwrap();
    let found = sentence(Path::new("disk-1/violation-0"));
    assert_eq!(line["found"], serde_json::json!([found]));
}

#[test]
fn every_kind_says_what_it_does() {
    for kind in kinds::KINDS {
        assert!(kind.sentence.ends_with('.'), "{}", kind.name);
        assert!(!kind.backends.is_empty(), "{}", kind.name);
    }
}
