//! The recipe of MariaDB.

use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::error::ServerError;
use crate::recipe::{Recipe, Site};

/// Statements that the server runs whenever it starts, before it takes connections.
const START: &str = "start.sql";
/// The longest time of a greeting.
const GREETING: Duration = Duration::from_secs(1);

/// MariaDB, with its defaults but for memory, the number of connections and the log for replicas.
pub(crate) struct MariaDb;

impl Recipe for MariaDb {
    fn name(&self) -> &'static str {
        "MariaDB"
    }

    fn package(&self) -> &'static str {
        "mariadb-server"
    }

    fn programs(&self) -> &'static [&'static str] {
        &["mariadbd"]
    }

    fn folders(&self) -> Vec<PathBuf> {
        vec!["/usr/sbin".into(), "/usr/local/sbin".into()]
    }

    fn accounts(&self) -> &'static [&'static str] {
        &["mysql", "nobody"]
    }

    fn create(&self, site: &Site) -> Result<Command, ServerError> {
        fs::write(site.folder.join(START), start_statements(&site.password))
            .map_err(ServerError::io("write the statements for a server's start"))?;
        // A script that is a folder for users away from the server, which it runs.
        let programs = site.programs.join("../bin/mariadb-install-db");
        let mut command = site.program_at(programs);
        command
            .arg("--no-defaults")
            .arg(argument("--basedir=", &site.programs.join("..")))
            .arg(argument("--datadir=", &site.data()))
            .args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        Ok(command)
    }

    fn serve(&self, site: &Site) -> Command {
        let mut command = site.program("mariadbd");
        command
            .arg("--no-defaults")
            .arg(argument("--datadir=", &site.data()))
            .arg(argument("--socket=", &socket(site)))
            .arg(argument("--pid-file=", &site.folder.join("pid")))
            .arg(argument("--init-file=", &site.folder.join(START)))
            .arg(format!("--port={}", site.port))
            .args([
                "--bind-address=127.0.0.1",
                "--skip-name-resolve",
                "--max-connections=400",
                "--innodb-buffer-pool-size=64M",
                "--innodb-log-file-size=64M",
            ]);
        if site.binary_log {
            command
                .arg(argument("--log-bin=", &site.folder.join("binlog")))
                .args(["--sync-binlog=1", "--binlog-format=ROW", "--server-id=1"])
                .arg("--max-binlog-size=64M");
        } else {
            command.arg("--skip-log-bin");
        }
        if let Some(files) = &site.certificate {
            command
                .arg(argument("--ssl-cert=", &files.certificate))
                .arg(argument("--ssl-key=", &files.key));
        }
        command
    }

    /// Returns whether the server greets on a socket that is its own alone.
    fn is_ready(&self, site: &Site, _: u32) -> bool {
        UnixStream::connect(socket(site)).is_ok_and(|mut stream| {
            stream.set_read_timeout(Some(GREETING)).is_ok() && stream.read_exact(&mut [0]).is_ok()
        })
    }

    fn url(&self, site: &Site) -> String {
        format!(
            "mysql://tester:{}@127.0.0.1:{}/test",
            site.password, site.port
        )
    }
}

fn socket(site: &Site) -> PathBuf {
    site.folder.join("socket")
}

fn argument(name: &str, path: &std::path::Path) -> std::ffi::OsString {
    let mut argument = std::ffi::OsString::from(name);
    argument.push(path);
    argument
}

/// Returns statements that make one administrator with a password, and leave no account without one; one for each line.
fn start_statements(password: &str) -> String {
    format!(
        "CREATE USER IF NOT EXISTS tester@'%' IDENTIFIED BY '{password}';\n\
         GRANT ALL ON *.* TO tester@'%' WITH GRANT OPTION;\n\
         CREATE DATABASE IF NOT EXISTS test CHARACTER SET utf8mb4;\n\
         DELETE FROM mysql.global_priv WHERE User IN ('', 'root');\n\
         FLUSH PRIVILEGES;\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> Site {
        Site {
            programs: "/programs".into(),
            folder: "/tmp/home".into(),
            port: 23_306,
            password: "secret".to_owned(),
            binary_log: false,
            certificate: None,
        }
    }

    #[test]
    fn the_server_listens_on_this_machine_alone_and_writes_durably() {
        let command = MariaDb.serve(&site());
        let arguments: Vec<_> = command
            .get_args()
            .map(|one| one.to_string_lossy())
            .collect();
        assert_eq!(arguments[0], "--no-defaults");
        for expected in [
            "--port=23306",
            "--bind-address=127.0.0.1",
            "--datadir=/tmp/home/data",
            "--socket=/tmp/home/socket",
        ] {
            assert!(arguments.iter().any(|one| one == expected), "{expected}");
        }
        let durability = ["flush", "doublewrite", "sync"];
        let weakened = |one: &&str| arguments.iter().any(|argument| argument.contains(*one));
        assert_eq!(durability.iter().find(|one| weakened(one)), None);
        assert!(!arguments.iter().any(|one| one.contains("secret")));
    }

    #[test]
    fn temporary_tables_lie_where_no_other_server_looks_for_leftovers() {
        let folder = tempfile::tempdir().unwrap();
        let mut site = site();
        site.folder = folder.path().to_path_buf();
        for command in [MariaDb.create(&site).unwrap(), MariaDb.serve(&site)] {
            let mut variables = command.get_envs();
            let place = variables.find(|(name, _)| *name == "TMPDIR").unwrap().1;
            assert_eq!(place, Some(folder.path().as_os_str()));
        }
    }

    #[test]
    fn every_statement_is_on_a_line_of_its_own() {
        let text = start_statements("secret");
        assert!(text.lines().all(|line| line.ends_with(';')), "{text}");
        assert!(text.contains("'secret'"));
    }
}
