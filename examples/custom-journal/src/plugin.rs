//! The plugin, which an application registers.

use std::sync::Arc;

use actix_persistence_storage_api::{
    ConfigErrors, Journal, Plugin, Section, SnapshotStore, StateExtensions, StateStore,
};

use crate::{FileJournal, FileOptions, FileSnapshotStore, FileStateStore, SyncMode};

/// Makes stores on files, for sections of the `kind` `file`.
///
/// | Key | Meaning | Default |
/// |---|---|---|
/// | `directory` | where the files are, relative to the working directory | must be given |
/// | `sync` | `"always"` or `"never"`, see [`SyncMode`] | `"always"` |
#[derive(Clone, Copy, Debug, Default)]
pub struct FilePlugin;

impl FilePlugin {
    /// Returns the plugin; it has nothing of its own.
    pub fn new() -> Self {
        Self
    }
}

// ANCHOR: plugin
impl Plugin for FilePlugin {
    fn name(&self) -> &'static str {
        "file"
    }

    fn journal(&self, section: &Section) -> Result<Arc<dyn Journal>, ConfigErrors> {
        Ok(Arc::new(FileJournal::new(options(section)?)))
    }

    fn snapshot_store(&self, section: &Section) -> Result<Arc<dyn SnapshotStore>, ConfigErrors> {
        Ok(Arc::new(FileSnapshotStore::new(options(section)?)))
    }

    fn state_store(
        &self,
        section: &Section,
        extensions: &StateExtensions,
    ) -> Result<Arc<dyn StateStore>, ConfigErrors> {
        extensions.check_without_sql(section, self.name())?;
        Ok(Arc::new(FileStateStore::new(options(section)?)))
    }
}

fn options(section: &Section) -> Result<FileOptions, ConfigErrors> {
    let mut reader = section.reader();
    let directory = reader.required_string("directory");
    let words = [("always", SyncMode::Always), ("never", SyncMode::Never)];
    let sync = reader.choice_or("sync", &words, SyncMode::default());
    reader.finish()?;
    Ok(FileOptions::new(directory).with_sync(sync))
}
// ANCHOR_END: plugin

#[cfg(test)]
mod tests {
    use actix_persistence_storage_api::Origin;

    use super::*;

    fn section() -> Section {
        Section::new("persistence.journal.mine", Origin::code())
    }

    #[test]
    fn a_section_says_where_and_how_carefully() {
        let plain = options(&section().with("directory", "data")).unwrap();
        assert_eq!(plain, FileOptions::new("data"));
        let never = section().with("directory", "data").with("sync", "never");
        assert_eq!(options(&never).unwrap().sync, SyncMode::Never);
    }

    #[test]
    fn every_mistake_of_a_section_is_reported_at_once() {
        let wrong = section().with("sync", "sometimes").with("dirctory", "data");
        let errors = FilePlugin::new().journal(&wrong).err().unwrap().to_string();
        for part in [
            "'persistence.journal.mine.directory' is missing",
            "must be \"always\" or \"never\", not \"sometimes\"",
            "unknown key 'persistence.journal.mine.dirctory'; did you mean 'directory'?",
        ] {
            assert!(errors.contains(part), "{part}: {errors}");
        }
    }
}
