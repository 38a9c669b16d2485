//! Every stored form that a type reads, found by name and version.

use std::fmt;
use std::sync::Arc;

use super::invalid_upcasters::Problem;
use super::upcasters::{ChainVersion, Declared, Upcasters, Writing};
use super::{InvalidUpcasters, Read, Versions};
use crate::by_name::ByName;
use crate::serializer::{parse_manifest, shown};
use crate::{DecodeError, Stored};

/// Makes values of today from a stored one.
pub(super) type Step<T> = Arc<dyn Fn(&Stored<'_>) -> Result<Read<T>, DecodeError> + Send + Sync>;

/// The way from a stored form to today's.
pub(super) enum Form<T> {
    /// Today's decoder reads it.
    Own,
    /// Steps lead to today's.
    Step(Step<T>),
    /// It is read as nothing.
    Nothing,
}

/// Versions that are stored under a name.
struct Entry<T> {
    versions: Versions,
    /// The name under which they are read: today's, if they are of one before.
    read_as: &'static str,
    form: Form<T>,
}

/// The forms of each name, in ascending order and without an overlap.
type FormsByName<T> = ByName<Vec<Entry<T>>>;

/// The stored forms of a type, those of its own names and of others.
pub(super) struct Forms<T> {
    own: OwnNames,
    version: u32,
    forms: FormsByName<T>,
}

/// The knowledge that a type has of a manifest, the least first.
#[cfg(feature = "shape-lock")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Knows {
    Nothing,
    /// It has or had the name, and never this version.
    Name,
    /// It is to read it: it declares this version, or the name is its own.
    Version,
}

/// The names under which values of a type are stored today.
#[derive(Clone, Copy)]
struct OwnNames {
    name: &'static str,
    /// Those that a value may choose in the place of that.
    others: &'static [&'static str],
}

impl OwnNames {
    fn iter(self) -> impl Iterator<Item = &'static str> {
        let others = self.others.iter().copied();
        // A type may name itself among the names that its values choose.
        [self.name]
            .into_iter()
            .chain(others.filter(move |other| *other != self.name))
    }

    /// Returns the name as the type has it; `None` if it is none of its names.
    fn find(self, name: &str) -> Option<&'static str> {
        self.iter().find(|own| *own == name)
    }
}

impl<T> Forms<T> {
    /// Sorts what a type declares, and finds every mistake that can be found without what is stored.
    pub(super) fn check<K>(
        name: &'static str,
        others: &'static [&'static str],
        version: u32,
        upcasters: Upcasters<T, K>,
    ) -> Result<(Self, Option<Writing<T>>), InvalidUpcasters> {
        let invalid = |problem| InvalidUpcasters::new(name, version, problem);
        let Upcasters {
            declared,
            since,
            writes,
            ..
        } = upcasters;
        let since = the_only(since, Problem::SinceTwice).map_err(invalid)?;
        if let Some(since) = since.filter(|since| !(1..=version).contains(since)) {
            return Err(invalid(Problem::Since(since)));
        }
        let writing = the_only(writes, Problem::WritesTwice).map_err(invalid)?;
        let own = OwnNames { name, others };
        let today = |read_as| Entry {
            versions: version.into(),
            read_as,
            form: Form::Own,
        };
        let mut declaring = Declaring {
            own,
            version,
            since: since.unwrap_or(1),
            forms: ByName::EMPTY,
            renamed: Vec::new(),
            is_written: writing.is_none(),
        };
        for name in own.iter() {
            declaring.forms.get_or_default(name).push(today(name));
        }
        for one in declared {
            declaring.add(one, writing.as_ref()).map_err(invalid)?;
        }
        if let Some(writing) = writing.as_ref().filter(|_| !declaring.is_written) {
            return Err(invalid(Problem::WritesUnread(writing.version)));
        }
        let forms = declaring.complete().map_err(invalid)?;
        let forms = Self {
            own,
            version,
            forms,
        };
        Ok((forms, writing))
    }

    #[cfg(feature = "shape-lock")]
    pub(super) fn knows(&self, manifest: &str) -> Knows {
        match parse_manifest(manifest) {
            Some((name, _)) if self.own.find(name).is_some() => Knows::Version,
            Some((name, _)) if self.forms.get(name).is_some() => match self.find(manifest) {
                Ok(_) => Knows::Version,
                Err(_) => Knows::Name,
            },
            _ => Knows::Nothing,
        }
    }

    /// Returns the name under which a stored manifest is read, its version and its form.
    pub(super) fn find(
        &self,
        manifest: &str,
    ) -> Result<(&'static str, u32, &Form<T>), DecodeError> {
        let known = parse_manifest(manifest)
            .and_then(|(name, version)| Some((name, version, self.forms.get(name)?)));
        let Some((name, version, forms)) = known else {
            return Err(DecodeError::UnknownManifest {
                found: shown(manifest),
                readable: self.to_string().into(),
            });
        };
        let at = forms.partition_point(|entry| entry.versions.last < version);
        match forms
            .get(at)
            .filter(|entry| entry.versions.contains(version))
        {
            Some(entry) => Ok((entry.read_as, version, &entry.form)),
            None => Err(match self.own.find(name) {
                Some(name) if version > self.version => DecodeError::NewerVersion {
                    name,
                    version,
                    readable: self.to_string().into(),
                },
                _ => DecodeError::MissingStep {
                    name: shown(name),
                    version,
                    readable: self.to_string().into(),
                },
            }),
        }
    }
}

/// Names what is read, as errors do.
impl<T> fmt::Display for Forms<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("this program reads ")?;
        let mut separator = "";
        for (name, forms) in self.forms.iter() {
            // There is no gap between them.
            let (first, last) = (&forms[0], &forms[forms.len() - 1]);
            let versions = Versions::from(first.versions.first..=last.versions.last);
            write!(f, "{separator}{versions} of {name:?}")?;
            if matches!(first.form, Form::Nothing) {
                f.write_str(" as nothing")?;
            }
            separator = ", ";
        }
        Ok(())
    }
}

/// The declarations of a type, one after the other.
struct Declaring<T> {
    own: OwnNames,
    version: u32,
    since: u32,
    forms: FormsByName<T>,
    renamed: Vec<(&'static str, Versions)>,
    /// True if what is written can be read again.
    is_written: bool,
}

impl<T> Declaring<T> {
    fn add(&mut self, declared: Declared<T>, writing: Option<&Writing<T>>) -> Result<(), Problem> {
        match declared {
            Declared::Unchanged(versions) => self
                .own
                .iter()
                .try_for_each(|name| self.insert(name, versions, Form::Own)),
            Declared::Chain(name, versions) => {
                let name = name.unwrap_or(self.own.name);
                self.is_written |= name == self.own.name
                    && writing.is_some_and(|writing| {
                        let mut versions = versions.iter();
                        versions.any(|one| (one.number, one.of) == (writing.version, writing.of))
                    });
                self.add_steps(name, versions)
            }
            Declared::Split(name, versions) => self.add_steps(name, versions),
            Declared::Renamed(name, _) | Declared::Retired(name)
                if self.own.find(name).is_some() =>
            {
                Err(Problem::OwnName)
            }
            Declared::Renamed(name, versions) => {
                self.check_range(name, versions, self.since, self.version)?;
                self.renamed.push((name, versions));
                Ok(())
            }
            Declared::Retired(name) => self.insert(name, Versions::ALL, Form::Nothing),
        }
    }

    fn add_steps(
        &mut self,
        name: &'static str,
        versions: Vec<ChainVersion<T>>,
    ) -> Result<(), Problem> {
        let mut before = None;
        for ChainVersion { number, step, .. } in versions {
            if let Some(version) = before.replace(number).filter(|before| *before >= number) {
                return Err(Problem::NotAscending {
                    name,
                    version,
                    next: number,
                });
            }
            self.insert(name, number.into(), Form::Step(step))?;
        }
        Ok(())
    }

    /// Resolves the names of before, and fails if a version is missing.
    fn complete(mut self) -> Result<FormsByName<T>, Problem> {
        for name in self.own.iter() {
            self.check_gaps(name, self.since)?;
        }
        for (name, versions) in std::mem::take(&mut self.renamed) {
            // Loops are less code for each type of values than adapters of iterators.
            let mut same = Vec::new();
            for entry in self.entries(self.own.name) {
                if let Some(versions) = entry.versions.and(versions) {
                    same.push(Entry {
                        versions,
                        read_as: entry.read_as,
                        form: entry.form.clone(),
                    });
                }
            }
            for entry in same {
                self.insert_entry(name, entry)?;
            }
        }
        for (name, forms) in self.forms.iter() {
            self.check_gaps(name, forms[0].versions.first)?;
        }
        Ok(self.forms)
    }

    fn entries(&self, name: &str) -> &[Entry<T>] {
        self.forms.get(name).map_or(&[], Vec::as_slice)
    }

    /// Puts a form in its place among those of its name.
    fn insert(
        &mut self,
        name: &'static str,
        versions: Versions,
        form: Form<T>,
    ) -> Result<(), Problem> {
        let entry = Entry {
            versions,
            read_as: name,
            form,
        };
        self.insert_entry(name, entry)
    }

    fn insert_entry(&mut self, name: &'static str, entry: Entry<T>) -> Result<(), Problem> {
        let versions = entry.versions;
        if self.own.find(name).is_some() {
            self.check_range(name, versions, self.since, self.version.saturating_sub(1))?;
        } else {
            self.check_range(name, versions, 1, u32::MAX)?;
        }
        let forms = self.forms.get_or_default(name);
        let at = forms.partition_point(|before| before.versions.last < versions.first);
        if let Some(both) = forms.get(at).and_then(|after| after.versions.and(versions)) {
            let version = both.first;
            return Err(Problem::Twice { name, version });
        }
        forms.insert(at, entry);
        Ok(())
    }

    fn check_range(
        &self,
        name: &'static str,
        versions: Versions,
        lowest: u32,
        highest: u32,
    ) -> Result<(), Problem> {
        let Versions { first, last } = versions;
        if lowest <= first && first <= last && last <= highest {
            return Ok(());
        }
        Err(Problem::OutOfRange {
            name,
            versions,
            lowest,
            highest,
        })
    }

    /// Fails if a version is missing from this one on.
    fn check_gaps(&self, name: &'static str, from: u32) -> Result<(), Problem> {
        let mut next = Some(from);
        for Entry { versions, .. } in self.entries(name) {
            match next {
                Some(version) if version != versions.first => {
                    return Err(Problem::Missing { name, version });
                }
                _ => next = versions.last.checked_add(1),
            }
        }
        Ok(())
    }
}

impl<T> Clone for Form<T> {
    fn clone(&self) -> Self {
        match self {
            Form::Own => Form::Own,
            Form::Step(step) => Form::Step(Arc::clone(step)),
            Form::Nothing => Form::Nothing,
        }
    }
}

/// Returns the one that is there; fails if there are more.
fn the_only<V>(values: Vec<V>, more: Problem) -> Result<Option<V>, Problem> {
    let mut values = values.into_iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(more),
        (value, None) => Ok(value),
    }
}
