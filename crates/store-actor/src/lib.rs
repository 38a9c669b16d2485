#![doc = include_str!("../README.md")]

mod deadline;
mod front;
mod ordered_front;
mod store_thread;

mod gate;
mod initialization;
mod store_service;

mod ask;
mod refusal;
mod reply;
mod slot;

mod call;
mod circuit_breaker;
mod company;
mod log_limiter;
mod observed;
mod outstanding;
mod pace;
mod pulse;
mod recovery_permits;
mod splitting;
mod store_health;

pub use deadline::deadline_after;
pub use front::Front;
pub use ordered_front::{
    GroupLimits, GroupResult, Groups, InitializeCall, OrderedFront, OrderedFrontSettings,
};
pub use store_thread::StoreThread;

pub use gate::Gate;
pub use store_service::StoreService;

pub use ask::Ask;
pub use refusal::{Refusal, Refuse};
pub use reply::Reply;
pub use slot::{Question, Slot};

pub use call::{Call, CallEnd, Caller, LateCall};
pub use circuit_breaker::{BreakerOpen, BreakerSettings, CircuitBreaker, Entry};
pub use company::Company;
pub use log_limiter::LogLimiter;
pub use observed::Observed;
pub use outstanding::{Outstanding, Ticket};
pub use pace::{Hurry, Pace};
pub use splitting::{GUILTY_ENOUGH, may_be_one_request, neighbour_failed};

pub use recovery_permits::{RecoveryPermit, RecoveryPermits};
pub use store_health::{Ping, StoreHealth};
