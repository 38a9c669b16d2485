#![doc = include_str!("../README.md")]

mod account;
mod certificate;
mod database;
mod error;
#[cfg(feature = "fault-proxy")]
mod fault_proxy;
mod home;
mod mariadb;
mod port;
mod postgres;
mod programs;
mod recipe;
mod residents;
mod secret;
mod server;
mod temporary_folder;
mod watcher;

pub use database::Database;
pub use error::ServerError;
#[cfg(feature = "fault-proxy")]
pub use fault_proxy::{Cut, Direction, FaultProxy, Flow};
pub use home::remove_all;
pub use server::Server;
pub use temporary_folder::TemporaryFolder;
