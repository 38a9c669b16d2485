//! Taking shares.

use actix_persistence_storage_api::{OffsetStore, ProjectionChange, ShareClaim};

use crate::case::{Case, case};
use crate::failure::{CaseResult, expect_eq};
use crate::offset_steps::{
    HELD, OVER, expect_halted, expect_holder, expect_refused, expect_rising, expect_unsupported,
    fresh_key, go_on, registered, still, take, taken,
};
use crate::subject::Subject;

pub(super) const CASES: &[Case<dyn OffsetStore>] = &[
    case!(take_a_share_that_no_other_holds, ["O-TAKE-1"]),
    case!(refuse_a_share_that_another_holds, ["O-TAKE-1"]),
    case!(refuse_a_share_that_is_not_there, ["O-TAKE-1"]),
    case!(raise_the_epoch_above_all_before, ["O-TAKE-2"]),
    case!(return_where_a_share_goes_on, ["O-TAKE-4"]),
    case!(say_whether_the_share_was_released, ["O-TAKE-4"]),
    case!(refuse_a_share_that_is_halted, ["O-TAKE-5"]),
    case!(refuse_a_share_of_a_paused_projection, ["O-TAKE-6"]),
];

async fn take_a_share_that_no_other_holds(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 2).await?;
    // It is free, its lease is over, the same owner holds it.
    for (owner, lease) in [("a", OVER), ("b", HELD), ("b", HELD), ("b", OVER)] {
        let taken = store.take_share(&key, 1, owner, lease).await?;
        let expected = ShareClaim::new(key.clone(), 1, owner, taken.claim.epoch);
        expect_eq("claim", &taken.claim, &expected)?;
        let holder = (lease == HELD).then_some(owner);
        expect_holder(store, &key, 1, holder).await?;
        expect_holder(store, &key, 0, None).await?;
    }
    Ok(())
}

async fn refuse_a_share_that_another_holds(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let other = subject.another().await?;
    let store = subject.store();
    let taken = taken(store).await?;
    let key = &taken.claim.projection;
    let before = still(store, key).await?;
    for store in [store, &*other] {
        let claim = ShareClaim::new(key.clone(), 0, "b", 0);
        let refused = store.take_share(key, 0, "b", HELD).await;
        let stored = expect_refused(refused, &claim)?;
        let holder = (Some("a".to_owned()), taken.claim.epoch);
        expect_eq("stored owner and epoch", stored, holder)?;
        expect_eq("projection", still(store, key).await?, before.clone())?;
    }
    go_on(store, &taken, "1").await.map(drop)
}

async fn refuse_a_share_that_is_not_there(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 2).await?;
    for (key, share) in [(&key, 2), (&fresh_key(), 0)] {
        expect_unsupported(store.take_share(key, share, "a", HELD).await)?;
    }
    Ok(())
}

async fn raise_the_epoch_above_all_before(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 3).await?;
    let mut epochs = vec![0];
    for share in [1, 0, 1, 1, 2] {
        epochs.push(take(store, &key, share, "a").await?.claim.epoch);
    }
    let last = take(store, &key, 2, "a").await?;
    epochs.push(last.claim.epoch);
    store.release_share(&last.claim).await?;
    epochs.push(take(store, &key, 2, "b").await?.claim.epoch);
    store.leave(&key, "b").await?;
    epochs.push(take(store, &key, 2, "c").await?.claim.epoch);
    for change in [
        ProjectionChange::SetOffset("1".to_owned()),
        ProjectionChange::Divide(1),
    ] {
        store.change(&key, change).await?;
        epochs.push(take(store, &key, 0, "c").await?.claim.epoch);
    }
    expect_rising(&epochs)
}

async fn return_where_a_share_goes_on(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let taken = taken(store).await?;
    let key = &taken.claim.projection;
    expect_eq("attempts", taken.attempts, 0)?;
    let after = go_on(store, &taken, "1").await?;
    store.count_attempt(&taken.claim).await?;
    store.count_attempt(&taken.claim).await?;
    let again = take(store, key, 0, "a").await?;
    expect_eq("progress", &again.progress, &after.progress)?;
    expect_eq("attempts", again.attempts, 2)?;
    let after = go_on(store, &again, "2").await?;
    store.release_share(&again.claim).await?;
    let again = take(store, key, 0, "b").await?;
    expect_eq("progress", again.progress, after.progress)?;
    expect_eq("attempts", again.attempts, 0)
}

async fn say_whether_the_share_was_released(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let key = registered(store, 1).await?;
    let first = store.take_share(&key, 0, "a", OVER).await?;
    expect_eq("released before the first", first.was_released, true)?;
    let second = store.take_share(&key, 0, "b", OVER).await?;
    expect_eq("released by the first", second.was_released, false)?;
    store.release_share(&second.claim).await?;
    let third = store.take_share(&key, 0, "c", HELD).await?;
    expect_eq("released by the second", third.was_released, true)?;
    store.leave(&key, "c").await?;
    let fourth = store.take_share(&key, 0, "a", HELD).await?;
    expect_eq("released by the third", fourth.was_released, true)
}

async fn refuse_a_share_that_is_halted(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let taken = taken(store).await?;
    let key = &taken.claim.projection;
    store.halt(&taken.claim, "no way").await?;
    let before = still(store, key).await?;
    for owner in ["a", "b"] {
        let refused = store.take_share(key, 0, owner, HELD).await;
        expect_halted(refused, "no way")?;
        expect_eq("projection", still(store, key).await?, before.clone())?;
    }
    Ok(())
}

async fn refuse_a_share_of_a_paused_projection(subject: Subject<dyn OffsetStore>) -> CaseResult {
    let store = subject.store();
    let taken = taken(store).await?;
    let key = &taken.claim.projection;
    store.change(key, ProjectionChange::Pause).await?;
    // Whoever has the share goes on with it until it sees the pause.
    let after = go_on(store, &taken, "1").await?;
    let before = still(store, key).await?;
    let refuses = async |owner: &str| {
        let claim = ShareClaim::new(key.clone(), 0, owner, 0);
        let refused = store.take_share(key, 0, owner, HELD).await;
        expect_refused(refused, &claim).map(drop)
    };
    refuses("a").await?;
    refuses("b").await?;
    expect_eq("projection", still(store, key).await?, before)?;
    store.release_share(&after.claim).await?;
    refuses("b").await?;
    store
        .change(key, ProjectionChange::SetOffset("7".to_owned()))
        .await?;
    refuses("b").await?;
    store.change(key, ProjectionChange::Resume).await?;
    take(store, key, 0, "b").await.map(drop)
}
