//! The part of the journal that is special to MySQL: taking over, storing, reading a page.

mod append;
mod recover;
mod replay;

pub(crate) use append::{append, append_within};
pub(crate) use recover::recover;
pub(crate) use replay::read_page;
