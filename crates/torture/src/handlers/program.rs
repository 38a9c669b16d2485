//! One program: stores of one database that share their connections, with code of an application in them.

use std::error::Error;
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::{Config, Persistence, PersistenceId};

use super::act::Inside;
use super::hand::{Hand, Op};
use super::shelf::SHELF;
use crate::Ledger;

/// How long a change handler may take.
pub const HANDLER_TIMEOUT: Duration = Duration::from_millis(300);
/// How long a program waits in the end for what is under way.
const STOP_DEADLINE: Duration = Duration::from_secs(60);

/// What is set beside the place of the stores, which have the plugin id `here`; `{url}` and `{kind}` are that.
pub const SECTIONS: &str = r#"
[persistence.back-off]
min = "5ms"
max = "100ms"
[persistence.journal-plugin-fallback]
serializer = "json"
circuit-breaker.max-failures = 5
[persistence.snapshot-store-plugin-fallback]
serializer = "json"
circuit-breaker.max-failures = 5
[persistence.state-plugin-fallback]
handler-timeout = "300ms"
change-event-journal = "here"
circuit-breaker.max-failures = 5
[persistence.state-plugin-fallback.change-handler]
Shelf = "hand"
ToldShelf = "hand"
[persistence.state-plugin-fallback.additional-columns]
Shelf = ["op"]
ToldShelf = ["op"]
"#;

/// A program on its own connections.
pub struct Program {
    pub(super) persistence: Persistence,
    pub(super) number: u32,
    pub(super) inside: Inside,
}

impl Program {
    /// Opens the stores of a config; the tables and the column are there.
    ///
    /// # Errors
    /// Whatever keeps the stores from being used.
    pub async fn open(config: Config, number: u32) -> Result<Self, Box<dyn Error>> {
        let inside = Inside::default();
        let builder = Persistence::builder()
            .config(config)
            .additional_column("op", Op)
            .change_handler("hand", Hand(inside.clone()));
        let persistence = builder.open().await?;
        persistence.ready().await?;
        let ledger: Addr<Ledger> =
            persistence.start(move || Ledger::named(format!("inside-{number}")))?;
        let shelf = PersistenceId::of(SHELF, "shared");
        inside.knows(&persistence, number, ledger, shelf);
        Ok(Self {
            persistence,
            number,
            inside,
        })
    }

    /// Ends the program.
    ///
    /// # Errors
    /// If something is not done in time.
    pub async fn stop(self) -> Result<(), String> {
        self.inside.forgets();
        let report = self.persistence.stop(STOP_DEADLINE).await;
        match report.is_complete() {
            true => Ok(()),
            false => Err(report.to_string()),
        }
    }
}
