#![doc = include_str!("../README.md")]

mod batch;
mod cleanup;
mod preview;
mod task;

mod batch_error;
mod cleanup_error;
mod stream_end;

pub use batch::{Batch, BatchReport, Progress};
pub use batch_error::BatchError;
pub use cleanup::Cleanup;
pub use cleanup_error::CleanupError;
pub use preview::Preview;
pub use task::{Numbers, Task};
