//! A disk as the recorded operations left it, and what may be on it after a loss of power.
//!
//! Of what was not synced, a disk may hold any part, down to single sectors, in any order. The entries of a folder come in
//! the order in which they were made, as on every file system with a journal; only a sync of the folder makes them safe. A
//! file is known by what it is, not by its name, which another one may get.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use fastrand::Rng;

use crate::kinds::files::mark;
use crate::kinds::files::shim::Happened;

/// The number of writes of the same place up to which they are distinguished until a sync.
const MOST_OF_ONE_PLACE: usize = 12;
/// The numbers of bytes that disks write at once.
const SECTORS: [u64; 2] = [512, 4096];
/// The flag of `open` on Linux that cuts a file.
const TRUNCATES: u64 = 0o1000;

/// The files of one folder.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    folder: PathBuf,
    files: Vec<File>,
    /// The names that the program sees.
    names: BTreeMap<String, usize>,
    /// The names that are safe.
    safe_names: BTreeMap<String, usize>,
    /// The changes of names since the folder was synced.
    pending_names: Vec<NameChange>,
    open: HashMap<i32, Open>,
    rng: Rng,
    /// True if a sync does nothing, as on a disk that lies.
    lies: bool,
}

#[derive(Clone, Debug)]
enum NameChange {
    Linked(String, usize),
    Unlinked(String),
}

#[derive(Clone, Copy, Debug)]
enum Open {
    File(usize),
    Folder,
    /// The file in which the program speaks about itself.
    Marks,
    /// The index of a log is not there after a crash of the machine.
    Memory,
}

#[derive(Clone, Debug, Default)]
struct File {
    safe: Arc<Vec<u8>>,
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Written { offset: u64, bytes: Arc<Vec<u8>> },
    Truncated { length: u64 },
}

/// The effect of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// The operation changed nothing.
    Nothing,
    /// The operation changed what the program sees, and what may be there.
    Seen,
    /// The operation changed what is safe.
    Safe,
    /// The program has said something: whole lines.
    Said(String),
}

/// The part of the changes that are not safe which is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Survives {
    Nothing,
    Everything,
    Something,
}

impl Disk {
    /// Returns a disk with these files, all of them safe.
    pub(crate) fn new(folder: &Path, files: &BTreeMap<String, Vec<u8>>, rng: Rng) -> Self {
        let names: BTreeMap<_, _> = files.keys().cloned().zip(0..).collect();
        let of_bytes = |bytes: &Vec<u8>| File {
            safe: Arc::new(bytes.clone()),
            pending: Vec::new(),
        };
        Self {
            folder: folder.to_owned(),
            files: files.values().map(of_bytes).collect(),
            safe_names: names.clone(),
            names,
            pending_names: Vec::new(),
            open: HashMap::new(),
            rng,
            lies: false,
        }
    }

    /// Makes every later sync do nothing.
    pub(crate) fn lie(&mut self) {
        self.lies = true;
    }

    /// Applies an operation that the program has made.
    pub(crate) fn apply(&mut self, happened: &Happened) -> anyhow::Result<Changed> {
        Ok(match happened {
            Happened::Opened { fd, flags, path } => return self.opened(*fd, *flags, path),
            Happened::Closed { fd } => {
                self.open.remove(fd);
                Changed::Nothing
            }
            Happened::Written { fd, offset, bytes } => match self.opened_as(*fd)? {
                Open::Marks => Changed::Said(String::from_utf8(bytes.clone())?),
                Open::File(file) => {
                    let bytes = Arc::new(bytes.clone());
                    self.change(
                        file,
                        Change::Written {
                            offset: *offset,
                            bytes,
                        },
                    )
                }
                Open::Folder | Open::Memory => Changed::Nothing,
            },
            Happened::Truncated { fd, length } => match self.opened_as(*fd)? {
                Open::File(file) => self.change(file, Change::Truncated { length: *length }),
                _ => Changed::Nothing,
            },
            Happened::Synced { fd } => {
                let open = self.opened_as(*fd)?;
                self.synced(open)
            }
            Happened::Unlinked { path } => {
                let name = self.name(path)?;
                match self.names.remove(&name) {
                    Some(_) => {
                        self.pending_names.push(NameChange::Unlinked(name));
                        Changed::Seen
                    }
                    None => Changed::Nothing,
                }
            }
            Happened::Renamed { .. } => {
                anyhow::bail!("a file was renamed, which has no meaning yet")
            }
        })
    }

    fn opened(&mut self, fd: i32, flags: u64, path: &Path) -> anyhow::Result<Changed> {
        if path == self.folder {
            self.open.insert(fd, Open::Folder);
            return Ok(Changed::Nothing);
        }
        let name = self.name(path)?;
        if name == mark::FILE || name.ends_with("-shm") {
            let open = if name == mark::FILE {
                Open::Marks
            } else {
                Open::Memory
            };
            self.open.insert(fd, open);
            return Ok(Changed::Nothing);
        }
        let mut changed = Changed::Nothing;
        let file = match self.names.get(&name) {
            Some(file) => *file,
            None => {
                let file = self.files.len();
                self.files.push(File::default());
                self.names.insert(name.clone(), file);
                self.pending_names.push(NameChange::Linked(name, file));
                changed = Changed::Seen;
                file
            }
        };
        self.open.insert(fd, Open::File(file));
        if flags & TRUNCATES != 0 {
            changed = self.change(file, Change::Truncated { length: 0 });
        }
        Ok(changed)
    }

    fn opened_as(&self, fd: i32) -> anyhow::Result<Open> {
        let open = self.open.get(&fd).copied();
        open.with_context(|| format!("descriptor {fd} was never opened"))
    }

    fn name(&self, path: &Path) -> anyhow::Result<String> {
        anyhow::ensure!(
            path.parent() == Some(&self.folder),
            "{} is elsewhere",
            path.display()
        );
        let name = path.file_name().and_then(OsStr::to_str);
        Ok(name.context("a file without a name")?.to_owned())
    }

    fn change(&mut self, file: usize, change: Change) -> Changed {
        let pending = &mut self.files[file].pending;
        pending.push(change);
        // A file that is never synced is written again and again.
        let of_this_place: Vec<_> = (0..pending.len() - 1)
            .filter(|at| pending[*at].covers_the_same(&pending[pending.len() - 1]))
            .collect();
        if of_this_place.len() > MOST_OF_ONE_PLACE {
            let one = self.rng.choice(of_this_place);
            pending.remove(one.unwrap_or_default());
        }
        Changed::Seen
    }

    fn synced(&mut self, open: Open) -> Changed {
        if self.lies {
            return Changed::Nothing;
        }
        match open {
            Open::File(file) => {
                let file = &mut self.files[file];
                if file.pending.is_empty() {
                    return Changed::Nothing;
                }
                file.safe = Arc::new(file.everything());
                file.pending.clear();
                Changed::Safe
            }
            Open::Folder => {
                self.safe_names = self.names.clone();
                self.pending_names.clear();
                Changed::Safe
            }
            Open::Marks | Open::Memory => Changed::Nothing,
        }
    }

    /// The files after a loss of power now.
    pub(crate) fn after(&self, survives: Survives, rng: &mut Rng) -> BTreeMap<String, Vec<u8>> {
        let changes = self.pending_names.len();
        let changes = match survives {
            Survives::Nothing => 0,
            Survives::Everything => changes,
            Survives::Something => rng.usize(..=changes),
        };
        let mut names = self.safe_names.clone();
        for change in &self.pending_names[..changes] {
            match change {
                NameChange::Linked(name, file) => names.insert(name.clone(), *file),
                NameChange::Unlinked(name) => names.remove(name),
            };
        }
        let files = names.into_iter().map(|(name, file)| {
            let file = &self.files[file];
            let bytes = match survives {
                Survives::Nothing => file.safe.to_vec(),
                Survives::Everything => file.everything(),
                Survives::Something => file.something(rng),
            };
            (name, bytes)
        });
        files.collect()
    }
}

impl File {
    fn everything(&self) -> Vec<u8> {
        let mut bytes = self.safe.to_vec();
        for change in &self.pending {
            change.apply(&mut bytes);
        }
        bytes
    }

    /// A part of the changes, whole or torn.
    fn something(&self, rng: &mut Rng) -> Vec<u8> {
        let mut bytes = self.safe.to_vec();
        let sector = SECTORS[rng.usize(..SECTORS.len())];
        let count = self.pending.len();
        match rng.u8(..6) {
            0 => {}
            1 => return self.everything(),
            // In order, the last one torn.
            2 | 3 => {
                let whole = rng.usize(..=count);
                for change in &self.pending[..whole] {
                    change.apply(&mut bytes);
                }
                if let Some(change) = self.pending.get(whole) {
                    change.tear(&mut bytes, sector, rng);
                }
            }
            // Each of them or not.
            4 => {
                for change in &self.pending {
                    if rng.bool() {
                        change.apply(&mut bytes);
                    }
                }
            }
            // Each of them whole, torn or not at all; most of them there.
            _ => {
                for change in &self.pending {
                    match rng.u8(..8) {
                        0 => {}
                        1 => change.tear(&mut bytes, sector, rng),
                        _ => change.apply(&mut bytes),
                    }
                }
            }
        }
        bytes
    }
}

impl Change {
    fn covers_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Written { offset, bytes },
                Self::Written {
                    offset: other,
                    bytes: others,
                },
            ) => offset == other && bytes.len() == others.len(),
            _ => false,
        }
    }

    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::Written { offset, bytes } => put(file, *offset as usize, bytes),
            Self::Truncated { length } => file.resize(*length as usize, 0),
        }
    }

    /// Writes each sector or leaves it out, at random.
    fn tear(&self, file: &mut Vec<u8>, sector: u64, rng: &mut Rng) {
        let Self::Written { offset, bytes } = self else {
            return;
        };
        let (mut at, end) = (*offset, offset + bytes.len() as u64);
        while at < end {
            let next = ((at / sector + 1) * sector).min(end);
            if rng.bool() {
                let part = (at - offset) as usize..(next - offset) as usize;
                put(file, at as usize, &bytes[part]);
            }
            at = next;
        }
    }
}

fn put(file: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if file.len() < end {
        file.resize(end, 0);
    }
    file[offset..end].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> Disk {
        let files = [("a".to_owned(), vec![0; 2_000])];
        Disk::new(Path::new("/d"), &files.into(), Rng::with_seed(1))
    }

    fn opened(fd: i32, path: &str) -> Happened {
        Happened::Opened {
            fd,
            flags: 0,
            path: path.into(),
        }
    }

    fn written(fd: i32, byte: u8) -> Happened {
        let bytes = vec![byte; 1_500];
        Happened::Written {
            fd,
            offset: 100,
            bytes,
        }
    }

    #[test]
    fn what_was_synced_survives_and_the_rest_may_be_torn() {
        let (mut disk, mut rng) = (disk(), Rng::with_seed(2));
        disk.apply(&opened(3, "/d/a")).unwrap();
        disk.apply(&written(3, 1)).unwrap();
        assert_eq!(
            disk.apply(&Happened::Synced { fd: 3 }).unwrap(),
            Changed::Safe
        );
        disk.apply(&written(3, 2)).unwrap();
        let nothing = &disk.after(Survives::Nothing, &mut rng)["a"];
        assert!(nothing[100..1_600].iter().all(|byte| *byte == 1));
        let everything = &disk.after(Survives::Everything, &mut rng)["a"];
        assert!(everything[100..1_600].iter().all(|byte| *byte == 2));
        let mut torn = 0;
        for _ in 0..100 {
            let something = &disk.after(Survives::Something, &mut rng)["a"];
            assert_eq!(something.len(), 2_000);
            let counts =
                [1, 2].map(|byte| something.iter().filter(|there| **there == byte).count());
            assert_eq!(counts[0] + counts[1], 1_500);
            torn += usize::from(counts[0] > 0 && counts[1] > 0);
        }
        assert!(torn > 1, "{torn}");
    }

    #[test]
    fn a_name_is_safe_once_its_folder_is_synced() {
        let (mut disk, mut rng) = (disk(), Rng::with_seed(2));
        disk.apply(&opened(3, "/d/b")).unwrap();
        disk.apply(&written(3, 1)).unwrap();
        disk.apply(&Happened::Synced { fd: 3 }).unwrap();
        disk.apply(&Happened::Unlinked {
            path: "/d/a".into(),
        })
        .unwrap();
        let names = |disk: &Disk, survives, rng: &mut Rng| {
            disk.after(survives, rng)
                .into_keys()
                .collect::<Vec<_>>()
                .concat()
        };
        assert_eq!(names(&disk, Survives::Nothing, &mut rng), "a");
        assert_eq!(names(&disk, Survives::Everything, &mut rng), "b");
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..100 {
            seen.insert(names(&disk, Survives::Something, &mut rng));
        }
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["a", "ab", "b"]);
        disk.apply(&opened(4, "/d")).unwrap();
        disk.apply(&Happened::Synced { fd: 4 }).unwrap();
        assert_eq!(names(&disk, Survives::Nothing, &mut rng), "b");
    }
}
