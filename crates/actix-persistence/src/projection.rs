//! Projections: read models that are made of events, or of changes of durable states; from a
//! [`Persistence`](crate::Persistence).

use crate::query::QueriesError;
use actix_persistence_persistent_actor::UnknownStore;

pub use actix_persistence_projection::{
    AppliedError, AtLeastOnceHandler, Behind, ChangeSource, EventSource, ExactlyOnceHandler,
    GroupHandler, MakeLiveError, OnFailure, Project, Projection, ProjectionBuilder,
    ProjectionError, ProjectionHealth, ProjectionProgress, ProjectionSettings, ProjectionStatus,
    Projections, ResetError, ShareProgress, ShareState, ShareStatus, Source, StoredProjection,
};
pub use actix_persistence_storage_api::{
    ExtensionError, InvalidProjectionKey, Lease, ParkedId, ParkedItem, ParkedRequest,
    ProjectionKey, ProjectionRecord, Session, ShareRecord, Skipped,
};

#[cfg(feature = "projection-test")]
pub use crate::projection_test::{
    HandlerCall, ProjectionOutcome, ProjectionTest, ProjectionTestError,
};
pub use crate::projections::NewProjection;

/// The reason why a projection cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NewProjectionError {
    /// The name cannot be that of a projection.
    #[error(transparent)]
    InvalidName(#[from] InvalidProjectionKey),
    /// The config has no such offset store, or no default one.
    #[error(transparent)]
    UnknownStore(#[from] UnknownStore),
    /// The journal or the state store cannot be queried.
    #[error(transparent)]
    Queries(#[from] QueriesError),
}
