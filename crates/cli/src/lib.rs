#![doc = include_str!("../README.md")]

mod cleanup;
mod moment;
mod opening;
mod outcome;
mod output;
mod projections;
mod schema;
mod signals;

use std::process::ExitCode;

use actix_persistence::Builder;
use clap::{Parser, Subcommand};

use crate::outcome::Outcome;

/// Commands for operators, on the databases of an application on actix-persistence.
#[derive(Parser)]
#[command(name = "actix-persistence", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Print the statements that make the tables of every store in a config; no database is opened.
    Schema(schema::Arguments),
    /// Delete what actors stored, of some persistence ids; the application should not run them meanwhile.
    #[command(subcommand)]
    Cleanup(cleanup::Command),
    /// Look at projections and manage them, whether or not the application runs.
    #[command(subcommand)]
    Projections(projections::Command),
}

/// Does what the arguments of the process say, with the plugins that the builder knows.
///
/// The whole `main` of a program; a builder without further plugins makes the program `actix-persistence`.
/// Wrong arguments end the process.
pub fn main(builder: Builder) -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Schema(arguments) => schema::run(builder, &arguments).map(|()| Outcome::Done),
        Command::Cleanup(command) => cleanup::run(builder, command),
        Command::Projections(command) => projections::run(builder, command),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
