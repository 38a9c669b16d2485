//! Commands about a projection that a process runs meanwhile.

use std::time::Duration;

use actix::prelude::*;
use actix_persistence::prelude::*;
use actix_persistence::projection::{
    ExtensionError, OnFailure, Project, Projection, ProjectionSettings,
};
use actix_persistence::query::{EventEnvelope, EventSelection};
use actix_persistence::{Config, Persistence};
use serde::{Deserialize, Serialize};
use tokio::task::yield_now;
use tokio::time::timeout;

use crate::ledger::{Ledger, key};

/// Longer than anything takes that works.
const LONG: Duration = Duration::from_secs(60);

const EVENTS: u64 = 30;

/// A type that none of the events of the ledger has: each of them parks its id.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Told;

impl Event for Told {
    const MANIFEST: &'static str = "told";
    const VERSION: u32 = 1;
}

struct Reader;

impl Actor for Reader {
    type Context = Context<Self>;
}

impl Handler<Project<EventEnvelope<Told>>> for Reader {
    type Result = Result<(), ExtensionError>;

    fn handle(&mut self, _: Project<EventEnvelope<Told>>, _: &mut Context<Self>) -> Self::Result {
        Ok(())
    }
}

async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            yield_now().await;
        }
    };
    timeout(LONG, waiting).await.unwrap();
}

fn start(persistence: &Persistence) -> Projection {
    let new = persistence.projection("mails");
    let new = new.of_events::<Told>(None, EventSelection::all()).unwrap();
    let quick = |settings: &mut ProjectionSettings| {
        settings.lease = Duration::from_millis(400);
        settings.on_failure = OnFailure::Park;
        settings.min_back_off = Duration::from_millis(5);
        settings.idle_progress = Duration::from_millis(20);
    };
    let reader = Reader.start().recipient();
    new.with(quick).to_actor(reader).unwrap()
}

#[test]
fn requests_are_carried_out_by_the_process_that_runs_the_projection() {
    let ledger = Ledger::with_events(EVENTS);
    actix::System::new().block_on(async {
        let config = Config::from_file(ledger.config()).unwrap();
        let persistence = Persistence::builder().config(config).open().await.unwrap();
        let projection = start(&persistence);
        let parked = async || projection.parked(None, 2).await.unwrap();
        let all_wait = async || {
            let ids = parked().await;
            ids.first().is_some_and(|id| id.waiting == EVENTS)
        };
        until(all_wait).await;

        // None of them can be decoded, so the first one is refused again.
        ledger.output(&["retry", "mails", "--all"]);
        until(async || {
            let ids = parked().await;
            ids[0].request.is_none() && ids[0].attempts == 1
        })
        .await;
        ledger.output(&["divide", "mails", "3"]);
        ledger.output(&["drop", "mails", "--all", "--first", "--yes"]);
        until(async || {
            let ids = parked().await;
            ids[0].request.is_none() && ids[0].waiting == EVENTS - 1
        })
        .await;
        // In the middle of what is asked for, and of the division.
        ledger.output(&["retry", "mails", "--all"]);
        ledger.output(&["divide", "mails", "2"]);
        ledger.output(&["pause", "mails"]);
        let said = ledger.run(&["drop", "mails", "--all", "--yes"]);
        let said = String::from_utf8(said.stderr).unwrap();
        assert!(said.contains("mails@1 is paused"), "{said}");
        ledger.output(&["resume", "mails"]);
        until(async || parked().await.is_empty()).await;
        let skipped = projection.skipped(usize::MAX).await.unwrap();
        assert_eq!(skipped.len(), EVENTS as usize);

        ledger.output(&["reset", "mails", "--to-start", "--yes"]);
        until(all_wait).await;
        ledger.output(&["retry", "mails", "--all"]);
        ledger.output(&["remove", "mails", "--yes"]);
        until(async || projection.record().await.unwrap().is_none()).await;
        projection.stop().await;
        assert!(persistence.stop(LONG).await.is_complete());
    });
    assert_eq!(ledger.record(&key("mails")), None);
}
