//! Deleting what actors stored.

mod batch;
mod ids;
mod interrupts;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use actix_persistence::{
    Builder, Config, PersistenceId, SequenceNr, SnapshotCriteria,
    cleanup::{Cleanup, CleanupStores, Numbers, Task},
};
use anyhow::Context;

use crate::moment::Moment;
use crate::opening::NOTHING_MADE;
use crate::outcome::Outcome;
use crate::output::say;

/// The tasks that `cleanup` can do with each id.
#[derive(clap::Subcommand)]
pub(crate) enum Command {
    /// Delete the events up to a sequence number, inclusive.
    EventsTo {
        /// The last event to be deleted.
        #[arg(value_name = "NUMBER")]
        to: SequenceNr,
        #[command(flatten)]
        run: Run,
    },
    /// Delete the events before the first one that was written at a moment or later.
    EventsBefore {
        /// The moment, in UTC: 2026-01-31 or 2026-01-31T12:00:00Z.
        moment: Moment,
        #[command(flatten)]
        run: Run,
    },
    /// Delete every event; snapshots stay.
    AllEvents {
        #[command(flatten)]
        numbers: NumbersArgument,
        #[command(flatten)]
        run: Run,
    },
    /// Delete snapshots; events stay.
    Snapshots {
        /// Deletes only events or snapshots up to this sequence number, inclusive.
        #[arg(long, value_name = "NUMBER")]
        to: Option<SequenceNr>,
        #[command(flatten)]
        run: Run,
    },
    /// Delete the events that the latest snapshot covers, and older snapshots; safe while the application runs.
    BeforeSnapshot {
        #[command(flatten)]
        run: Run,
    },
    /// Delete every event and every snapshot.
    All {
        #[command(flatten)]
        numbers: NumbersArgument,
        #[command(flatten)]
        run: Run,
    },
    /// Delete the durable state.
    State {
        #[command(flatten)]
        numbers: NumbersArgument,
        #[command(flatten)]
        run: Run,
    },
}

#[derive(clap::Args)]
pub(crate) struct NumbersArgument {
    /// Let sequence numbers, or revisions, start again at 1 instead of going on.
    #[arg(long)]
    reset_numbers: bool,
}

/// The arguments of a run: the config, the ids, and the way of working.
#[derive(clap::Args)]
pub(crate) struct Run {
    /// The config of the application, in TOML or HOCON.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The plugin id of the journal, if it is not the default one.
    #[arg(long, value_name = "PLUGIN-ID")]
    journal: Option<String>,
    /// The plugin id of the snapshot store, if it is not the default one.
    #[arg(long, value_name = "PLUGIN-ID")]
    snapshot_store: Option<String>,
    /// The plugin id of the store of durable states, if it is not the default one.
    #[arg(long, value_name = "PLUGIN-ID")]
    state_store: Option<String>,
    /// Show what would be deleted of each id, and delete nothing.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Delete it, for good.
    #[arg(long)]
    yes: bool,
    /// The number of ids to work on at the same time.
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    parallelism: NonZeroUsize,
    /// The number of ids at the head of the list to leave out, because they are done.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    skip: usize,
    /// A file with a persistence id in each line; `-` for the standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "ids")]
    ids_from: Option<PathBuf>,
    /// The persistence ids to clean up.
    #[arg(value_name = "PERSISTENCE-ID", required_unless_present = "ids_from")]
    ids: Vec<String>,
}

pub(crate) fn run(builder: Builder, command: Command) -> anyhow::Result<Outcome> {
    let (task, run) = command.split();
    if !run.yes && !run.dry_run {
        eprintln!(
            "nothing was done: add --yes to delete for good, or --dry-run to see what would be deleted"
        );
        return Ok(Outcome::Refused);
    }
    let ids = match &run.ids_from {
        Some(path) => ids::read(path)?,
        None => ids::parse(&run.ids)?,
    };
    let config = Config::from_file(&run.config)?.with_environment();
    let needed = Needed::by(&task);
    let stores = run.stores(needed);
    let builder = needed.narrow(builder.config(config));
    actix::System::new().block_on(async move {
        let persistence = builder.without_making().open().await;
        let persistence = persistence.context(NOTHING_MADE)?;
        let cleanup = persistence.cleanup_of(&stores)?;
        let outcome = if run.dry_run {
            preview(&cleanup, task, ids.get(run.skip..).unwrap_or_default()).await
        } else {
            batch::run(&cleanup, task, ids, run.skip, run.parallelism).await
        };
        // The calls that were sent to the stores end before the process does.
        persistence.drained().await;
        outcome
    })
}

/// The sorts of stores that a task works on; no other is opened, so that none can be in its way: a state store may need code
/// that only the application has.
#[derive(Clone, Copy)]
struct Needed {
    journal: bool,
    snapshot_store: bool,
    state_store: bool,
}

impl Needed {
    fn by(task: &Task) -> Self {
        let [journal, snapshot_store, state_store] = match task {
            Task::DeleteEventsTo(_) | Task::DeleteEventsBefore(_) | Task::DeleteAllEvents(_) => {
                [true, false, false]
            }
            Task::DeleteSnapshots(_) => [false, true, false],
            Task::CleanupBeforeSnapshot | Task::DeleteAll(_) => [true, true, false],
            Task::DeleteState(_) => [false, false, true],
            // A task that this program does not know yet.
            _ => [true, true, true],
        };
        Self {
            journal,
            snapshot_store,
            state_store,
        }
    }

    fn narrow(self, mut builder: Builder) -> Builder {
        if !self.journal {
            builder = builder.without_journals();
        }
        if !self.snapshot_store {
            builder = builder.without_snapshot_stores();
        }
        if !self.state_store {
            builder = builder.without_state_stores();
        }
        builder
    }
}

impl Command {
    fn split(self) -> (Task, Run) {
        match self {
            Self::EventsTo { to, run } => (Task::DeleteEventsTo(to), run),
            Self::EventsBefore { moment, run } => (Task::DeleteEventsBefore(moment.into()), run),
            Self::AllEvents { numbers, run } => (Task::DeleteAllEvents(numbers.into()), run),
            Self::Snapshots { to, run } => {
                let criteria = to.map_or(SnapshotCriteria::LATEST, SnapshotCriteria::up_to);
                (Task::DeleteSnapshots(criteria), run)
            }
            Self::BeforeSnapshot { run } => (Task::CleanupBeforeSnapshot, run),
            Self::All { numbers, run } => (Task::DeleteAll(numbers.into()), run),
            Self::State { numbers, run } => (Task::DeleteState(numbers.into()), run),
        }
    }
}

impl From<NumbersArgument> for Numbers {
    fn from(argument: NumbersArgument) -> Self {
        if argument.reset_numbers {
            Numbers::Reset
        } else {
            Numbers::Keep
        }
    }
}

impl Run {
    /// The stores that the task needs, by the names that were given.
    fn stores(&self, needed: Needed) -> CleanupStores {
        let mut stores = CleanupStores::default();
        if needed.journal {
            stores.journal.clone_from(&self.journal);
        }
        if needed.snapshot_store {
            stores.snapshot_store.clone_from(&self.snapshot_store);
        }
        if needed.state_store {
            stores.state_store.clone_from(&self.state_store);
        }
        stores
    }
}

async fn preview(cleanup: &Cleanup, task: Task, ids: &[PersistenceId]) -> anyhow::Result<Outcome> {
    for id in ids {
        let preview = cleanup.preview(task, id).await;
        let preview = preview.with_context(|| format!("could not look at {id}"))?;
        say(format_args!("{id}: {preview}"))?;
    }
    Ok(Outcome::Done)
}
