//! Defects of offset stores.

mod commits;
mod projections;
mod shares;

pub(crate) use commits::*;
pub(crate) use projections::*;
pub(crate) use shares::*;
