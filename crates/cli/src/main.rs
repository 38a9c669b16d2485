//! The program `actix-persistence`, with the plugins that come with the library.

use std::process::ExitCode;

use actix_persistence::Persistence;

fn main() -> ExitCode {
    actix_persistence_cli::main(Persistence::builder())
}
