//! The journal actor before a scripted journal, on a paused clock.

#![allow(clippy::unwrap_used)]

mod fixture;
mod scripted_journal;

mod breakers;
mod commands;
mod commands_alone;
mod deadlines;
mod failing_plugins;
mod group_commit;
mod initializing;
mod looks;
mod one_reply_each;
mod order;
mod permits;
mod proxy;
mod splitting;
mod stored;
