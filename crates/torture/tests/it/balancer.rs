//! Two processes behind a load balancer.

use actix::prelude::*;
use actix_persistence::{Persistence, StartError};
use actix_persistence_torture::Place;

use crate::ledger::Ledger;

/// Stands for a process: handles, actors and connections of its own, and a thread for the actors.
pub(crate) struct Process {
    pub(crate) ledgers: Vec<Addr<Ledger>>,
    pub(crate) persistence: Persistence,
    arbiter: Arbiter,
}

impl Process {
    /// Opens the stores there, and starts the actors of so many ids.
    pub(crate) async fn start(place: &Place, ids: usize) -> Self {
        let mut process = Self {
            ledgers: Vec::new(),
            persistence: place.open().await.unwrap(),
            arbiter: Arbiter::new(),
        };
        for id in 0..ids {
            let ledger = process.ledger(&id.to_string()).await;
            process.ledgers.push(ledger);
        }
        process
    }

    /// Starts an actor, as soon as the one of before is gone.
    pub(crate) async fn ledger(&self, name: &str) -> Addr<Ledger> {
        loop {
            let ledger = Ledger::named(name);
            let factory = move || ledger.clone();
            match self
                .persistence
                .start_in(&self.arbiter.handle(), factory)
                .await
            {
                Ok(ledger) => return ledger,
                Err(StartError::AlreadyRunning(_)) => tokio::task::yield_now().await,
                Err(error) => panic!("{error}"),
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.arbiter.stop();
    }
}
