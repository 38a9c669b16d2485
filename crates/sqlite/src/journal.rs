//! The part of the journal that is special to SQLite, within transactions of the code that all databases share.

mod append;
mod newest;
mod recover;
mod replay;

pub(crate) use append::append;
pub(crate) use newest::check_newest;
pub(crate) use recover::recover;
pub(crate) use replay::read_page;

#[cfg(test)]
mod tests;
