//! The account that a server runs as.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use rustix::process::geteuid;

use crate::error::ServerError;

/// Ourselves, or in place of root another user, for servers refuse to run as root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Account {
    /// The account under which this program runs.
    Ours,
    /// An ordinary user of this machine.
    Other { user: u32, group: u32 },
}

impl Account {
    /// The first of these users that exists, if we are root.
    pub(crate) fn choose(names: &[&str]) -> Result<Self, ServerError> {
        if !geteuid().is_root() {
            return Ok(Self::Ours);
        }
        let users =
            fs::read_to_string("/etc/passwd").map_err(ServerError::io("read the list of users"))?;
        Ok(names
            .iter()
            .find_map(|name| in_list(&users, name))
            .unwrap_or(Self::Ours))
    }

    /// Lets a program run as this user, and with no other rights.
    pub(crate) fn apply(self, command: &mut Command) {
        if let Self::Other { user, group } = self {
            command.uid(user).gid(group);
        }
    }

    /// Hands a file or folder over.
    pub(crate) fn own(self, path: &Path) -> Result<(), ServerError> {
        let Self::Other { user, group } = self else {
            return Ok(());
        };
        chown(path, Some(user), Some(group))
            .map_err(ServerError::io("hand a folder over to the server's user"))
    }

    /// Returns whether this user can enter a folder, by the rights that everyone has.
    pub(crate) fn reaches(self, folder: &Path) -> bool {
        use std::os::unix::fs::PermissionsExt;

        self == Self::Ours
            || folder.ancestors().all(|step| {
                fs::metadata(step).is_ok_and(|step| step.permissions().mode() & 0o001 != 0)
            })
    }
}

fn in_list(users: &str, name: &str) -> Option<Account> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        (fields.next()? == name).then_some(())?;
        Some(Account::Other {
            user: fields.nth(1)?.parse().ok()?,
            group: fields.next()?.parse().ok()?,
        })
    })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    const OTHER: Account = Account::Other {
        user: 101,
        group: 104,
    };

    #[test]
    fn a_user_is_found_by_its_whole_name() {
        let users = "root:x:0:0:root:/root:/bin/bash\npostgres2:x:7:7::/:\n\
                     postgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash\n";
        assert_eq!(in_list(users, "postgres"), Some(OTHER));
        assert_eq!(in_list(users, "mysql"), None);
        assert_eq!(in_list("postgres:x:\n", "postgres"), None);
    }

    #[test]
    fn a_folder_behind_a_closed_one_is_out_of_reach() {
        let closed = tempfile::tempdir().unwrap();
        let inner = closed.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(closed.path(), Permissions::from_mode(0o700)).unwrap();
        assert!(!OTHER.reaches(&inner));
        assert!(Account::Ours.reaches(&inner));
        assert!(OTHER.reaches(Path::new("/")));
    }
}
