//! The config of a store: its section, read key by key, and the values that several plugins read from it.

mod back_off;
mod nearest;
mod section;
mod units;

pub use back_off::BackOff;
pub use nearest::nearest;
pub use section::{
    ConfigError, ConfigErrors, Item, Origin, Section, SectionReader, Untyped, Value,
};
