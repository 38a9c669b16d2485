//! Behaviour of actix that decided how this crate is built, shown on actix itself.
//!
//! No test here runs code of this crate. One that fails after an upgrade of actix says in its message which part of
//! ours rests on the fact, or was written to avoid it, and has to be looked at again.

mod addresses;
mod mailbox;
mod own_context;
mod panics;
mod probe;
mod spawned_futures;
mod stopping;
mod supervisor;
mod waits;
