//! Versions of a projection, of which one is live.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix_persistence_storage_api::{
    OffsetStore, Progress, ProjectionChange, ProjectionKey, Replacement, SessionWork, StorageError,
    StorageErrorKind, VersionConflict,
};

use crate::capability::Capability;
use crate::case::{Case, case};
use crate::extension_steps::expect_extension_refused;
use crate::failure::{CaseResult, Failure, expect, expect_eq};
use crate::offset_steps::{
    START, expect_offsets, expect_refused, expect_unsupported, fresh_key, go_on, record, step, take,
};
use crate::offset_work::Counts;
use crate::state_steps::refused;
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(
        make_the_first_version_of_a_name_live,
        ["O-REGISTER-3", "O-LIVE-6"]
    ),
    case!(make_the_next_version_live_after_a_removal, ["O-REGISTER-3"]),
    case!(replace_the_live_version_there_and_back, ["O-LIVE-1"]),
    case!(replace_no_version_that_has_changed, ["O-LIVE-2"]),
    case!(end_the_claims_to_what_was_replaced, ["O-LIVE-3"]),
    case!(refuse_what_are_not_two_versions_of_a_name, ["O-LIVE-5"]),
    case!(resume_a_version_only_while_it_is_live, ["O-LIVE-7"]),
    case!(replace_a_version_with_the_work_or_not, ["O-LIVE-1"]).needing(Capability::Transactions),
    case!(run_no_work_if_nothing_is_replaced, ["O-LIVE-2"]).needing(Capability::Transactions),
];

/// Expects the version of a name that is live, by both ways to ask.
async fn expect_live(
    store: &dyn OffsetStore,
    key: &ProjectionKey,
    expected: Option<u32>,
) -> CaseResult {
    let found = store.live_version(key.name()).await?;
    expect_eq("version that is live", found, expected)?;
    let mut live = Vec::new();
    for key in store
        .keys()
        .await?
        .iter()
        .filter(|it| it.name() == key.name())
    {
        if record(store, key).await?.live {
            live.push(key.version());
        }
    }
    let expected: Vec<_> = expected.into_iter().collect();
    expect_eq(
        "versions whose record says that they are live",
        live,
        expected,
    )
}

/// Registers two versions of a name, of which the first is live, paused, and has gone on to "1"; returns what is to replace it.
async fn replaceable(store: &dyn OffsetStore) -> Result<(ProjectionKey, Replacement), Failure> {
    let old = fresh_key();
    let new = old.clone().with_version(2);
    store.register(&old, 2, START).await?;
    store.register(&new, 1, START).await?;
    let taken = take(store, &old, 0, "a").await?;
    go_on(store, &taken, "1").await?;
    store.release_share(&taken.claim).await?;
    store.change(&old, ProjectionChange::Pause).await?;
    let replacement = Replacement::new(new, old.clone(), progress(store, &old).await?);
    Ok((old, replacement))
}

async fn progress(store: &dyn OffsetStore, key: &ProjectionKey) -> Result<Vec<Progress>, Failure> {
    let shares = record(store, key).await?.shares.into_iter();
    Ok(shares.map(|share| share.progress).collect())
}

/// Expects that a version was not replaced; returns the reason.
fn expect_conflict(result: Result<(), StorageError>) -> Result<VersionConflict, Failure> {
    let error = refused(result)?;
    expect_eq("kind", error.kind(), StorageErrorKind::VersionConflict)?;
    let conflict = error.version_conflict().cloned();
    conflict.ok_or_else(|| Failure::new("expected a VersionConflict as the source, found none"))
}

async fn make_the_first_version_of_a_name_live(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let first = fresh_key().with_version(3);
    expect_live(subject.store(), &first, None).await?;
    for version in [3, 1, 4, 3] {
        let key = first.clone().with_version(version);
        subject.store().register(&key, 1, START).await?;
        expect_live(subject.store(), &first, Some(3)).await?;
    }
    for change in [
        ProjectionChange::Pause,
        ProjectionChange::Resume,
        ProjectionChange::Divide(2),
        ProjectionChange::SetOffset("1".to_owned()),
    ] {
        subject.store().change(&first, change).await?;
        expect_live(subject.store(), &first, Some(3)).await?;
    }
    let other = fresh_key();
    subject.store().register(&other, 1, START).await?;
    expect_live(subject.store(), &other, Some(1)).await?;
    let subject = subject.restart().await?;
    expect_live(subject.store(), &first, Some(3)).await
}

async fn make_the_next_version_live_after_a_removal(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let store = subject.store();
    let one = fresh_key();
    let [two, three] = [2, 3].map(|version| one.clone().with_version(version));
    store.register(&one, 1, START).await?;
    store.register(&two, 1, START).await?;
    store.change(&two, ProjectionChange::Remove).await?;
    expect_live(store, &one, Some(1)).await?;
    store.register(&two, 1, START).await?;
    store.change(&one, ProjectionChange::Remove).await?;
    // No one has said that the other is as far.
    expect_live(store, &one, None).await?;
    store.register(&two, 1, START).await?;
    expect_live(store, &one, None).await?;
    store.register(&three, 1, START).await?;
    expect_live(store, &one, Some(3)).await?;
    store.change(&three, ProjectionChange::Remove).await?;
    store.replace(Replacement::of_none(two), None).await?;
    expect_live(store, &one, Some(2)).await
}

async fn replace_the_live_version_there_and_back(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let (old, there) = replaceable(subject.store()).await?;
    let new = there.projection.clone();
    let before = progress(subject.store(), &old).await?;
    subject.store().replace(there, None).await?;
    expect_live(subject.store(), &old, Some(2)).await?;
    let subject = subject.restart().await?;
    let store = subject.store();
    expect_live(store, &old, Some(2)).await?;
    let record_of_old = record(store, &old).await?;
    expect_eq("paused", record_of_old.paused, true)?;
    expect_eq("progress", progress(store, &old).await?, before)?;
    expect_eq("paused", record(store, &new).await?.paused, false)?;
    expect_offsets(store, &new, &[START]).await?;
    store.change(&new, ProjectionChange::Pause).await?;
    let back = Replacement::new(old.clone(), new.clone(), progress(store, &new).await?);
    store.replace(back, None).await?;
    expect_live(store, &old, Some(1)).await?;
    expect_eq("paused", record(store, &old).await?.paused, true)
}

async fn replace_no_version_that_has_changed(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let (old, replacement) = replaceable(store).await?;
    let replace = async || expect_conflict(store.replace(replacement.clone(), None).await);
    let of_none = Replacement::of_none(replacement.projection.clone());
    let name = old.name().to_owned();
    let other_live = |live| VersionConflict::OtherLive {
        name: name.clone(),
        live,
    };
    let found = expect_conflict(store.replace(of_none.clone(), None).await)?;
    expect_eq("reason", found, other_live(Some(1)))?;
    store.change(&old, ProjectionChange::Resume).await?;
    let not_paused = VersionConflict::NotPaused { old: old.clone() };
    expect_eq("reason", replace().await?, not_paused)?;
    let taken = take(store, &old, 1, "a").await?;
    let taken = go_on(store, &taken, "2").await?;
    store.change(&old, ProjectionChange::Pause).await?;
    let gone_on = VersionConflict::OtherProgress { old: old.clone() };
    expect_eq("reason", replace().await?, gone_on.clone())?;
    // The progress of fewer shares.
    store.change(&old, ProjectionChange::Divide(1)).await?;
    expect_eq("reason", replace().await?, gone_on)?;
    expect_live(store, &old, Some(1)).await?;
    expect_refused(store.commit(step(&taken, "3"), None).await, &taken.claim)?;
    // Another version is live, and then none.
    let seen = progress(store, &old).await?;
    let third = old.clone().with_version(3);
    store.register(&third, 1, START).await?;
    let by_third = Replacement::new(third.clone(), old.clone(), seen.clone());
    store.replace(by_third, None).await?;
    let late = Replacement::new(replacement.projection.clone(), old.clone(), seen);
    let found = expect_conflict(store.replace(late.clone(), None).await)?;
    expect_eq("reason", found, other_live(Some(3)))?;
    store.change(&third, ProjectionChange::Remove).await?;
    let found = expect_conflict(store.replace(late, None).await)?;
    expect_eq("reason", found, other_live(None))?;
    expect_live(store, &old, None).await?;
    store.replace(of_none, None).await?;
    expect_live(store, &old, Some(2)).await
}

async fn end_the_claims_to_what_was_replaced(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let (old, replacement) = replaceable(store).await?;
    let new = replacement.projection.clone();
    store.change(&old, ProjectionChange::Resume).await?;
    let claims = [
        take(store, &old, 0, "a").await?,
        take(store, &old, 1, "b").await?,
    ];
    store.change(&old, ProjectionChange::Pause).await?;
    let of_new = take(store, &new, 0, "a").await?;
    store.replace(replacement, None).await?;
    for old_claim in &claims {
        let stored = expect_refused(
            store.commit(step(old_claim, "2"), None).await,
            &old_claim.claim,
        )?;
        expect_eq("owner", stored.0, None)?;
        expect(stored.1 > old_claim.claim.epoch, "a higher epoch")?;
    }
    expect_offsets(store, &old, &["1", START]).await?;
    store.change(&old, ProjectionChange::Resume).await?;
    for share in [0, 1] {
        let again = take(store, &old, share, "c").await?;
        expect(
            claims.iter().all(|it| again.claim.epoch > it.claim.epoch),
            "a higher epoch",
        )?;
    }
    go_on(store, &of_new, "1").await.map(drop)
}

async fn resume_a_version_only_while_it_is_live(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let (old, replacement) = replaceable(store).await?;
    let new = replacement.projection.clone();
    let resume = async |key: &ProjectionKey| store.change(key, ProjectionChange::ResumeLive).await;
    let is_paused = async |key: &ProjectionKey| Ok::<_, Failure>(record(store, key).await?.paused);
    store.change(&old, ProjectionChange::Resume).await?;
    let halted = take(store, &old, 1, "a").await?;
    store.halt(&halted.claim, "no way").await?;
    store.change(&old, ProjectionChange::Pause).await?;
    store.change(&new, ProjectionChange::Pause).await?;
    for _ in 0..2 {
        resume(&new).await?;
        expect_eq("paused", is_paused(&new).await?, true)?;
        resume(&old).await?;
        expect_eq("paused", is_paused(&old).await?, false)?;
    }
    let not_paused = VersionConflict::NotPaused { old: old.clone() };
    let refused = expect_conflict(store.replace(replacement.clone(), None).await)?;
    expect_eq("reason", refused, not_paused)?;
    let reason = record(store, &old).await?.shares[1].halted.clone();
    expect_eq("reason of the halt", reason.as_deref(), Some("no way"))?;
    store.change(&old, ProjectionChange::Pause).await?;
    store.replace(replacement, None).await?;
    resume(&old).await?;
    expect_eq("paused", is_paused(&old).await?, true)?;
    resume(&new).await?;
    expect_eq("paused", is_paused(&new).await?, false)?;
    expect_live(store, &old, Some(2)).await?;
    expect_unsupported(resume(&fresh_key()).await)
}

async fn refuse_what_are_not_two_versions_of_a_name(
    subject: Subject<dyn OffsetStore>,
) -> CaseResult {
    let store = subject.store();
    let (old, replacement) = replaceable(store).await?;
    let seen = progress(store, &old).await?;
    let other = fresh_key();
    store.register(&other, 1, START).await?;
    let missing = old.clone().with_version(7);
    for new in [other.clone(), old.clone(), missing.clone()] {
        let replacement = Replacement::new(new, old.clone(), seen.clone());
        expect_unsupported(store.replace(replacement, None).await)?;
    }
    expect_unsupported(store.replace(Replacement::of_none(fresh_key()), None).await)?;
    expect_live(store, &old, Some(1)).await?;
    expect_live(store, &other, Some(1)).await?;
    store.replace(replacement, None).await?;
    expect_live(store, &old, Some(2)).await
}

async fn replace_a_version_with_the_work_or_not(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let counts = Arc::new(Counts::make(&subject).await?);
    let (old, replacement) = replaceable(store).await?;
    store.change(&old, ProjectionChange::Resume).await?;
    let claim = take(store, &old, 0, "a").await?;
    store.change(&old, ProjectionChange::Pause).await?;
    let adding = |result: Result<(), &'static str>| {
        let counts = Arc::clone(&counts);
        SessionWork::new(move |session| {
            Box::pin(async move {
                counts.add(session).await?;
                Ok(result?)
            })
        })
    };
    let failing = store
        .replace(replacement.clone(), Some(adding(Err("not today"))))
        .await;
    expect_extension_refused(failing)?;
    expect_live(store, &old, Some(1)).await?;
    counts.expect(store, 0).await?;
    // The claims have not ended either.
    let same = ProjectionChange::Resume;
    store.change(&old, same).await?;
    let commit = step(&claim, "1");
    store.commit(commit, None).await?;
    store.change(&old, ProjectionChange::Pause).await?;
    store.replace(replacement, Some(adding(Ok(())))).await?;
    let other = subject.another().await?;
    expect_live(&*other, &old, Some(2)).await?;
    counts.expect(&*other, 1).await
}

async fn run_no_work_if_nothing_is_replaced(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let (old, replacement) = replaceable(store).await?;
    store.change(&old, ProjectionChange::Resume).await?;
    let has_run = Arc::new(AtomicBool::new(false));
    let running = Arc::clone(&has_run);
    let work = SessionWork::new(move |_| {
        running.store(true, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    });
    expect_conflict(store.replace(replacement, Some(work)).await)?;
    expect_eq("run of the work", has_run.load(Ordering::SeqCst), false)?;
    expect_live(store, &old, Some(1)).await
}
