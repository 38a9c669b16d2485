//! Defects of parked ids, their retries and requests.

use std::ops::RangeInclusive;
use std::time::Duration;

use actix_persistence_storage_api::{
    OffsetStore, ParkedId, ParkedItem, ParkedRequest, PersistenceId, ProgressCommit,
    ProjectionChange, ProjectionKey, SessionWork, ShareClaim, StorageError, StorageErrorKind,
    Unparked,
};
use async_trait::async_trait;

use super::defect;
use crate::broken_offset_store::OffsetDefect;

/// More than any case parks.
const MANY: usize = 1_000;

defect! {
    /// Goes on without parking anything.
    ForgetsParked,
    commit(inner, commit, work) {
        let mut commit = commit;
        commit.parked.clear();
        inner.commit(commit, work).await
    }
}

defect! {
    /// Parks what a refused commit was to park.
    ParksWhatIsRefused,
    commit(inner, commit, work) {
        let stored = inner.commit(commit.clone(), work).await;
        if stored.is_err() && !commit.parked.is_empty() {
            let record = inner.read(&commit.claim.projection).await?;
            let shares = record.map(|record| record.shares).unwrap_or_default();
            let share = &shares[usize::from(commit.claim.share)];
            let (claim, now) = (commit.claim.clone(), share.progress.clone());
            let mut again = ProgressCommit::new(claim, now.clone(), now);
            again.claim.epoch = share.epoch;
            again.parked = commit.parked;
            inner.commit(again, None).await?;
        }
        stored
    }
}

defect! {
    /// Parks the last item of a commit first.
    ParksBackwards,
    commit(inner, commit, work) {
        let mut commit = commit;
        commit.parked.reverse();
        inner.commit(commit, work).await
    }
}

defect! {
    /// Returns all items of an id, however many were asked for.
    ReturnsAllItems,
    parked_items(inner, projection, id, limit) {
        inner.parked_items(projection, id, limit.max(MANY)).await
    }
}

defect! {
    /// Leaves items to wait that were handled.
    UnparksNothing,
    commit(inner, commit, work) {
        let mut commit = commit;
        commit.unparked = None;
        inner.commit(commit, work).await
    }
}

defect! {
    /// Removes the first of several items.
    UnparksOne,
    commit(inner, commit, work) {
        let mut commit = commit;
        if let Some(Unparked { places, .. }) = &mut commit.unparked {
            *places = *places.start()..=*places.start();
        }
        inner.commit(commit, work).await
    }
}

defect! {
    /// Removes as many items as were handled, whichever they are.
    UnparksWhateverIsFirst,
    commit(inner, commit, work) {
        let mut commit = commit;
        if let Some(Unparked { persistence_id, places, .. }) = &mut commit.unparked {
            let items = inner.parked_items(&commit.claim.projection, persistence_id, MANY).await?;
            if let (Some(first), Some(last)) = (items.first(), items.last()) {
                let end = first.place + (places.end() - places.start());
                *places = first.place..=end.min(last.place);
            }
        }
        inner.commit(commit, work).await
    }
}

defect! {
    /// Leaves out what belongs to other shares, and confirms the rest.
    DropsWhatIsOfOthers,
    commit(inner, commit, work) {
        match inner.commit(commit.clone(), work).await {
            Err(error) if error.kind() == StorageErrorKind::Unsupported => {
                let mut rest = commit;
                rest.parked.clear();
                rest.unparked = None;
                inner.commit(rest, None).await
            }
            other => other,
        }
    }
}

defect! {
    /// Drops what waits when shares are divided.
    DropsParkedByDividing,
    change(inner, projection, change) {
        if matches!(change, ProjectionChange::Divide(_))
            && let Some(record) = inner.read(projection).await?
        {
            let offset = record.shares[0].progress.pieces()[0].offset.clone();
            inner.change(projection, ProjectionChange::SetOffset(offset)).await?;
        }
        inner.change(projection, change).await
    }
}

defect! {
    /// Lets items wait that will be read again.
    KeepsParkedOfBefore,
    change(inner, projection, change) {
        let sets = matches!(change, ProjectionChange::SetOffset(_));
        let mut items = Vec::new();
        for id in inner.parked(projection, 0..=1023, None, MANY).await? {
            items.extend(inner.parked_items(projection, &id.persistence_id, MANY).await?);
        }
        inner.change(projection, change).await?;
        if sets && !items.is_empty() {
            let taken = inner.take_share(projection, 0, "keeper", Duration::ZERO).await?;
            let now = taken.progress;
            let mut again = ProgressCommit::new(taken.claim.clone(), now.clone(), now);
            again.parked = items;
            inner.commit(again, None).await?;
            inner.release_share(&taken.claim).await?;
        }
        Ok(())
    }
}

defect! {
    /// Adds nothing to the counts.
    CountsNothing,
    commit(inner, commit, work) {
        inner.commit(commit.with_handled(0), work).await
    }
}

defect! {
    /// Forgets the time of a share when a commit has none.
    ForgetsTheTime,
    commit(inner, commit, work) {
        let mut commit = commit;
        commit.reached_time = Some(commit.reached_time.unwrap_or_default());
        inner.commit(commit, work).await
    }
}

defect! {
    /// Refuses texts that its database cannot keep.
    RefusesNul,
    commit(inner, commit, work) {
        let parked = commit.parked.iter().map(|item| &item.item);
        let mut texts = parked.chain(commit.skipped.iter().map(|skipped| &skipped.item));
        if texts.any(|text| text.contains('\0')) {
            let kind = StorageErrorKind::Constraint;
            let operation = actix_persistence_storage_api::Operation::CommitProgress;
            return Err(StorageError::new(kind, operation).not_stored());
        }
        inner.commit(commit, work).await
    }
}

defect! {
    /// Keeps the beginning of the reason of a halt.
    CutsTheReason,
    halt(inner, claim, reason) {
        let short: String = reason.chars().take(20).collect();
        inner.halt(claim, &short).await
    }
}

defect! {
    /// Keeps the first reason for ever.
    NotesNothing,
    note_parked(inner, claim, id, reason) {
        let _ = reason;
        let parked = inner.parked(&claim.projection, 0..=1023, None, MANY).await?;
        let first = parked.into_iter().find(|parked| parked.persistence_id == *id);
        let reason = first.map(|parked| parked.reason).unwrap_or_default();
        inner.note_parked(claim, id, &reason).await
    }
}

defect! {
    /// Counts anew after a division.
    LosesCountsByDividing,
    change(inner, projection, change) {
        let ProjectionChange::Divide(number) = change else {
            return inner.change(projection, change).await;
        };
        inner.change(projection, ProjectionChange::Remove).await?;
        inner.register(projection, number, "").await
    }
}

defect! {
    /// Asks no one for anything.
    RequestsNothing,
    change(inner, projection, change) {
        match change {
            ProjectionChange::RequestParked { .. } => Ok(()),
            change => inner.change(projection, change).await,
        }
    }
}

defect! {
    /// Asks for something about the first id only.
    RequestsForOne,
    change(inner, projection, change) {
        match change {
            ProjectionChange::RequestParked { persistence_id: None, request, .. } => {
                let first = inner.parked(projection, 0..=1023, None, 1).await?;
                let Some(first) = first.into_iter().next() else {
                    return Ok(());
                };
                let persistence_id = Some(first.persistence_id);
                let one = ProjectionChange::RequestParked { persistence_id, request };
                inner.change(projection, one).await
            }
            change => inner.change(projection, change).await,
        }
    }
}

defect! {
    /// Drops the item that is the first when the request is carried out.
    DropsWhateverIsFirst,
    commit(inner, commit, work) {
        let projection = commit.claim.projection.clone();
        let asked = inner.parked(&projection, 0..=1023, None, MANY).await?;
        inner.commit(commit, work).await?;
        for id in asked {
            if id.request == Some(ParkedRequest::DropFirst) {
                let again = ProjectionChange::RequestParked {
                    persistence_id: Some(id.persistence_id),
                    request: ParkedRequest::DropFirst,
                };
                inner.change(&projection, again).await?;
            }
        }
        Ok(())
    }
}

defect! {
    /// Asks again in the place of what was asked for since.
    AsksAgainForWhatever,
    change(inner, projection, change) {
        let ProjectionChange::RetryAgain(id) = change else {
            return inner.change(projection, change).await;
        };
        let parked = inner.parked(projection, 0..=1023, None, MANY).await?;
        let retry = ProjectionChange::RequestParked {
            persistence_id: Some(id.clone()),
            request: ParkedRequest::Retry,
        };
        match parked.iter().any(|parked| parked.persistence_id == id) {
            true => inner.change(projection, retry).await,
            false => inner.change(projection, ProjectionChange::RetryAgain(id)).await,
        }
    }
}

defect! {
    /// Asks for no retry again.
    NeverAsksAgain,
    change(inner, projection, change) {
        match change {
            ProjectionChange::RetryAgain(_) if inner.read(projection).await?.is_some() => Ok(()),
            change => inner.change(projection, change).await,
        }
    }
}

defect! {
    /// Confirms requests about ids that are not parked.
    ConfirmsRequestsAboutNothing,
    change(inner, projection, change) {
        let is_request = matches!(change, ProjectionChange::RequestParked { .. });
        match inner.change(projection, change).await {
            Err(error) if is_request && error.kind() == StorageErrorKind::Unsupported => Ok(()),
            other => other,
        }
    }
}

defect! {
    /// Lists parked ids from the last to the first.
    ListsParkedBackwards,
    parked(inner, projection, slices, after, limit) {
        let mut parked = inner.parked(projection, slices, after, limit).await?;
        parked.reverse();
        Ok(parked)
    }
}

defect! {
    /// Lists the parked ids of all shares.
    ListsParkedOfAllSlices,
    parked(inner, projection, slices, after, limit) {
        let _ = slices;
        inner.parked(projection, 0..=1023, after, limit).await
    }
}

defect! {
    /// Shows no request.
    HidesRequests,
    parked(inner, projection, slices, after, limit) {
        let mut parked = inner.parked(projection, slices, after, limit).await?;
        parked.iter_mut().for_each(|id| id.request = None);
        Ok(parked)
    }
}

defect! {
    /// Returns the retries before this one.
    CountsRetriesFromZero,
    begin_retry(inner, claim, id) {
        Ok(inner.begin_retry(claim, id).await? - 1)
    }
}

defect! {
    /// Takes away whatever was asked for since the holder has looked.
    TakesEveryRequestAway,
    begin_retry(inner, claim, id) {
        let retry = ProjectionChange::RequestParked {
            persistence_id: Some(id.clone()),
            request: ParkedRequest::Retry,
        };
        inner.change(&claim.projection, retry).await?;
        inner.begin_retry(claim, id).await
    }
}

defect! {
    /// Leaves the request for a retry, which is made again and again.
    RetriesForEver,
    begin_retry(inner, claim, id) {
        let parked = inner.parked(&claim.projection, 0..=1023, None, MANY).await?;
        let retries = inner.begin_retry(claim, id).await?;
        let asked = parked.into_iter().find(|parked| parked.persistence_id == *id);
        if asked.is_some_and(|parked| parked.request == Some(ParkedRequest::Retry)) {
            let retry = ProjectionChange::RequestParked {
                persistence_id: Some(id.clone()),
                request: ParkedRequest::Retry,
            };
            inner.change(&claim.projection, retry).await?;
        }
        Ok(retries)
    }
}

defect! {
    /// Counts retries of old claims.
    RetriesByOldClaims,
    begin_retry(inner, claim, id) {
        match inner.begin_retry(claim, id).await {
            Err(error) if error.kind() == StorageErrorKind::ShareConflict => Ok(1),
            other => other,
        }
    }
}
