#![doc = include_str!("../README.md")]

mod journal_handle;
mod journal_proxy;
mod journal_settings;
mod replay_filter_settings;
mod standing;
mod write_request;

mod command_question;
mod dispatcher;
mod halt;
mod job;
mod lane;
mod plugin_calls;
mod request;
mod single;

pub use journal_handle::JournalHandle;
pub use journal_proxy::JournalProxy;
pub use journal_settings::JournalSettings;
pub use replay_filter_settings::{ReplayFilterMode, ReplayFilterSettings};
pub use standing::Standing;
pub use write_request::{WriteReply, WriteRequest};
