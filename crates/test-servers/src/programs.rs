//! The folders in which the programs of a server lie.

use std::env;
use std::path::{Path, PathBuf};

use crate::recipe::Recipe;

/// The first folder that has all of them: of the PATH, then of the package.
pub(crate) fn folder(recipe: &dyn Recipe) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let candidates = env::split_paths(&path).chain(recipe.folders());
    first_with_all(candidates, recipe.programs())
}

fn first_with_all(
    mut folders: impl Iterator<Item = PathBuf>,
    programs: &[&str],
) -> Option<PathBuf> {
    let has_all = |folder: &Path| programs.iter().all(|name| folder.join(name).is_file());
    folders.find(|folder| folder.is_absolute() && has_all(folder))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_folder_counts_with_all_of_the_programs_and_no_dead_link() {
        let root = tempfile::tempdir().unwrap();
        let folder = |name: &str, files: &[&str]| {
            let folder = root.path().join(name);
            fs::create_dir(&folder).unwrap();
            for file in files {
                fs::write(folder.join(file), "").unwrap();
            }
            folder
        };
        let client = folder("client", &["postgres"]);
        let removed = folder("removed", &["postgres"]);
        symlink("/does/not/exist", removed.join("initdb")).unwrap();
        let whole = folder("whole", &["initdb", "postgres"]);
        let find = |folders: &[&PathBuf]| {
            first_with_all(folders.iter().copied().cloned(), &["initdb", "postgres"])
        };
        assert_eq!(find(&[&client, &removed, &whole]), Some(whole));
        assert_eq!(find(&[&client, &removed]), None);
        assert_eq!(find(&[&PathBuf::new()]), None);
    }
}
