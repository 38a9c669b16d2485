//! Every public future is begun and dropped after some polls, beside clients that write: what was acknowledged is
//! stored, nothing is half, and nothing stays held.

use std::fs;
use std::time::{Duration, Instant};

use actix_persistence_history::ProcessEvent;

use super::Kind;
use crate::writers::{Scene, Writers};
use crate::{Backend, Line, Run, block_on, workers};

pub(super) const KIND: Kind = Kind {
    name: "cancel",
    sentence: "Every public future is begun and dropped after each number of polls, while others write to the same \
               stores with few connections and turns.",
    backends: &[
        Backend::Memory,
        Backend::Sqlite,
        Backend::Postgres,
        Backend::Mysql,
    ],
    run,
    worker: Some(workers::cancel::work),
};

/// The time for which a process lives; then its history is judged, and the next one gets another database.
const LENGTH: Duration = Duration::from_secs(20);
/// A table that transactions of the application count in.
const TABLE: &str = "
CREATE TABLE cut_off (place BIGINT NOT NULL PRIMARY KEY, times BIGINT NOT NULL);
INSERT INTO cut_off (place, times) VALUES (0, 0), (1, 0);
";

fn run(run: &Run) -> anyhow::Result<()> {
    for round in 1.. {
        if run.is_over() {
            break;
        }
        let mut rng = run.rng();
        // The last six of each belong to those who drop futures.
        let scene = Scene {
            streams: 8,
            driven: 0,
            states: 7,
            retaining: None,
            longest_burst: 20,
            longest_pause: Duration::from_millis(4),
        };
        let writers = Writers::at(run.place()?, run, &format!("round-{round}"), scene)?;
        spare_connections(&writers)?;
        let has_sql = run.backend() != Backend::Memory;
        if has_sql {
            block_on(writers.place().execute(TABLE))?;
        }
        let (process, mut worker) = writers.start("app", &mut rng)?;
        let since = Instant::now();
        let length = LENGTH.min(run.length());
        let mut is_told = false;
        while let Some(line) = worker.next_line()? {
            if matches!(&line, Line::Count { count } if count == "cancellations") {
                run.cycle();
            }
            writers.hear(line);
            if !is_told && (since.elapsed() > length || run.has_failed()) {
                is_told = true;
                let event = ProcessEvent::AskedToStop;
                writers.chronicle.process_event(process, event);
                worker.end();
            }
        }
        worker.ended(true)?;
        worker.forget_log();
        let event = ProcessEvent::Ended;
        writers.chronicle.process_event(process, event);
        if has_sql {
            let counted = "SELECT times FROM cut_off ORDER BY place";
            let counted: Vec<(i64,)> = block_on(writers.place().rows(counted))?;
            if counted[0] != counted[1] {
                run.violation(format!(
                    "transactions are half: both places were counted, {counted:?}"
                ));
            }
        }
        writers.judge()?;
    }
    Ok(())
}

/// Lets the stores have so few connections that each one that is not returned is missed.
fn spare_connections(writers: &Writers<'_>) -> anyhow::Result<()> {
    let config = fs::read_to_string(writers.config_file())?;
    let mut spared = String::new();
    for line in config.lines() {
        spared += line;
        spared.push('\n');
        if line.starts_with("busy-timeout") || line.starts_with("lock-timeout") {
            spared += "read-connections = 1\n";
        }
        if line.starts_with("lock-timeout") {
            spared += "writers = 1\n";
        }
    }
    Ok(fs::write(writers.config_file(), spared)?)
}
