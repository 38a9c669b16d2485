//! The measurement of journals: each work has a row, and a journal that is fast but wrong fails by the name of the work.

use std::marker::PhantomData;
use std::process::ExitCode;
use std::time::Duration;

use actix_persistence_memory::{MemoryJournal, MemoryPlugin};
use actix_persistence_storage_api::{
    AtomicWrite, Effect, Journal, JournalCapabilities, Operation, PageLimit, PersistenceId,
    ReplayPage, ReplayRange, StorageError, StorageErrorKind, StreamHead, WriteOutcome,
};
use actix_persistence_tck::{Fixture, JournalPerf, PluginFixture};
use async_trait::async_trait;
use serde_json::Value;

use crate::broken_journal::{Broken, JournalDefect};

/// The works, in their order.
const WORKS: [&str; 17] = [
    "persist",
    "persist_all",
    "persist_async",
    "persist_all_async",
    "persist_group_10",
    "persist_group_25",
    "persist_group_50",
    "persist_group_100",
    "persist_group_200",
    "group_commit_10",
    "group_commit_25",
    "group_commit_50",
    "group_commit_100",
    "group_commit_200",
    "recovering",
    "recovering_two",
    "recovering_four",
];

/// The status, the table and the list that a run leaves.
struct Run {
    code: ExitCode,
    table: String,
    list: Vec<Value>,
}

impl Run {
    fn of(perf: JournalPerf, arguments: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("rows.json");
        let json = ["journal", "--bench", "--json", path.to_str().unwrap()];
        let mut table = Vec::new();
        let code = perf.run_with([&json, arguments].concat(), &mut table);
        let list = std::fs::read_to_string(path).unwrap();
        Self {
            code,
            table: String::from_utf8(table).unwrap(),
            list: serde_json::from_str(&list).unwrap(),
        }
    }

    /// A run on journals with a defect; a hundred events and a round are enough for it.
    fn of_defect<D: JournalDefect + Clone + Default>(arguments: &[&str]) -> Self {
        let perf = JournalPerf::new()
            .journal("", Broken::of::<D>())
            .with_events(100)
            .with_rounds(1);
        Self::of(perf, arguments)
    }

    /// Returns the texts at this key of the works with this outcome, with the names of the works.
    fn with_outcome(&self, outcome: &str, key: &str) -> Vec<(&str, &str)> {
        let entries = self.list.iter().filter(|entry| entry["outcome"] == outcome);
        let texts = entries.map(|entry| (text(&entry["work"]), text(&entry[key])));
        texts.collect()
    }

    /// Expects that these works failed, and no others, each with this text.
    fn expect_failed(&self, names: &[&str], expected: &str) {
        let failed = self.with_outcome("failed", "failure");
        let found: Vec<_> = failed.iter().map(|&(name, _)| name).collect();
        assert_eq!(found, names, "{}", self.table);
        for (name, text) in failed {
            assert!(text.contains(expected), "{name}: {text}");
        }
        let summary = format!("failed: {}", names.join(", "));
        assert!(self.table.contains(&summary), "{}", self.table);
        assert_eq!(self.code, ExitCode::FAILURE);
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// Places without a name: each journal has memory of its own.
fn memory() -> impl Fixture {
    PluginFixture::new(MemoryPlugin::new(), |section| (section, ()))
}

#[test]
fn the_memory_plugin_has_a_row_for_each_work() {
    let perf = JournalPerf::new()
        .journal("", memory())
        .journal("again", memory());
    let run = Run::of(perf, &["--events", "100", "--rounds", "3"]);
    let again = WORKS.map(|name| format!("again::{name}"));
    let expected: Vec<_> = WORKS
        .into_iter()
        .chain(again.iter().map(String::as_str))
        .collect();
    let found: Vec<_> = run.list.iter().map(|entry| text(&entry["work"])).collect();
    assert_eq!(found, expected);
    for entry in &run.list {
        assert_eq!(entry["outcome"], "measured", "{entry}");
        assert_eq!(entry["rounds"].as_u64().unwrap(), 3, "{entry}");
        let (events, mean) = (entry["events"].as_f64(), entry["mean"].as_f64());
        let rate = entry["events_per_second"].as_f64().unwrap();
        let expected = events.unwrap() / mean.unwrap();
        assert!((rate / expected - 1.0).abs() < 1e-9, "{entry}");
        let row = run.table.lines().find(|line| {
            let name = line.split_whitespace().next();
            name == Some(text(&entry["work"]))
        });
        assert!(row.unwrap().ends_with(&format!(" {rate:.0}")), "{row:?}");
    }
    assert!(
        run.table.ends_with("\n34 measured, 0 skipped, 0 failed\n"),
        "{}",
        run.table
    );
    assert_eq!(run.code, ExitCode::SUCCESS);
}

#[test]
fn works_are_listed_as_runners_of_tests_expect_it() {
    let mut out = Vec::new();
    let perf = JournalPerf::new().journal("proxied", memory());
    let arguments = ["journal", "--list", "--format", "terse", "recovering"];
    assert_eq!(perf.run_with(arguments, &mut out), ExitCode::SUCCESS);
    let expected = "proxied::recovering: benchmark\n\
                    proxied::recovering_two: benchmark\n\
                    proxied::recovering_four: benchmark\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn a_list_that_cannot_be_written_fails_before_anything_is_measured() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("missing").join("rows.json");
    let mut out = Vec::new();
    let perf = JournalPerf::new().journal("", memory());
    let arguments = ["journal", "--json", path.to_str().unwrap()];
    assert_eq!(perf.run_with(arguments, &mut out), ExitCode::FAILURE);
    assert!(out.is_empty(), "{}", String::from_utf8_lossy(&out));
}

/// Answers for the last of fifty events without storing it.
#[derive(Clone, Default)]
struct LosesTheLast;

#[async_trait]
impl JournalDefect for LosesTheLast {
    async fn write(
        &self,
        inner: &MemoryJournal,
        mut writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let count = writes.len();
        writes.retain(|write| write.lowest_sequence_nr() != 50);
        inner.write_messages(writes).await?;
        Ok(vec![WriteOutcome::Stored; count])
    }
}

#[test]
fn a_journal_that_loses_the_last_event_fails_by_name() {
    let filters = [
        "--events",
        "50",
        "--exact",
        "persist",
        "persist_async",
        "recovering",
    ];
    let run = Run::of_defect::<LosesTheLast>(&filters);
    let names = ["persist", "persist_async", "recovering"];
    run.expect_failed(&names, "expected 50, found 49");
}

/// A fault in each page that is read.
trait PageDefect: Clone + Default + Send + Sync + 'static {
    fn damage(page: &mut ReplayPage);
}

/// A journal whose pages have this fault.
#[derive(Clone, Default)]
struct OfPages<P>(PhantomData<P>);

#[async_trait]
impl<P: PageDefect> JournalDefect for OfPages<P> {
    async fn replay(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let mut page = inner.replay_messages(id, range, page).await?;
        P::damage(&mut page);
        Ok(page)
    }
}

/// Leaves an event out of every page.
#[derive(Clone, Default)]
struct LosesTheFifth;

impl PageDefect for LosesTheFifth {
    fn damage(page: &mut ReplayPage) {
        page.events.retain(|event| event.sequence_nr != 5);
    }
}

#[test]
fn a_journal_that_loses_an_event_fails_every_work() {
    let run = Run::of_defect::<OfPages<LosesTheFifth>>(&[]);
    run.expect_failed(&WORKS, "expected 5, found 6");
    let [.., recovering, _, _] = run.with_outcome("failed", "failure")[..] else {
        panic!("{}", run.table);
    };
    assert!(
        recovering.1.starts_with("the round to warm up: "),
        "{recovering:?}"
    );
}

/// Exchanges two events of a page.
#[derive(Clone, Default)]
struct Reorders;

impl PageDefect for Reorders {
    fn damage(page: &mut ReplayPage) {
        page.events.swap(3, 4);
    }
}

#[test]
fn a_journal_that_reorders_events_fails_every_work() {
    let run = Run::of_defect::<OfPages<Reorders>>(&[]);
    run.expect_failed(&WORKS, "expected 4, found 5");
}

/// Returns one event with the bytes of another.
#[derive(Clone, Default)]
struct MixesBytesUp;

impl PageDefect for MixesBytesUp {
    fn damage(page: &mut ReplayPage) {
        page.events[1].payload = page.events[2].payload.clone();
    }
}

#[test]
fn a_journal_that_mixes_bytes_up_fails_every_work() {
    let run = Run::of_defect::<OfPages<MixesBytesUp>>(&[]);
    run.expect_failed(&WORKS, "the bytes of event 2 of p-");
}

/// Says of every page that others follow, and begins anew.
#[derive(Clone, Default)]
struct NeverEnds;

#[async_trait]
impl JournalDefect for NeverEnds {
    async fn replay(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
        range: ReplayRange,
        page: PageLimit,
    ) -> Result<ReplayPage, StorageError> {
        let range = ReplayRange::new(1, range.to.min(3));
        let page = inner.replay_messages(id, range, page).await?;
        Ok(ReplayPage::new(page.events, true, 0))
    }
}

#[test]
fn a_journal_whose_pages_do_not_go_on_fails_every_work() {
    let run = Run::of_defect::<NeverEnds>(&[]);
    run.expect_failed(&WORKS, "expected an event from 4 on in a page of p-");
}

/// Refuses the seventh event.
#[derive(Clone, Default)]
struct Refuses;

#[async_trait]
impl JournalDefect for Refuses {
    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let full = |write: &AtomicWrite| {
            (write.lowest_sequence_nr()..=write.highest_sequence_nr()).contains(&7)
        };
        if writes.iter().any(full) {
            let error = StorageError::new(StorageErrorKind::Backend, Operation::WriteMessages);
            let error = error.with_effect(Effect::NotStored);
            return Ok(vec![WriteOutcome::Failed(error); writes.len()]);
        }
        inner.write_messages(writes).await
    }
}

#[test]
fn a_journal_that_does_not_store_fails_every_work() {
    let run = Run::of_defect::<Refuses>(&[]);
    run.expect_failed(&WORKS, "to be stored, found Failed");
    let [.., recovering] = run.with_outcome("failed", "failure")[..] else {
        panic!("{}", run.table);
    };
    assert!(
        recovering.1.starts_with("the preparation: "),
        "{recovering:?}"
    );
}

/// Never answers a call with several writes.
#[derive(Clone, Default)]
struct HangsOnGroups;

#[async_trait]
impl JournalDefect for HangsOnGroups {
    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        if writes.len() > 1 {
            std::future::pending::<()>().await;
        }
        inner.write_messages(writes).await
    }
}

#[test]
fn a_journal_that_hangs_fails_by_name_and_the_next_work_follows() {
    let perf = JournalPerf::new()
        .journal("", Broken::of::<HangsOnGroups>())
        .with_round_limit(Duration::from_secs(2));
    let names = ["persist_async", "persist_group_25"];
    let arguments = [&["--events", "10", "--rounds", "1", "--exact"], &names[..]].concat();
    let run = Run::of(perf, &arguments);
    run.expect_failed(&["persist_async"], "expected an end within 2s");
    assert_eq!(run.list[1]["outcome"], "measured", "{}", run.table);
}

/// Blocks the thread for ever, as a driver that knows no runtime may.
#[derive(Clone, Default)]
struct BlocksThreads;

#[async_trait]
impl JournalDefect for BlocksThreads {
    async fn head(
        &self,
        _inner: &MemoryJournal,
        _id: &PersistenceId,
    ) -> Result<StreamHead, StorageError> {
        loop {
            std::thread::park();
        }
    }
}

#[test]
fn a_journal_that_blocks_every_thread_fails_by_name() {
    let perf = JournalPerf::new()
        .journal("", Broken::of::<BlocksThreads>())
        .with_round_limit(Duration::from_secs(1));
    let run = Run::of(
        perf,
        &["--events", "1", "recovering_four", "group_commit_200"],
    );
    run.expect_failed(
        &["group_commit_200", "recovering_four"],
        "expected an end within 1s",
    );
}

/// Panics when an id is looked at.
#[derive(Clone, Default)]
struct Panics;

#[async_trait]
impl JournalDefect for Panics {
    async fn head(
        &self,
        _inner: &MemoryJournal,
        _id: &PersistenceId,
    ) -> Result<StreamHead, StorageError> {
        panic!("no such row")
    }
}

#[test]
fn a_journal_that_panics_fails_by_name() {
    let run = Run::of_defect::<Panics>(&["persist_group_200", "recovering_two"]);
    run.expect_failed(&["persist_group_200", "recovering_two"], "no such row");
}

/// Takes three single events of at most 20 bytes in a call.
#[derive(Clone, Default)]
struct TakesThree;

#[async_trait]
impl JournalDefect for TakesThree {
    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        assert!(writes.len() <= 3, "{} writes in a call", writes.len());
        let small = |write: &AtomicWrite| write.events().len() == 1 && write.size() <= 20;
        assert!(writes.iter().all(small), "a write that is too large");
        inner.write_messages(writes).await
    }

    fn capabilities(&self, _declared: JournalCapabilities) -> JournalCapabilities {
        JournalCapabilities::default()
            .with_max_group(3, 1_000)
            .with_max_event_bytes(20)
    }
}

#[test]
fn works_keep_to_the_capabilities_that_a_journal_declares() {
    let run = Run::of_defect::<TakesThree>(&[]);
    let skipped = run.with_outcome("skipped", "missing");
    let expected = [
        ("persist_all", "atomic_batches"),
        ("persist_all_async", "atomic_batches"),
    ];
    assert_eq!(skipped, expected, "{}", run.table);
    let text = "skipped: the journal does not declare atomic_batches";
    assert_eq!(run.table.matches(text).count(), 2, "{}", run.table);
    assert!(
        run.table.ends_with("\n15 measured, 2 skipped, 0 failed\n"),
        "{}",
        run.table
    );
    assert_eq!(run.code, ExitCode::SUCCESS);
}
