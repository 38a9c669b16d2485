//! The temporary files of test programs.

use std::process::Command;

use actix_persistence_test_servers::TemporaryFolder;

use super::program::TestProgram;
use crate::memory;
use crate::progress;
use crate::workspace::Workspace;

/// A folder in memory for the files of programs that use no server; those that do keep theirs on a disk, for they start servers
/// of their own and kill them. Programs, not machines, are killed in tests: for them nothing in memory is lost that a disk
/// would keep.
pub(crate) struct FilesInMemory {
    folder: Option<TemporaryFolder>,
}

impl FilesInMemory {
    /// Makes the folder if there is room.
    pub(crate) fn make(workspace: &Workspace) -> Self {
        let parent = memory::folder();
        let made = parent.map(|parent| TemporaryFolder::make_in(parent, &workspace.locks()));
        let folder = made.transpose().unwrap_or_else(|error| {
            progress::note(format_args!(
                "temporary files stay on the disk, which takes longer: {error}"
            ));
            None
        });
        Self { folder }
    }

    /// Tells the program where to put its files.
    pub(crate) fn tell(&self, program: &TestProgram, command: &mut Command) {
        if let Some(folder) = &self.folder
            && program.servers() == 0
        {
            command.env(memory::VARIABLE, folder.path());
        }
    }
}
