//! Defects of saving.

use actix_persistence_memory::MemorySnapshotStore;
use actix_persistence_storage_api::{
    MAX_TEXT_BYTES, Payload, SnapshotCapabilities, SnapshotCriteria, SnapshotMetadata,
    SnapshotStore, StorageError, Timestamp,
};
use async_trait::async_trait;
use tokio::task::yield_now;

use super::defect;
use crate::broken_snapshot_store::SnapshotDefect;

defect! {
    /// Keeps the first snapshot of a number: `INSERT OR IGNORE`.
    KeepsTheFirst,
    save(inner, metadata, payload) {
        let only = SnapshotCriteria::up_to(metadata.sequence_nr)
            .with_min_sequence_nr(metadata.sequence_nr);
        if inner.load(&metadata.persistence_id, only).await?.is_some() {
            return Ok(());
        }
        inner.save(metadata, payload).await
    }
}

defect! {
    /// Keeps the snapshot with the later timestamp.
    KeepsTheYounger,
    save(inner, metadata, payload) {
        let only = SnapshotCriteria::up_to(metadata.sequence_nr)
            .with_min_sequence_nr(metadata.sequence_nr);
        match inner.load(&metadata.persistence_id, only).await? {
            Some(old) if old.metadata.timestamp > metadata.timestamp => Ok(()),
            _ => inner.save(metadata, payload).await,
        }
    }
}

defect! {
    /// Replaces the bytes of a snapshot and nothing else.
    ReplacesBytesOnly,
    save(inner, metadata, payload) {
        let only = SnapshotCriteria::up_to(metadata.sequence_nr)
            .with_min_sequence_nr(metadata.sequence_nr);
        match inner.load(&metadata.persistence_id, only).await? {
            Some(mut old) => {
                old.payload.bytes = payload.bytes;
                inner.save(old.metadata, old.payload).await
            }
            None => inner.save(metadata, payload).await,
        }
    }
}

defect! {
    /// Keeps only the last snapshot of an id.
    KeepsOneSnapshot,
    save(inner, metadata, payload) {
        inner.delete_matching(&metadata.persistence_id, SnapshotCriteria::LATEST).await?;
        inner.save(metadata, payload).await
    }
}

defect! {
    /// Writes a snapshot in two halves.
    SavesInHalves,
    save(inner, metadata, payload) {
        let mut half = payload.clone();
        half.bytes.truncate(payload.len() / 2);
        inner.save(metadata.clone(), half).await?;
        for _ in 0..20 {
            yield_now().await;
        }
        inner.save(metadata, payload).await
    }
}

defect! {
    /// Cuts snapshots at 64 KiB.
    CutsLargeSnapshots,
    save(inner, metadata, payload) {
        let mut cut = payload;
        cut.bytes.truncate(65_535);
        inner.save(metadata, cut).await
    }
}

defect! {
    /// Keeps bytes in a text column.
    KeepsBytesAsText,
    save(inner, metadata, payload) {
        let mut text = payload;
        text.bytes = String::from_utf8_lossy(&text.bytes).into_owned().into();
        inner.save(metadata, text).await
    }
}

defect! {
    /// Keeps timestamps without a sign.
    KeepsNoTimeBefore1970,
    save(inner, metadata, payload) {
        let mut cut = metadata;
        cut.timestamp = cut.timestamp.max(Timestamp::UNSET);
        inner.save(cut, payload).await
    }
}

defect! {
    /// Declares metadata and loses them.
    LosesMetadata,
    save(inner, metadata, payload) {
        let mut bare = metadata;
        bare.metadata = None;
        inner.save(bare, payload).await
    }
}

defect! {
    /// Keeps the first 200 bytes of a manifest.
    CutsManifests,
    save(inner, metadata, payload) {
        let end = payload.manifest.floor_char_boundary(200);
        let manifest = &payload.manifest[..end];
        inner.save(metadata, Payload::new(payload.serializer_id, manifest, payload.bytes)).await
    }
}

/// Declares a limit that it does not keep.
#[derive(Clone, Default)]
pub(crate) struct IgnoresItsOwnLimit;

impl SnapshotDefect for IgnoresItsOwnLimit {
    fn capabilities(&self, declared: SnapshotCapabilities) -> SnapshotCapabilities {
        declared.with_max_snapshot_bytes(100_000)
    }
}

defect! {
    /// Cuts manifests off where the column ends, without a word.
    CutsLongManifests,
    save(inner, metadata, payload) {
        let (mut metadata, mut payload) = (metadata, payload);
        let manifests = metadata.metadata.iter_mut().chain([&mut payload]);
        for manifest in manifests.map(|payload| &mut payload.manifest) {
            let fits = &manifest[..manifest.floor_char_boundary(MAX_TEXT_BYTES)];
            *manifest = fits.replace('\0', "").into();
        }
        inner.save(metadata, payload).await
    }
}
