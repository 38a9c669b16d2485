#![doc = include_str!("../README.md")]

mod applied;
mod chain_of;
mod delivery;
mod handlers;
mod live;
mod membership;
mod node;
mod parked;
mod pieces;
mod places;
mod progress;
mod projection;
mod projection_builder;
mod projection_error;
mod projection_settings;
mod projections;
mod quota;
mod running;
mod share;
mod source;
mod status;
mod stored_projection;
mod tenure;
mod to_actor;

pub use handlers::{AtLeastOnceHandler, ExactlyOnceHandler, GroupHandler};
pub use progress::{Behind, ProjectionProgress, ShareProgress};
pub use projection::Projection;
pub use projection_builder::ProjectionBuilder;
pub use projection_error::{AppliedError, MakeLiveError, ProjectionError, ResetError};
pub use projection_settings::{OnFailure, ProjectionSettings};
pub use projections::Projections;
pub use running::RunningProjections;
pub use source::{ChangeSource, EventSource, Source};
pub use status::{ProjectionStatus, ShareState, ShareStatus};
pub use stored_projection::StoredProjection;
pub use to_actor::Project;
