//! What operators do with the databases of an application on actix-persistence.

mod schema;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What operators do with the databases of an application on actix-persistence.
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
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Schema(arguments) => schema::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
