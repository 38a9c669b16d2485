//! Real servers, through their whole life.

#![allow(clippy::unwrap_used)]

mod fault_proxy;
mod server;
