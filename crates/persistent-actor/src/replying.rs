//! The answer to a command, at once or after everything it has led to.

pub(crate) mod cause;
pub(crate) mod reply;
mod reply_to;

pub use reply::Reply;
pub use reply_to::ReplyTo;
