#![doc = include_str!("../README.md")]

mod chain_of;
mod delivery;
mod handlers;
mod membership;
mod node;
mod pieces;
mod projection;
mod projection_error;
mod projection_settings;
mod quota;
mod running;
mod share;
mod source;
mod status;
mod to_actor;

pub use handlers::{AtLeastOnceHandler, ExactlyOnceHandler, GroupHandler};
pub use projection::{Projection, ProjectionBuilder};
pub use projection_error::{AppliedError, ProjectionError};
pub use projection_settings::{OnFailure, ProjectionSettings};
pub use running::RunningProjections;
pub use source::{ChangeSource, EventSource, Source};
pub use status::{ProjectionStatus, ShareState, ShareStatus};
pub use to_actor::Project;
