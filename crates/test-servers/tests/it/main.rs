//! Real servers, through their whole life.

#![allow(clippy::unwrap_used)]

mod server;
