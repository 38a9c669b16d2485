//! Projections of events and of changes, on every database.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use actix::prelude::*;
use actix_persistence::config::Config;
use actix_persistence::prelude::*;
use actix_persistence::projection::{
    AtLeastOnceHandler, ExactlyOnceHandler, ExtensionError, OnFailure, Project, Projection,
    ProjectionError, Session, ShareState,
};
use actix_persistence::query::{EventEnvelope, EventOffset, EventSelection};
use actix_persistence::sql::{SessionWork, Sql};
use actix_persistence::storage_api::Plugin;
use async_trait::async_trait;
use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};

pub(crate) const LONG: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Added(pub(crate) u64);

impl Event for Added {
    const MANIFEST: &'static str = "test.added";
    const VERSION: u32 = 1;
}

pub(crate) struct Sum {
    name: String,
    sum: u64,
}

impl Actor for Sum {
    type Context = PersistentContext<Self>;
}

impl PersistentActor for Sum {
    type Event = Added;
    type Snapshot = NoSnapshot;

    fn persistence_id(&self) -> PersistenceId {
        PersistenceId::of("Sum", &self.name)
    }

    fn on_event(&mut self, event: &Added) {
        self.sum += event.0;
    }
}

#[derive(Message)]
#[rtype(result = "Result<u64, PersistError>")]
pub(crate) struct Add(pub(crate) u64);

impl Handler<Add> for Sum {
    type Result = Reply<Add>;

    fn handle(&mut self, Add(amount): Add, ctx: &mut Self::Context) -> Self::Result {
        ctx.persist(Added(amount)).reply(|sum| Ok(sum.sum))
    }
}

/// A database with tables of one test.
pub(crate) struct Place {
    kind: &'static str,
    url: String,
    suffix: String,
    _folder: Option<tempfile::TempDir>,
}

impl Place {
    pub(crate) fn new(kind: &'static str, test: &str) -> Self {
        let (url, folder) = match kind {
            "sqlite" => {
                let folder = tempfile::tempdir().unwrap();
                let url = format!("sqlite://{}", folder.path().join("test.db").display());
                (url, Some(folder))
            }
            "postgres" => (
                std::env::var("ACTIX_PERSISTENCE_TEST_POSTGRES_URL").unwrap(),
                None,
            ),
            _ => (
                std::env::var("ACTIX_PERSISTENCE_TEST_MYSQL_URL").unwrap(),
                None,
            ),
        };
        Self {
            kind,
            url,
            suffix: format!("{test}_{}", std::process::id()),
            _folder: folder,
        }
    }

    pub(crate) async fn open(&self) -> Persistence {
        let builder = Persistence::builder().config(self.config());
        builder.open().await.unwrap()
    }

    /// Opens the stores with a plugin in the place of the one that comes with the library.
    pub(crate) async fn open_with(&self, plugin: impl Plugin + 'static) -> Persistence {
        let builder = Persistence::builder().config(self.config());
        builder.plugin(plugin).open().await.unwrap()
    }

    /// Returns the kind of the database, as a config names it.
    pub(crate) fn kind(&self) -> &'static str {
        self.kind
    }

    /// Returns the URL of the database.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Reaches the server by another URL.
    pub(crate) fn reach_by(&mut self, way: impl FnOnce(&str) -> String) {
        self.url = way(&self.url);
    }

    /// Returns the place of other tables of the same database, with a name after those here; the same ones for none.
    pub(crate) fn beside(&self, name: &str) -> Self {
        let separator = if name.is_empty() { "" } else { "_" };
        Self {
            kind: self.kind,
            url: self.url.clone(),
            suffix: format!("{}{separator}{name}", self.suffix),
            _folder: None,
        }
    }

    /// Returns a table of the read model.
    pub(crate) fn table(&self, name: &str) -> String {
        format!("{name}_{}", self.suffix)
    }

    pub(crate) fn config(&self) -> Config {
        let mut config = Config::new();
        for section in ["journal", "state", "offset-store"] {
            let path = |key: &str| format!("persistence.{section}.test.{key}");
            config = config
                .with(&format!("persistence.{section}.plugin"), "test")
                .with(&path("kind"), self.kind)
                .with(&path("url"), self.url.as_str())
                .with(&path("auto-initialize"), true);
            for table in ["event", "tag", "metadata", "state", "projection"] {
                let name = format!("{table}_{}", self.suffix);
                config = config.with(&path(&format!("{table}-table")), name.as_str());
            }
        }
        config
    }

    /// Makes the tables of the read model.
    pub(crate) async fn make_tables(&self, persistence: &Persistence) {
        for sql in [
            format!(
                "CREATE TABLE log_{} (id VARCHAR(200), seq BIGINT, PRIMARY KEY (id, seq))",
                self.suffix
            ),
            format!(
                "CREATE TABLE sums_{} (id VARCHAR(200) PRIMARY KEY, last BIGINT, total BIGINT)",
                self.suffix
            ),
        ] {
            let work = SessionWork::new(move |session| {
                Box::pin(async move {
                    session.execute(Sql::assert_safe(sql), []).await?;
                    Ok(())
                })
            });
            persistence.transact(None, work).await.unwrap();
        }
    }

    pub(crate) fn read_model(&self) -> ReadModel {
        ReadModel {
            suffix: self.suffix.clone(),
            fails_for: Arc::default(),
            fails: Arc::new(AtomicBool::new(true)),
        }
    }

    /// Returns the number of events in the log, the sum of all last numbers, and the total.
    pub(crate) async fn found(&self, persistence: &Persistence) -> (i64, i64, i64) {
        let sql = format!(
            "SELECT (SELECT COUNT(*) FROM log_{0}) AS events, (SELECT CAST(SUM(last) AS DECIMAL(20)) FROM sums_{0}) AS last,
                (SELECT CAST(SUM(total) AS DECIMAL(20)) FROM sums_{0}) AS total",
            self.suffix
        );
        let sql = match self.kind {
            "sqlite" => sql.replace("DECIMAL(20)", "INTEGER"),
            "postgres" => sql.replace("DECIMAL(20)", "BIGINT"),
            _ => sql.replace("DECIMAL(20)", "SIGNED"),
        };
        let work = SessionWork::new(move |session| {
            Box::pin(async move {
                let row = session.select_one(Sql::assert_safe(sql), []).await?;
                let row = row.ok_or("no row")?;
                let count = |name| row.get::<Option<i64>>(name).map(Option::unwrap_or_default);
                Ok((count("events")?, count("last")?, count("total")?))
            })
        });
        persistence.transact(None, work).await.unwrap()
    }
}

/// The text for another process, which has no folder of its own.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.kind, self.suffix, self.url)
    }
}

impl std::str::FromStr for Place {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut parts = text.splitn(3, ' ');
        let kind = match parts.next() {
            Some("sqlite") => "sqlite",
            Some("postgres") => "postgres",
            _ => "mysql",
        };
        Ok(Self {
            kind,
            suffix: parts.next().ok_or("no suffix")?.to_owned(),
            url: parts.next().ok_or("no url")?.to_owned(),
            _folder: None,
        })
    }
}

/// Writes a row for each event, which fails for one that is there, and adds up each id.
#[derive(Clone)]
pub(crate) struct ReadModel {
    suffix: String,
    /// An amount for which it fails, unless it is 0.
    pub(crate) fails_for: Arc<AtomicUsize>,
    pub(crate) fails: Arc<AtomicBool>,
}

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Added>> for ReadModel {
    async fn handle(
        &self,
        session: &mut dyn Session,
        item: &EventEnvelope<Added>,
    ) -> Result<(), ExtensionError> {
        let (id, number) = (item.persistence_id.as_str(), item.sequence_nr as i64);
        let amount = item.events.as_slice()[0].0;
        let log = Sql::assert_safe(format!(
            "INSERT INTO log_{} (id, seq) VALUES ($1, $2)",
            self.suffix
        ));
        session.execute(log, [id.into(), number.into()]).await?;
        if self.fails.load(Ordering::SeqCst)
            && amount == self.fails_for.load(Ordering::SeqCst) as u64
        {
            return Err(format!("{amount} is too much").into());
        }
        let values = [id.into(), number.into(), (amount as i64).into()];
        // The order of each id: the number before is the last one.
        let update = Sql::assert_safe(format!(
            "UPDATE sums_{} SET last = $2, total = total + $3 WHERE id = $1 AND last = $2 - 1",
            self.suffix
        ));
        if number == 1 {
            let insert = format!(
                "INSERT INTO sums_{} (id, last, total) VALUES ($1, $2, $3)",
                self.suffix
            );
            session.execute(Sql::assert_safe(insert), values).await?;
        } else if session.execute(update, values).await? != 1 {
            return Err(format!("event {number} of {id} does not follow on the one before").into());
        }
        Ok(())
    }
}

pub(crate) fn start(
    persistence: &Persistence,
    model: &ReadModel,
    change: impl FnOnce(&mut actix_persistence::projection::ProjectionSettings),
) -> Projection {
    let new = persistence
        .projection("sums")
        .of_events::<Added>(None, EventSelection::all().of_entity_type("Sum"))
        .unwrap();
    let quick = new.with(|settings| {
        settings.lease = Duration::from_millis(400);
        settings.min_back_off = Duration::from_millis(5);
        settings.max_back_off = Duration::from_millis(20);
        settings.group_size = 7;
        settings.idle_progress = Duration::from_millis(50);
    });
    quick.with(change).exactly_once(model.clone()).unwrap()
}

/// Starts the actor with this number.
pub(crate) fn sum(persistence: &Persistence, number: usize) -> Addr<Sum> {
    let name = format!("{number}");
    let factory = move || Sum {
        name: name.clone(),
        sum: 0,
    };
    persistence.start(factory).unwrap()
}

pub(crate) async fn add(
    persistence: &Persistence,
    ids: usize,
    amounts: std::ops::RangeInclusive<u64>,
) {
    let sums: Vec<_> = (0..ids).map(|nr| sum(persistence, nr)).collect();
    for amount in amounts {
        let added = sums.iter().map(|sum| sum.send(Add(amount)));
        for result in futures_util::future::join_all(added).await {
            result.unwrap().unwrap();
        }
    }
}

pub(crate) async fn newest(persistence: &Persistence) -> EventOffset {
    let queries = persistence.event_queries(None).unwrap();
    let selection = EventSelection::all().of_entity_type("Sum");
    let mut events = queries.current_events::<Added>(selection, EventOffset::start());
    while events.try_next().await.unwrap().is_some() {}
    events.offset().clone()
}

/// Two handles write and project while shares are divided and projections stop and start: each event is projected once.
async fn each_event_is_projected_once(kind: &'static str) {
    const IDS: usize = 40;
    const AMOUNTS: u64 = 30;
    let place = Place::new(kind, "once");
    let (first, second) = (place.open().await, place.open().await);
    place.make_tables(&first).await;
    let model = place.read_model();
    let writing = actix_rt::spawn({
        let first = first.clone();
        async move { add(&first, IDS, 1..=AMOUNTS).await }
    });
    let mut kept = Some(start(&first, &model, |settings| settings.shares = 3));
    let mut other = None;
    for shares in [1, 4, 2, 7, 3] {
        other = match other {
            None => Some(start(&second, &model, |settings| settings.shares = 3)),
            Some(projection) => {
                Projection::stop(projection).await;
                None
            }
        };
        let running = kept.take().unwrap();
        tokio::time::timeout(LONG, async {
            while running.divide(shares).await.is_err() {}
        })
        .await
        .unwrap();
        // Some of it is done in each number of shares.
        let before = place.found(&first).await.0;
        let some_more =
            async { while place.found(&first).await.0 == before && !writing.is_finished() {} };
        tokio::time::timeout(LONG, some_more).await.unwrap();
        kept = Some(running);
    }
    writing.await.unwrap();
    let end = newest(&first).await;
    let kept = kept.unwrap();
    if let Err(error) = kept.applied(&end, LONG).await {
        panic!("{error}: {:?} {:?}", kept.status(), kept.record().await);
    }
    let (events, last, total) = place.found(&first).await;
    let (ids, amounts) = (IDS as i64, AMOUNTS as i64);
    assert_eq!(events, ids * amounts);
    assert_eq!(last, ids * amounts);
    assert_eq!(total, ids * amounts * (amounts + 1) / 2);
    let record = kept.record().await.unwrap().unwrap();
    assert_eq!(record.shares.len(), 3);
    assert!(kept.status().is_healthy(LONG));
    kept.stop().await;
    if let Some(other) = other {
        other.stop().await;
    }
    for persistence in [first, second] {
        assert!(persistence.stop(LONG).await.is_complete());
    }
}

/// A handler that fails for an event halts the share of that, until it is resumed; or skips it.
async fn a_failing_handler_halts_its_share_or_skips(kind: &'static str) {
    let place = Place::new(kind, "fails");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    let model = place.read_model();
    model.fails_for.store(5, Ordering::SeqCst);
    let projection = start(&persistence, &model, |settings| settings.max_attempts = 2);
    add(&persistence, 1, 1..=9).await;
    let halted = async {
        loop {
            let record = projection.record().await.unwrap();
            let shares = record.map(|record| record.shares).unwrap_or_default();
            if let Some(reason) = shares.first().and_then(|share| share.halted.clone()) {
                return reason;
            }
        }
    };
    let reason = tokio::time::timeout(LONG, halted).await.unwrap();
    assert!(
        reason.contains("event 5 of") && reason.contains("5 is too much"),
        "{reason}"
    );
    assert_eq!(place.found(&persistence).await, (4, 4, 10));
    // The next look finds it out.
    let seen = async {
        while projection.status().shares.get(&0).map(|share| share.state)
            != Some(ShareState::Halted)
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, seen).await.unwrap();
    assert!(!projection.status().is_healthy(LONG));
    model.fails.store(false, Ordering::SeqCst);
    projection.resume().await.unwrap();
    let end = newest(&persistence).await;
    projection.applied(&end, LONG).await.unwrap();
    assert_eq!(place.found(&persistence).await, (9, 9, 45));
    projection.stop().await;

    // Another version reads all of it again, and skips; nothing of the first one is touched.
    model.fails.store(true, Ordering::SeqCst);
    let tables = place.beside("2");
    tables.make_tables(&persistence).await;
    let model = ReadModel {
        suffix: tables.suffix.clone(),
        ..model
    };
    model.fails_for.store(9, Ordering::SeqCst);
    let skipping = persistence
        .projection("sums")
        .of_events::<Added>(None, EventSelection::all())
        .unwrap()
        .version(2)
        .with(|settings| {
            settings.on_failure = OnFailure::Skip;
            settings.max_attempts = 2;
            settings.min_back_off = Duration::from_millis(5);
        });
    let skipping = skipping.exactly_once(model).unwrap();
    skipping.applied(&end, LONG).await.unwrap();
    assert_eq!(tables.found(&persistence).await, (8, 8, 36));
    let skipped = skipping.skipped(10).await.unwrap();
    assert_eq!(skipped.len(), 1);
    assert!(skipped[0].item.contains("event 9 of"), "{skipped:?}");
    assert!(skipped[0].reason.contains("9 is too much"), "{skipped:?}");
    assert!(persistence.stop(LONG).await.is_complete());
}

/// A projection that is paused does nothing, and one that is reset reads again.
async fn a_projection_is_paused_resumed_and_reset(kind: &'static str) {
    let place = Place::new(kind, "paused");
    let persistence = place.open().await;
    place.make_tables(&persistence).await;
    let projection = start(&persistence, &place.read_model(), |_| {});
    add(&persistence, 3, 1..=2).await;
    projection
        .applied(&newest(&persistence).await, LONG)
        .await
        .unwrap();
    projection.pause().await.unwrap();
    let paused = async {
        while projection
            .status()
            .shares
            .values()
            .any(|share| share.state != ShareState::Left)
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, paused).await.unwrap();
    let clear = place.suffix.clone();
    let work = SessionWork::new(move |session| {
        Box::pin(async move {
            for table in ["log", "sums"] {
                session
                    .execute(Sql::assert_safe(format!("DELETE FROM {table}_{clear}")), [])
                    .await?;
            }
            Ok(())
        })
    });
    persistence.transact(None, work).await.unwrap();
    projection.reset(&EventOffset::start()).await.unwrap();
    assert_eq!(place.found(&persistence).await.0, 0);
    projection.resume().await.unwrap();
    projection
        .applied(&newest(&persistence).await, LONG)
        .await
        .unwrap();
    assert_eq!(place.found(&persistence).await, (6, 6, 9));
    assert!(persistence.stop(LONG).await.is_complete());
}

use crate::altered_tables::{
    a_lock_of_others_is_no_failure_of_a_handler, a_table_that_is_altered_halts_no_share,
};
use crate::applied_writes::{
    a_revision_that_a_reply_names_is_in_the_read_model,
    what_a_reply_names_is_in_the_read_model_after_waiting,
};
use crate::killed_projections::each_event_is_projected_once_over_kills;
use crate::live_versions::{
    a_version_that_is_not_made_live_leaves_the_old_one_going_on,
    readers_see_the_old_or_the_new_version_and_no_gap,
};
use crate::managed_projections::a_running_projection_is_managed_from_elsewhere;
use crate::managed_retries::{
    an_event_is_waited_for_while_shares_are_divided,
    resets_and_removals_beside_retries_lose_and_double_nothing,
};
use crate::offsets_of_times::{
    no_change_of_a_time_is_missing_after_its_offset, no_event_of_a_time_is_missing_after_its_offset,
};
use crate::parked_projections::{
    a_parked_change_is_handled_as_the_state_is_then,
    what_is_parked_waits_and_is_handled_once_when_retried,
};
use crate::projection_health::the_age_of_the_bound_is_part_of_the_health;
#[cfg(any(feature = "postgres", feature = "mysql"))]
use crate::projections_beside_slow_handlers::a_slow_handler_and_an_idle_transaction_delay_no_reader;
use crate::projections_killed_at_each_step::each_event_is_projected_once_over_a_kill_at_each_call;
#[cfg(any(feature = "postgres", feature = "mysql"))]
use crate::projections_killed_at_each_step::each_event_is_projected_once_over_a_kill_on_the_way;
use crate::revived_projections::a_process_that_was_taken_for_dead_commits_nothing;

/// Runs each test on each database.
macro_rules! on_each_database {
    ($($test:ident)*; $($on_servers:ident)*) => {
        mod sqlite {
            $(#[actix::test] async fn $test() { super::$test("sqlite").await; })*
        }
        #[cfg(feature = "postgres")]
        mod postgres {
            $(#[actix::test] async fn $test() { super::$test("postgres").await; })*
            $(#[actix::test] async fn $on_servers() { super::$on_servers("postgres").await; })*
        }
        #[cfg(feature = "mysql")]
        mod mysql {
            $(#[actix::test] async fn $test() { super::$test("mysql").await; })*
            $(#[actix::test] async fn $on_servers() { super::$on_servers("mysql").await; })*
        }
    };
}

on_each_database! {
    each_event_is_projected_once
    a_failing_handler_halts_its_share_or_skips
    a_projection_is_paused_resumed_and_reset
    each_event_is_projected_once_over_kills
    a_process_that_was_taken_for_dead_commits_nothing
    a_running_projection_is_managed_from_elsewhere
    no_event_of_a_time_is_missing_after_its_offset
    no_change_of_a_time_is_missing_after_its_offset
    what_a_reply_names_is_in_the_read_model_after_waiting
    a_revision_that_a_reply_names_is_in_the_read_model
    readers_see_the_old_or_the_new_version_and_no_gap
    a_version_that_is_not_made_live_leaves_the_old_one_going_on
    what_is_parked_waits_and_is_handled_once_when_retried
    a_parked_change_is_handled_as_the_state_is_then
    resets_and_removals_beside_retries_lose_and_double_nothing
    an_event_is_waited_for_while_shares_are_divided
    the_age_of_the_bound_is_part_of_the_health
    a_table_that_is_altered_halts_no_share
    each_event_is_projected_once_over_a_kill_at_each_call;
    each_event_is_projected_once_over_a_kill_on_the_way
    a_slow_handler_and_an_idle_transaction_delay_no_reader
    a_lock_of_others_is_no_failure_of_a_handler
}

/// Adds up what a projection hands over, and fails for each first delivery of an even amount.
#[derive(Default)]
struct Total {
    sum: u64,
    seen: Vec<u64>,
}

impl Actor for Total {
    type Context = Context<Self>;
}

impl Handler<Project<EventEnvelope<Added>>> for Total {
    type Result = Result<(), ExtensionError>;

    fn handle(
        &mut self,
        item: Project<EventEnvelope<Added>>,
        _: &mut Self::Context,
    ) -> Self::Result {
        let amount = item.0.events.as_slice()[0].0;
        let is_first = !self.seen.contains(&amount);
        self.seen.push(amount);
        if is_first && amount.is_multiple_of(2) {
            return Err("not yet".into());
        }
        self.sum += amount;
        Ok(())
    }
}

#[derive(Message)]
#[rtype(result = "Vec<u64>")]
struct Seen;

impl Handler<Seen> for Total {
    type Result = Vec<u64>;

    fn handle(&mut self, _: Seen, _: &mut Context<Self>) -> Vec<u64> {
        self.seen.clone()
    }
}

#[actix::test]
async fn an_actor_gets_each_event_at_least_once_in_order() {
    let persistence = Persistence::memory().await.unwrap();
    let total = Total::default().start();
    let projection = persistence
        .projection("total")
        .of_events::<Added>(None, EventSelection::all())
        .unwrap()
        .with(|settings| {
            settings.min_back_off = Duration::from_millis(1);
            settings.group_size = 1;
        });
    let projection = projection.to_actor(total.clone().recipient()).unwrap();
    add(&persistence, 1, 1..=6).await;
    projection
        .applied(&newest(&persistence).await, LONG)
        .await
        .unwrap();
    assert_eq!(total.send(Seen).await.unwrap(), [1, 2, 2, 3, 4, 4, 5, 6, 6]);
    assert!(persistence.stop(LONG).await.is_complete());
}

struct Nothing;

#[async_trait]
impl ExactlyOnceHandler<EventEnvelope<Added>> for Nothing {
    async fn handle(
        &self,
        _: &mut dyn Session,
        _: &EventEnvelope<Added>,
    ) -> Result<(), ExtensionError> {
        Ok(())
    }
}

#[async_trait]
impl AtLeastOnceHandler<EventEnvelope<Added>> for Nothing {
    async fn handle(&self, _: &EventEnvelope<Added>) -> Result<(), ExtensionError> {
        Ok(())
    }
}

#[actix::test]
async fn a_projection_that_cannot_be_is_refused_with_the_reason() {
    let persistence = Persistence::memory().await.unwrap();
    let new = |name: &str| {
        persistence
            .projection(name)
            .of_events::<Added>(None, EventSelection::all())
    };
    let error = new("a b").unwrap_err().to_string();
    assert!(error.contains("no name of a projection"), "{error}");
    let error = new("a").unwrap().exactly_once(Nothing).unwrap_err();
    assert!(matches!(error, ProjectionError::NoTransactions), "{error}");
    let too_many = new("a").unwrap().with(|settings| settings.shares = 0);
    let error = too_many.at_least_once(Nothing).unwrap_err().to_string();
    assert_eq!(error, "a projection cannot have 0 shares; use 1 to 1024");
    let error = persistence
        .projection("a")
        .offset_store("b")
        .of_events::<Added>(None, EventSelection::all());
    let error = error.unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no offset store with the plugin id 'b'; known are: memory"
    );
}
