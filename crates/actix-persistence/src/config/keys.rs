//! The keys of a section, each written once: its name, the field it sets, how it is read and how it is shown.

use std::ops::RangeInclusive;
use std::time::Duration;

use actix_persistence_storage_api::{Item, Origin, Section, SectionReader, Value};

use super::durations::{positive_duration, shown_duration};
use super::for_all_stores::{ForAllStores, MAX_CONCURRENT_RECOVERIES};
use super::numbers::{count_to, positive_count, shown_number};

/// A key of a section that sets a field of `S`.
pub(crate) struct Key<S: 'static> {
    pub(super) name: &'static str,
    field: Field<S>,
}

/// The field of a key, by the values that it takes.
enum Field<S> {
    /// A duration longer than 0.
    Duration(fn(&mut S) -> &mut Duration),
    /// A count from 1 to a maximum.
    Count(fn(&mut S) -> &mut usize, u32),
    /// A number of recoveries, from 1; the default may be written for all stores.
    Recoveries(fn(&mut S) -> &mut usize),
    Float(fn(&mut S) -> &mut f64, RangeInclusive<f64>),
    Boolean(fn(&mut S) -> &mut bool),
    /// A value of any other type, with the functions that read and show it.
    Own(Read<S>, Shown<S>),
}

/// Reads a key; a wrong value leaves the default.
type Read<S> = fn(&mut S, &mut SectionReader<'_>, &'static str, &ForAllStores<'_>);
/// Returns the value that holds, as the config would say it; `None` if nothing stands for it.
type Shown<S> = fn(&S, section: &Section, &'static str, &ForAllStores<'_>) -> Option<Item>;

impl<S> Key<S> {
    pub(super) const fn duration(name: &'static str, field: fn(&mut S) -> &mut Duration) -> Self {
        let field = Field::Duration(field);
        Self { name, field }
    }

    /// A whole number from 1 that fits into any counter.
    pub(super) const fn count(name: &'static str, field: fn(&mut S) -> &mut usize) -> Self {
        Self::count_to(name, field, u32::MAX)
    }

    /// A whole number from 1 to `most`.
    pub(super) const fn count_to(
        name: &'static str,
        field: fn(&mut S) -> &mut usize,
        most: u32,
    ) -> Self {
        let field = Field::Count(field, most);
        Self { name, field }
    }

    /// The number of actors that may recover at the same time.
    pub(super) const fn recoveries(field: fn(&mut S) -> &mut usize) -> Self {
        let (name, field) = (MAX_CONCURRENT_RECOVERIES, Field::Recoveries(field));
        Self { name, field }
    }

    pub(super) const fn float(
        name: &'static str,
        field: fn(&mut S) -> &mut f64,
        range: RangeInclusive<f64>,
    ) -> Self {
        let field = Field::Float(field, range);
        Self { name, field }
    }

    pub(super) const fn boolean(name: &'static str, field: fn(&mut S) -> &mut bool) -> Self {
        let field = Field::Boolean(field);
        Self { name, field }
    }

    /// A key that is read and shown in a way of its own.
    pub(super) const fn own(name: &'static str, read: Read<S>, shown: Shown<S>) -> Self {
        let field = Field::Own(read, shown);
        Self { name, field }
    }
}

/// Reads the keys; a wrong value leaves the default, which `settings` holds.
pub(super) fn read<S>(
    keys: &[Key<S>],
    settings: &mut S,
    reader: &mut SectionReader<'_>,
    all: &ForAllStores<'_>,
) {
    for Key { name, field } in keys {
        match field {
            Field::Duration(field) => {
                let duration = field(settings);
                *duration = positive_duration(reader, name, *duration);
            }
            Field::Count(field, most) => {
                let count = field(settings);
                *count = count_to(reader, name, *count, *most);
            }
            Field::Recoveries(field) => {
                let count = field(settings);
                *count = positive_count(reader, name, *count);
            }
            Field::Float(field, range) => {
                let float = field(settings);
                *float = reader.float_or(name, *float, range.clone());
            }
            Field::Boolean(field) => {
                let boolean = field(settings);
                *boolean = reader.boolean_or(name, *boolean);
            }
            Field::Own(read, _) => read(settings, reader, name, all),
        }
    }
}

/// Returns the section with the values that hold, for keys that are not written.
pub(super) fn shown<S: Clone>(
    keys: &[Key<S>],
    settings: &S,
    mut section: Section,
    all: &ForAllStores<'_>,
) -> Section {
    let mut settings = settings.clone();
    for Key { name, field } in keys {
        let item = match field {
            Field::Duration(field) => default(shown_duration(*field(&mut settings))),
            Field::Count(field, _) => default(shown_number(*field(&mut settings))),
            Field::Recoveries(field) => {
                let origin = all.max_concurrent_recoveries_origin.clone();
                Item {
                    value: shown_number(*field(&mut settings)).into(),
                    origin: origin.unwrap_or_else(default_origin),
                }
            }
            Field::Float(field, _) => default(*field(&mut settings)),
            Field::Boolean(field) => default(*field(&mut settings)),
            Field::Own(_, shown) => match shown(&settings, &section, name, all) {
                Some(item) => item,
                None => continue,
            },
        };
        section.insert(name, item);
    }
    section
}

/// Reads the keys of a section within a section, and then what they must be together.
pub(super) fn read_section<S>(
    keys: &[Key<S>],
    settings: &mut S,
    outer: &mut SectionReader<'_>,
    name: &str,
    all: &ForAllStores<'_>,
    check: impl FnOnce(&S, &mut SectionReader<'_>),
) {
    let Some(section) = outer.section(name) else {
        return;
    };
    let mut reader = section.reader();
    read(keys, settings, &mut reader, all);
    check(settings, &mut reader);
    outer.absorb(reader.finish());
}

/// Returns the section within a section, with the values that hold.
pub(super) fn shown_section<S: Clone>(
    keys: &[Key<S>],
    settings: &S,
    outer: &Section,
    name: &str,
    all: &ForAllStores<'_>,
) -> Item {
    let section = Section::new(outer.path_of(name), default_origin());
    default(shown(keys, settings, section, all))
}

/// A value that was not written.
pub(super) fn default(value: impl Into<Value>) -> Item {
    Item {
        value: value.into(),
        origin: default_origin(),
    }
}

pub(super) fn default_origin() -> Origin {
    Origin {
        source: "default".into(),
        line: None,
    }
}
