//! The recipe of PostgreSQL.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::error::ServerError;
use crate::recipe::{Recipe, Site};

const DEBIAN: &str = "/usr/lib/postgresql";

/// PostgreSQL, with its defaults but for memory and the number of connections.
pub(crate) struct Postgres;

impl Recipe for Postgres {
    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn package(&self) -> &'static str {
        "postgresql"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["initdb", "postgres"]
    }

    fn folders(&self) -> Vec<PathBuf> {
        newest_first(Path::new(DEBIAN))
    }

    fn accounts(&self) -> &'static [&'static str] {
        &["postgres", "nobody"]
    }

    fn create(&self, site: &Site) -> Result<Command, ServerError> {
        let password = site.folder.join("password");
        fs::write(&password, &site.password).map_err(ServerError::io("write a password file"))?;
        let mut command = site.program("initdb");
        command
            .arg("--pgdata")
            .arg(site.data())
            .arg("--username=postgres")
            .arg(format!("--auth={}", authentication(site)))
            // Texts are not compared byte by byte, as in most databases: a statement that relies on that has to say so.
            .args(["--encoding=UTF8", "--locale=C"])
            .args(["--locale-provider=icu", "--icu-locale=en-US"])
            .arg("--pwfile")
            .arg(password)
            // The next run makes anew what a crash of the machine would lose here.
            .arg("--no-sync");
        Ok(command)
    }

    fn serve(&self, site: &Site) -> Command {
        let mut command = site.program("postgres");
        command.arg("-D").arg(site.data());
        // Each session is a process, which would look up the same functions again.
        command.env("LD_BIND_NOW", "1");
        let mut sockets = OsString::from("unix_socket_directories=");
        sockets.push(&site.folder);
        command.arg("-c").arg(sockets);
        let port = format!("port={}", site.port);
        let settings = [
            port.as_str(),
            "listen_addresses=127.0.0.1",
            "max_connections=400",
            // None by default.
            "max_prepared_transactions=10",
            "shared_buffers=16MB",
            "max_wal_size=256MB",
            // In the folder of the server, and gone with it: elsewhere a server that is killed would leave it for good.
            "dynamic_shared_memory_type=mmap",
            // A test that ends may leave a connection half-way, for which `DROP DATABASE` waits.
            "authentication_timeout=5s",
        ];
        for setting in settings {
            command.args(["-c", setting]);
        }
        if let Some(files) = &site.certificate {
            command.args(["-c", "ssl=on"]);
            for (setting, path) in [
                ("ssl_cert_file=", &files.certificate),
                ("ssl_key_file=", &files.key),
            ] {
                let mut setting = OsString::from(setting);
                setting.push(path);
                command.arg("-c").arg(setting);
            }
        }
        command
    }

    /// Ends it by an immediate shutdown: a killed server leaves a segment of shared memory of System V, of which a machine
    /// has 4,096.
    fn end_at_once(&self) -> Option<Signal> {
        Some(Signal::QUIT)
    }

    /// Removes the locks of the data and of the socket, which name a process.
    fn forget_killed(&self, site: &Site) -> bool {
        let socket = site.folder.join(format!(".s.PGSQL.{}.lock", site.port));
        let removed = [site.data().join("postmaster.pid"), socket].map(fs::remove_file);
        removed.iter().any(Result::is_ok)
    }

    fn is_ready(&self, site: &Site, process: u32) -> bool {
        let state = fs::read_to_string(site.data().join("postmaster.pid"));
        state.is_ok_and(|text| says_ready(&text, process))
    }

    fn url(&self, site: &Site) -> String {
        format!(
            "postgres://postgres:{}@127.0.0.1:{}/postgres",
            site.password, site.port
        )
    }
}

/// Returns the way in which passwords are checked.
///
/// The usual one derives a key from the password at each login, by 4,096 rounds on either side: in a debug build that was
/// half of the time of the tests, which open connections by the thousand. A server that encrypts keeps it, so that it is
/// in use, too.
fn authentication(site: &Site) -> &'static str {
    match site.certificate {
        Some(_) => "scram-sha-256",
        None => "md5",
    }
}

/// The server's own word: the first line of its file is its process, the eighth its state.
///
/// A file of the process before it, killed, may still be there.
fn says_ready(file: &str, process: u32) -> bool {
    let mut lines = file.lines();
    lines.next() == Some(process.to_string().as_str())
        && lines.nth(6).is_some_and(|state| state.trim() == "ready")
}

/// Returns the folders of the programs of each version that is installed, the newest first.
fn newest_first(versions: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(versions).into_iter().flatten().flatten();
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    found.sort_by_key(|(version, _)| Reverse(*version));
    found.into_iter().map(|(_, folder)| folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site {
            programs: "/programs".into(),
            folder: "/tmp/home".into(),
            port: 25_432,
            password: "secret".to_owned(),
            binary_log: false,
            certificate: None,
        }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["9", "15", "16", "common"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let expected = ["16", "15", "9"].map(|version| folder.path().join(version).join("bin"));
        assert_eq!(newest_first(folder.path()), expected);
        assert!(newest_first(Path::new("/does/not/exist")).is_empty());
    }

    #[test]
    fn the_server_listens_on_this_machine_alone_and_writes_durably() {
        let command = Postgres.serve(&site());
        let arguments: Vec<_> = command
            .get_args()
            .map(|one| one.to_string_lossy())
            .collect();
        for expected in ["port=25432", "listen_addresses=127.0.0.1", "/tmp/home/data"] {
            assert!(arguments.iter().any(|one| one == expected), "{expected}");
        }
        let durability = ["fsync", "synchronous_commit", "full_page_writes"];
        let weakened = |one: &&str| arguments.iter().any(|argument| argument.contains(*one));
        assert_eq!(durability.iter().find(|one| weakened(one)), None);
        assert!(!arguments.iter().any(|one| one.contains("secret")));
    }

    #[test]
    fn no_user_gets_in_without_a_password() {
        let folder = tempfile::tempdir().unwrap();
        let mut site = site();
        site.folder = folder.path().to_path_buf();
        let command = Postgres.create(&site).unwrap();
        let arguments: Vec<_> = command.get_args().collect();
        assert!(
            arguments.contains(&std::ffi::OsStr::new("--auth=md5")),
            "{arguments:?}"
        );
    }

    #[test]
    fn only_the_state_of_this_very_process_counts() {
        let file = "4711\n/data\n1700000000\n25432\n/tmp\n127.0.0.1\n  1  2\nready   \n";
        assert!(says_ready(file, 4711));
        assert!(!says_ready(file, 4712));
        assert!(!says_ready(&file.replace("ready   ", "starting"), 4711));
        assert!(!says_ready("4711\n", 4711));
        assert!(!says_ready("", 4711));
    }
}
