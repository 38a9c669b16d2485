//! Handlers that stand in each other's way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_persistence_storage_api::{ChangeHandler, ExtensionError, Session, Sql, StateChange};
use async_trait::async_trait;
use futures_util::future::join;
use tokio::sync::Barrier;

use super::driver::{Act, Driver};
use super::with_handler;
use crate::OnServer;
use crate::states::{revision_of, state, store};

/// Counts in two rows, in an order that depends on the id.
struct CrossCounting {
    /// The statement that counts one in a row.
    count: String,
    /// The driver that runs it, in the place of the session.
    driver: Option<Arc<dyn Driver>>,
    calls: Arc<AtomicUsize>,
    /// Holds the first two calls until each has one of the rows.
    both_have_one: Barrier,
}

#[async_trait]
impl ChangeHandler for CrossCounting {
    async fn process(
        &self,
        session: &mut dyn Session,
        change: &StateChange<'_>,
    ) -> Result<(), ExtensionError> {
        let mut names = ["left", "right"];
        if change.persistence_id.entity_id() == "b" {
            names.reverse();
        }
        let [first, second] = names;
        self.count(session, first).await?;
        if self.calls.fetch_add(1, Ordering::SeqCst) < 2 {
            self.both_have_one.wait().await;
        }
        self.count(session, second).await
    }
}

impl CrossCounting {
    async fn count(
        &self,
        session: &mut dyn Session,
        name: &'static str,
    ) -> Result<(), ExtensionError> {
        if let Some(driver) = &self.driver {
            return driver.act(session, Act::Run(count_of(name))).await;
        }
        let count = Sql::assert_safe(self.count.clone());
        session.execute(count, [name.into()]).await?;
        Ok(())
    }
}

fn count_of(name: &str) -> &'static str {
    match name {
        "left" => "UPDATE counts SET n = n + 1 WHERE name = 'left'",
        _ => "UPDATE counts SET n = n + 1 WHERE name = 'right'",
    }
}

/// Checks that two changes whose handlers each hold what the other one needs are both stored: the one that the server
/// undoes is made again, with a new call of its handler, and what the first call did is not counted. For servers, where
/// two transactions write at the same time.
///
/// # Panics
/// If it is otherwise.
pub async fn changes_whose_handlers_deadlock_are_each_counted_once(tables: &dyn OnServer) {
    deadlock(tables, None).await;
}

/// The same for handlers that count with the driver's connection, where a transaction that has failed in a deadlock is still
/// there, so that certainly nothing is stored.
///
/// # Panics
/// If it is otherwise.
pub async fn changes_whose_handlers_deadlock_with_the_driver_are_counted_once(
    tables: &dyn OnServer,
    driver: Arc<dyn Driver>,
) {
    deadlock(tables, Some(driver)).await;
}

async fn deadlock(tables: &dyn OnServer, driver: Option<Arc<dyn Driver>>) {
    tables
        .run("CREATE TABLE counts (name VARCHAR(10) PRIMARY KEY, n BIGINT NOT NULL)")
        .await;
    tables
        .run("INSERT INTO counts VALUES ('left', 0), ('right', 0)")
        .await;
    let calls = Arc::new(AtomicUsize::new(0));
    let handler = CrossCounting {
        count: format!(
            "UPDATE {} SET n = n + 1 WHERE name = $1",
            tables.of_application("counts")
        ),
        driver,
        calls: Arc::clone(&calls),
        both_have_one: Barrier::new(2),
    };
    let states = tables.open_with_handlers(&with_handler(handler)).await;
    join(
        store(&*states, state("a", 1)),
        store(&*states, state("b", 1)),
    )
    .await;
    assert!(calls.load(Ordering::SeqCst) > 2, "nothing was undone");
    assert_eq!(revision_of(&*states, "a").await, 1);
    assert_eq!(revision_of(&*states, "b").await, 1);
    for name in ["left", "right"] {
        let count = format!("SELECT n FROM counts WHERE name = '{name}'");
        assert_eq!(tables.number(&count).await, 2, "{name}");
    }
}
