//! Runs a program of the guide by its name.
//!
//! ```text
//! cargo run -p guide -- snapshots counter.db
//! ```
//!
//! One program holds them all, because it is built as fast as one of them.
#![allow(clippy::print_stdout, clippy::print_stderr)] // printing is what the programs are for

mod backups;
mod behaviours;
mod cleaning_up;
mod command_sourcing;
mod driver_connection;
mod durable_state;
mod event_queries;
mod failures;
mod metadata;
mod own_tables;
mod persisting;
mod personal_data;
mod projections;
mod published_events;
mod read_only_commands;
mod recovery;
mod replying;
mod schema_evolution;
mod serializers;
mod several_processes;
mod snapshots;
mod stashing;
mod state_queries;
mod stopping;

/// A program of a page, which reads its arguments after its name.
type Program = fn() -> anyhow::Result<()>;

const PROGRAMS: [(&str, Program); 24] = [
    ("backups", backups::main),
    ("behaviours", behaviours::main),
    ("cleaning_up", cleaning_up::main),
    ("command_sourcing", command_sourcing::main),
    ("driver_connection", driver_connection::main),
    ("durable_state", durable_state::main),
    ("event_queries", event_queries::main),
    ("failures", failures::main),
    ("metadata", metadata::main),
    ("own_tables", own_tables::main),
    ("persisting", persisting::main),
    ("personal_data", personal_data::main),
    ("projections", projections::main),
    ("published_events", published_events::main),
    ("read_only_commands", read_only_commands::main),
    ("recovery", recovery::main),
    ("replying", replying::main),
    ("schema_evolution", schema_evolution::main),
    ("serializers", serializers::main),
    ("several_processes", several_processes::main),
    ("snapshots", snapshots::main),
    ("stashing", stashing::main),
    ("state_queries", state_queries::main),
    ("stopping", stopping::main),
];

fn main() -> anyhow::Result<()> {
    let name = std::env::args().nth(1).unwrap_or_default();
    let program = PROGRAMS.iter().find(|(known, _)| *known == name);
    let Some((_, program)) = program else {
        let names: Vec<_> = PROGRAMS.iter().map(|(name, _)| *name).collect();
        anyhow::bail!("name a program, not {name:?}: {}", names.join(", "));
    };
    program()
}
