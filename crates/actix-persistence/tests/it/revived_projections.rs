//! A process that was taken for dead, and goes on.

use std::time::Duration;

use actix_persistence::prelude::*;
use actix_persistence::projection::{
    ExactlyOnceHandler, ExtensionError, Projection, ProjectionSettings, Session,
};
use actix_persistence::query::{EventEnvelope, EventSelection};
use actix_persistence::sql::Sql;
use actix_persistence::storage_api::{Operation, Plugin};
use actix_persistence_testkit::InterceptedPlugin;
use async_trait::async_trait;

use crate::projections::{Added, LONG, Place, add, newest};

/// Adds up what it gets, and does not notice if it gets something twice.
struct Adding {
    table: String,
}

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Added>> for Adding {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Added>,
    ) -> Result<(), ExtensionError> {
        let (table, id) = (&self.table, item.persistence_id.as_str());
        let amount = item.events.as_slice()[0].0 as i64;
        let add = format!("UPDATE {table} SET total = total + $2 WHERE id = $1");
        let values = [id.into(), amount.into()];
        if session
            .execute(Sql::assert_safe(add), values.clone())
            .await?
            == 0
        {
            let insert = format!("INSERT INTO {table} (id, last, total) VALUES ($1, 0, $2)");
            session.execute(Sql::assert_safe(insert), values).await?;
        }
        Ok(())
    }
}

fn start(place: &Place, persistence: &Persistence) -> Projection {
    let quick = |settings: &mut ProjectionSettings| {
        settings.lease = Duration::from_millis(200);
        settings.min_back_off = Duration::from_millis(5);
        settings.max_back_off = Duration::from_millis(20);
    };
    let new = persistence.projection("sums");
    let new = new.of_events::<Added>(None, EventSelection::all().of_entity_type("Sum"));
    let table = place.table("sums");
    new.unwrap()
        .with(quick)
        .exactly_once(Adding { table })
        .unwrap()
}

/// Returns the plugin of a database, with rules in front of its stores.
pub(crate) fn plugin(kind: &str) -> InterceptedPlugin {
    match kind {
        #[cfg(feature = "postgres")]
        "postgres" => around(actix_persistence::postgres::PostgresPlugin::new()),
        #[cfg(feature = "mysql")]
        "mysql" => around(actix_persistence::mysql::MysqlPlugin::new()),
        _ => around(actix_persistence::sqlite::SqlitePlugin::new()),
    }
}

fn around(plugin: impl Plugin + 'static) -> InterceptedPlugin {
    InterceptedPlugin::around(plugin)
}

/// The commit of the first process reaches the database after its lease is over and another has handled the same.
pub(crate) async fn a_process_that_was_taken_for_dead_commits_nothing(kind: &'static str) {
    let place = Place::new(kind, "revived");
    let plugin = plugin(kind);
    let sleeping = place.open_with(plugin.clone()).await;
    let awake = place.open().await;
    place.make_tables(&awake).await;
    add(&awake, 3, 1..=4).await;

    let rules = plugin.offset_stores();
    let late = rules.on(Operation::CommitProgress).hold();
    let first = start(&place, &sleeping);
    wait_until(|| late.waiting() == 1).await;
    let renewals = rules.on(Operation::AttendProjection).hold();
    let second = start(&place, &awake);
    let end = newest(&awake).await;
    second.applied(&end, LONG).await.unwrap();
    assert_eq!(place.found(&awake).await.2, 30);

    // It wakes up, and its commit comes.
    late.release_all();
    renewals.release_all();
    add(&awake, 3, 5..=6).await;
    second.applied(&newest(&awake).await, LONG).await.unwrap();
    first.stop().await;
    assert_eq!(place.found(&awake).await.2, 63);
    second.stop().await;
}

async fn wait_until(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.unwrap();
}
