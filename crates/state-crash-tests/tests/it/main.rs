//! Durable states whose process or database is killed: nothing acknowledged is lost, and what a change handler counts is
//! what the states say.
#![allow(clippy::unwrap_used)]

mod backend;
mod checker;
mod killed;
mod program;
mod scale;
mod stored;
mod told;
