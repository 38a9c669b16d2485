//! The reports of the kit about capabilities, fixtures, and stores that panic or hang.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use actix_persistence_memory::{MemoryJournal, MemoryStorage};
use actix_persistence_storage_api::{
    AtomicWrite, Effect, Journal, JournalCapabilities, Operation, PersistenceId, PurgeProgress,
    SequenceNr, SnapshotCapabilities, StorageError, StorageErrorKind, WriteOutcome,
};
use actix_persistence_tck::{BoxError, CaseOutcome, CaseReport, Fixture, Kit, cases};
use async_trait::async_trait;

use crate::broken_journal::{Broken, JournalDefect, kit};
use crate::broken_snapshot_store::{Broken as BrokenSnapshots, SnapshotDefect};

/// A journal without any capability that does what it declares.
#[derive(Clone, Default)]
struct Modest;

#[async_trait]
impl JournalDefect for Modest {
    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        let mut outcomes = Vec::new();
        let mut not_stored = BTreeSet::new();
        for write in writes {
            let id = write.persistence_id().clone();
            let outcome = if not_stored.contains(&id) {
                WriteOutcome::Skipped
            } else if let Some(kind) = rejection_of(&write) {
                let error = StorageError::new(kind, Operation::WriteMessages);
                WriteOutcome::Rejected(error.with_effect(Effect::NotStored))
            } else {
                inner.write_messages(vec![write]).await?.remove(0)
            };
            if !outcome.is_stored() {
                not_stored.insert(id);
            }
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    async fn purge(
        &self,
        _inner: &MemoryJournal,
        _id: &PersistenceId,
    ) -> Result<PurgeProgress, StorageError> {
        let error = StorageError::new(StorageErrorKind::Unsupported, Operation::Purge);
        Err(error.not_stored())
    }

    fn capabilities(&self, _declared: JournalCapabilities) -> JournalCapabilities {
        JournalCapabilities::default().with_max_event_bytes(50_000)
    }
}

fn rejection_of(write: &AtomicWrite) -> Option<StorageErrorKind> {
    if write.events().len() > 1 {
        Some(StorageErrorKind::Unsupported)
    } else if write.events()[0].payload.len() > 50_000 {
        Some(StorageErrorKind::TooLarge)
    } else {
        None
    }
}

#[derive(Clone, Default)]
struct ModestSnapshots;

impl SnapshotDefect for ModestSnapshots {
    fn capabilities(&self, _declared: SnapshotCapabilities) -> SnapshotCapabilities {
        SnapshotCapabilities::default()
    }
}

/// The cases of the specs with this beginning that need a capability.
fn with_needs(spec: &str) -> Vec<String> {
    cases()
        .into_iter()
        .filter(|case| case.name.starts_with(spec) && !case.needs.is_empty())
        .map(|case| case.name)
        .collect()
}

fn names(reports: &[CaseReport], wanted: fn(&CaseOutcome) -> bool) -> Vec<String> {
    reports
        .iter()
        .filter(|report| wanted(&report.outcome))
        .map(|report| report.name.clone())
        .collect()
}

fn failed(outcome: &CaseOutcome) -> bool {
    matches!(outcome, CaseOutcome::Failed(_))
}

fn ignored(outcome: &CaseOutcome) -> bool {
    *outcome == CaseOutcome::Ignored
}

/// Returns the reason why the case failed.
fn failure(reports: &[CaseReport], name: &str) -> String {
    let report = reports.iter().find(|report| report.name == name).unwrap();
    match &report.outcome {
        CaseOutcome::Failed(text) => text.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn a_store_without_capabilities_passes_with_the_ignored_cases_it_names() {
    let mut journals = Broken::of::<Modest>();
    let mut snapshots = BrokenSnapshots::of::<ModestSnapshots>();
    journals.expected_ignored = with_needs("journal");
    snapshots.expected_ignored = with_needs("snapshot");
    let mut expected = ["journal", "event", "snapshot"].map(with_needs).concat();
    let reports = Kit::new()
        .journal("", journals)
        .snapshot_store("", snapshots)
        .collect();
    assert_eq!(names(&reports, failed), Vec::<String>::new());
    let mut found = names(&reports, ignored);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert!(found.len() > 5, "{found:?}");
}

#[test]
fn cases_ignored_without_being_named_fail_the_run() {
    let reports = kit::<Modest>().collect();
    let check = "journal_spec::fixture::ignores_what_it_declares";
    assert_eq!(names(&reports, failed), [check]);
    let text = failure(&reports, check);
    assert!(text.contains("journal_spec::keep_tags"), "{text}");
}

#[test]
fn cases_named_without_being_ignored_fail_the_run() {
    let mut fixture = Broken::of::<Modest>();
    fixture.expected_ignored = with_needs("journal");
    let unknown = "journal_spec::no_such_case".to_owned();
    fixture.expected_ignored.push(unknown.clone());
    let reports = Kit::new().journal("again", fixture).collect();
    let check = "again::journal_spec::fixture::ignores_what_it_declares";
    assert_eq!(names(&reports, failed), [check]);
    let text = failure(&reports, check);
    assert!(text.contains(&unknown), "{text}");
}

/// Panics for an id never seen.
#[derive(Clone, Default)]
struct PanicsOnUnseenIds;

#[async_trait]
impl JournalDefect for PanicsOnUnseenIds {
    async fn highest(
        &self,
        inner: &MemoryJournal,
        id: &PersistenceId,
    ) -> Result<SequenceNr, StorageError> {
        assert_ne!(id.as_str(), "non-existing-pid", "no such row");
        inner.read_highest_sequence_nr(id).await
    }
}

#[test]
fn a_panic_fails_its_case_alone_and_is_told() {
    let reports = kit::<PanicsOnUnseenIds>().collect();
    let case = "journal_spec::not_replay_messages_if_none_was_ever_written";
    assert_eq!(names(&reports, failed), [case]);
    let text = failure(&reports, case);
    assert!(text.contains("no such row"), "{text}");
    assert!(text.contains("J-HIGHEST-1"), "{text}");
    assert!(text.contains("JournalSpec 11"), "{text}");
}

/// Never answers a call without writes.
#[derive(Clone, Default)]
struct HangsOnAnEmptyBatch;

#[async_trait]
impl JournalDefect for HangsOnAnEmptyBatch {
    async fn write(
        &self,
        inner: &MemoryJournal,
        writes: Vec<AtomicWrite>,
    ) -> Result<Vec<WriteOutcome>, StorageError> {
        if writes.is_empty() {
            std::future::pending::<()>().await;
        }
        inner.write_messages(writes).await
    }
}

#[test]
fn a_store_that_hangs_fails_its_case_when_the_time_is_over() {
    let reports = kit::<HangsOnAnEmptyBatch>()
        .with_case_timeout(Duration::from_secs(2))
        .collect();
    let text = failure(&reports, "journal_spec::do_nothing_for_an_empty_batch");
    assert!(text.contains("still running"), "{text}");
    assert!(text.contains("J-WRITE-1"), "{text}");
}

struct CannotOpen;

#[async_trait]
impl Fixture for CannotOpen {
    type Place = MemoryStorage;

    async fn create(&self) -> MemoryStorage {
        MemoryStorage::new()
    }

    async fn journal(&self, _store: &MemoryStorage) -> Result<Arc<dyn Journal>, BoxError> {
        Err("no server at this address".into())
    }
}

#[test]
fn a_fixture_that_cannot_open_a_store_fails_the_run() {
    let reports = Kit::new().journal("", CannotOpen).collect();
    let check = "journal_spec::fixture::opens_a_store";
    assert_eq!(names(&reports, |_| true), [check]);
    let text = failure(&reports, check);
    assert!(text.contains("no server at this address"), "{text}");
}
