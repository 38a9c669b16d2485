//! Notices to any reader in this process: of the events that are stored, and of what was dropped.

mod dead_letters;
mod notifications;
mod published_events;

pub use dead_letters::{DeadLetter, DeadLetterCause, DeadLetters};
pub use notifications::{Lagged, Subscription};
pub use published_events::{PublishedEvent, PublishedEvents};
