//! A lock on the stored shapes of a program, for its tests.

mod golden_file;
mod reader;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

use actix_persistence_storage_api::Payload;

use crate::schema::{self, Knows, Schema};
use crate::serializer::EncodedPayload;
use crate::{
    Event, FromPayload, HARD_PAYLOAD_LIMIT, InvalidUpcasters, Serializer, Serializers, Snapshot,
    State, ToPayload,
};
use golden_file::{GoldenFile, ReadAs, StoredValue};
use reader::Reader;

/// The variable of the environment that lets the lock write files: `SHAPE_LOCK=write`.
const VARIABLE: &str = "SHAPE_LOCK";

/// Keeps the stored shapes of events, states and snapshots as they are: it compares samples with files that are checked
/// in, and fails where the stored form of one has changed and its `VERSION` has not.
///
/// The file of a sample holds its manifest, its bytes and, for readers, what they say as JSON. It is written by the first
/// run, if the environment says `SHAPE_LOCK=write`, and never written again. When a version is raised, the files of the
/// version before stay: they stand for what is in the databases, and the lock checks that today's program still reads
/// them, and as which values.
///
/// A type needs a sample of each variant, and of each field that may be there or not. Give a sample no more than one entry
/// in a set or a map whose order is random. Make its data up: files are in plain, in the repository, even if a store would
/// encrypt it. A folder belongs to one lock.
///
/// ```no_run
/// use actix_persistence_persistent_actor::{Event, ShapeLock};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # enum AccountEvent { Opened { owner: String }, Deposited { cents: u64 } }
/// # impl Event for AccountEvent {
/// #     const MANIFEST: &'static str = "bank.account";
/// #     const VERSION: u32 = 1;
/// # }
///
/// #[test]
/// fn what_is_stored_keeps_its_shape() {
///     ShapeLock::new("tests/shapes")
///         .event("opened", &AccountEvent::Opened { owner: "Ada".to_owned() })
///         .event("deposited", &AccountEvent::Deposited { cents: 100 })
///         .check();
/// }
/// ```
#[must_use = "nothing fails before `check` is called"]
pub struct ShapeLock {
    folder: PathBuf,
    serializers: Serializers,
    serializer: Serializer,
    writes: bool,
    readers: BTreeMap<(Kind, String), Reader>,
    /// The files of the samples.
    samples: BTreeSet<PathBuf>,
    findings: Vec<String>,
}

/// The kind of a stored value: names are different things in different stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Event,
    State,
    Snapshot,
}

impl ShapeLock {
    /// Locks shapes by the files in this folder; a relative one is found from the folder of the package, where `cargo test`
    /// runs tests.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            serializers: Serializers::default().quoting_values(),
            serializer: Serializer::default(),
            writes: std::env::var_os(VARIABLE).is_some_and(|value| value == "write"),
            readers: BTreeMap::new(),
            samples: BTreeSet::new(),
            findings: Vec::new(),
        }
    }

    /// Knows these serializers, for types that are stored in a format of the application; call it before samples are
    /// given.
    pub fn with_serializers(mut self, serializers: Serializers) -> Self {
        self.serializers = serializers.quoting_values();
        self
    }

    /// Encodes new samples with this serializer, where their type names none; `MessagePack` unless set.
    pub fn with_serializer(mut self, serializer: Serializer) -> Self {
        self.serializer = serializer;
        self
    }

    /// Locks the shape of an event, under a name that stays as long as the sample does.
    pub fn event<E: Event>(self, name: &str, sample: &E) -> Self {
        self.sample(Kind::Event, name, sample, schema::of_event(), E::SERIALIZER)
    }

    /// Locks the shape of a state, as [`event`](Self::event).
    pub fn state<S: State>(self, name: &str, sample: &S) -> Self {
        let serializer = <S as State>::SERIALIZER;
        self.sample(Kind::State, name, sample, schema::of_event(), serializer)
    }

    /// Locks the shape of a snapshot, as [`event`](Self::event).
    pub fn snapshot<S: Snapshot>(self, name: &str, sample: &S) -> Self {
        let schema = schema::of_snapshot();
        self.sample(Kind::Snapshot, name, sample, schema, S::SERIALIZER)
    }

    /// Checks all samples and every file in the folder.
    ///
    /// # Panics
    /// If a shape has changed, a file is missing, or a file of an older version cannot be read any more or is read as
    /// another value; the message says what to do about each.
    pub fn check(self) {
        let findings = self.findings();
        assert!(findings.is_empty(), "{}", findings.join("\n\n"));
    }

    fn findings(mut self) -> Vec<String> {
        for kind in [Kind::Event, Kind::State, Kind::Snapshot] {
            for path in files(&self.folder.join(kind.folder())) {
                if let Err(finding) = self.check_file(kind, &path) {
                    self.findings.push(finding);
                }
            }
        }
        self.findings
    }

    fn sample<T: ToPayload + FromPayload + 'static>(
        mut self,
        kind: Kind,
        name: &str,
        sample: &T,
        schema: Result<Arc<Schema<T>>, InvalidUpcasters>,
        serializer: Option<Serializer>,
    ) -> Self {
        let serializer = serializer.unwrap_or(self.serializer);
        let checked = schema
            .map_err(|error| error.to_string())
            .and_then(|schema| self.check_sample(kind, name, sample, &schema, serializer));
        self.findings.extend(checked.err());
        self
    }

    fn check_sample<T: ToPayload + FromPayload + 'static>(
        &mut self,
        kind: Kind,
        name: &str,
        sample: &T,
        schema: &Arc<Schema<T>>,
        serializer: Serializer,
    ) -> Result<(), String> {
        let what = format!("the {kind} {name:?} of {}", schema.manifest().text());
        let reader = Reader::of(schema, &self.serializers);
        self.readers
            .entry((kind, schema.manifest().text().to_string()))
            .or_insert(reader);
        let path = self.path(kind, schema.manifest().text(), name);
        if !self.samples.insert(path.clone()) {
            return Err(format!(
                "{what} has the file of another sample; give it another name"
            ));
        }
        let locked = match fs::exists(&path) {
            Ok(false) => None,
            _ => Some(GoldenFile::read(&path)?),
        };
        // A type that is stored by another serializer since is still the same shape.
        let serializer = match &locked {
            Some(locked) => locked.stored.serializer(),
            None => serializer,
        };
        let serializers = &self.serializers;
        let encoded = schema
            .encode_own(sample, serializers, serializer, HARD_PAYLOAD_LIMIT)
            .map(EncodedPayload::into_payload)
            .map_err(|error| format!("{what} cannot be stored: {error}"))?;
        check_written(&what, sample, schema, &encoded, (serializers, serializer))?;
        match locked {
            Some(locked) if locked.stored.payload(&path)? == encoded => Ok(()),
            Some(locked) => Err(changed(&what, &path, &locked.stored, &encoded, schema)),
            None if self.writes => GoldenFile::of(&encoded).write(&path),
            None => Err(format!(
                "{what} has no file {}\n  If its shape is meant to stay as it is, run this test with {VARIABLE}=write, \
                 and check the file in.",
                path.display()
            )),
        }
    }

    /// Checks that what is in a file is read as it was before, by each type that knows its name.
    fn check_file(&self, kind: Kind, path: &Path) -> Result<(), String> {
        let mut file = GoldenFile::read(path)?;
        let stored = file.stored.payload(path)?;
        let readers = self.readers.iter().filter(|((of, _), _)| *of == kind);
        let readers = readers.map(|(_, reader)| (reader.knows(&stored), reader));
        let readers: Vec<_> = readers.collect();
        let most = readers.iter().map(|(knows, _)| *knows).max();
        let most = most.unwrap_or(Knows::Nothing);
        if most == Knows::Nothing {
            return Err(format!(
                "{}: no type of this lock has or had the name in {:?}\n  If such a {kind} is still stored anywhere, the type \
                 that reads it must say so, with `renamed`, `chain_of`, `split` or `retired`; otherwise delete the file.",
                path.display(),
                stored.manifest
            ));
        }
        let mut readers = readers.into_iter().filter(|(knows, _)| *knows == most);
        readers
            .try_for_each(|(_, reader)| self.check_reader(reader, kind, path, &stored, &mut file))
    }

    /// Checks that a type reads what is in a file as it did before.
    fn check_reader(
        &self,
        reader: &Reader,
        kind: Kind,
        path: &Path,
        stored: &Payload,
        file: &mut GoldenFile,
    ) -> Result<(), String> {
        let today = reader.read(stored).map_err(|error| {
            format!(
                "{}: today's program does not read it: {error}\n  The file stands for what is in databases: mend the type or its \
                 `upcasters()`. Delete the file if no such {kind} is stored anywhere any more.",
                path.display()
            )
        })?;
        let read_as = ReadAs::of(reader.manifest(), &today);
        if reader.is_todays(stored) {
            let is_same = today.as_slice() == std::slice::from_ref(stored);
            return is_same.then_some(()).ok_or_else(|| {
                format!(
                    "{}: today's program reads it, and stores another value: {read_as}\n  Decoding must be the way back from \
                     encoding: look at the `serde` attributes of the type.",
                    path.display()
                )
            });
        }
        match file.read_as.iter().find(|before| before.by == read_as.by) {
            Some(before) if *before == read_as => Ok(()),
            Some(before) => Err(format!(
                "{}: it is read as another value than before\n  before: {before}\n  today: {read_as}\n  If that is meant, delete \
                 `read_as` in the file, and run this test with {VARIABLE}=write.",
                path.display()
            )),
            None if self.writes => {
                file.read_as.retain(|before| !before.has_type_of(&read_as));
                file.read_as.push(read_as);
                file.write(path)
            }
            None => Err(format!(
                "{}: it does not say as what {} reads it: {read_as}\n  If that is right, run this test with \
                 {VARIABLE}=write, and check the file in.",
                path.display(),
                read_as.by
            )),
        }
    }

    /// Returns the file of a sample: its names are those of the sample, as far as every file system takes them.
    fn path(&self, kind: Kind, manifest: &str, sample: &str) -> PathBuf {
        let (name, version) = manifest.rsplit_once(":v").unwrap_or((manifest, ""));
        let name = format!("{name}.{sample}.v{version}.json");
        let plain = |letter: char| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' => letter,
            _ => '-',
        };
        let name: String = name.chars().map(plain).collect();
        self.folder.join(kind.folder()).join(name)
    }
}

/// Fails if the older version that is written on purpose is not read back as the same value.
fn check_written<T: ToPayload + FromPayload>(
    what: &str,
    sample: &T,
    schema: &Schema<T>,
    own: &Payload,
    (serializers, serializer): (&Serializers, Serializer),
) -> Result<(), String> {
    let written = schema
        .encode(sample, serializers, serializer, HARD_PAYLOAD_LIMIT)
        .map(EncodedPayload::into_payload)
        .map_err(|error| format!("{what} cannot be stored: {error}"))?;
    if written == *own {
        return Ok(());
    }
    let read = reader::read(schema, serializers, &written).map_err(|error| {
        format!(
            "{what} is stored as {} and not read back: {error}",
            written.manifest
        )
    })?;
    if read.as_slice() == [own.clone()] {
        return Ok(());
    }
    Err(format!(
        "{what} is stored as {} and read back as another value, so that its actor has another state after a restart\n  \
         stored: {}\n  read back: {}",
        written.manifest,
        StoredValue::of(&written),
        ReadAs::of(schema.manifest(), &read)
    ))
}

/// Says that a shape has changed, and what to do about it.
fn changed<T: ToPayload + FromPayload>(
    what: &str,
    path: &Path,
    locked: &StoredValue,
    encoded: &Payload,
    schema: &Schema<T>,
) -> String {
    let version = schema.manifest().version();
    let next = version.saturating_add(1);
    format!(
        "the stored shape of {what} has changed, and VERSION has not\n  {}: {locked}\n  today: {}\n  \
         If version {version} is stored anywhere: keep the file, raise VERSION to {next}, say in `upcasters()` how version {version} \
         is read, and run this test with {VARIABLE}=write.\n  \
         If programs of version {version} read the new shape too, as one with an optional field: let serde leave the field out \
         where it is empty, and lock a further sample that has it.\n  \
         If version {version} was never stored: delete the file, and run this test with {VARIABLE}=write.",
        path.display(),
        StoredValue::of(encoded)
    )
}

fn in_file(path: &Path, error: impl fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

/// Returns the files of a folder in a fixed order; none if it is not there.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_json = |path: &PathBuf| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    };
    let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(is_json).collect();
    files.sort();
    files
}

impl Kind {
    fn folder(self) -> &'static str {
        match self {
            Kind::Event => "events",
            Kind::State => "states",
            Kind::Snapshot => "snapshots",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Event => "event",
            Kind::State => "state",
            Kind::Snapshot => "snapshot",
        })
    }
}

impl fmt::Debug for ShapeLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShapeLock")
            .field("folder", &self.folder)
            .field("samples", &self.samples.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
