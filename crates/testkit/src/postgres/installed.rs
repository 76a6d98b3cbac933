//! Where PostgreSQL is installed, and who may run it.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Where Debian has the programs that are not for everybody, by version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// The programs of an installation.
#[derive(Debug)]
pub(super) struct Installed {
    programs: PathBuf,
    /// Who runs them, where the tests run as root: PostgreSQL refuses that.
    user: Option<User>,
}

#[derive(Clone, Copy, Debug)]
struct User {
    uid: u32,
    gid: u32,
}

impl Installed {
    /// The programs in `PATH`, or the newest that Debian has.
    pub(super) fn find() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut debian: Vec<PathBuf> = std::fs::read_dir(DEBIAN)
            .map(|versions| versions.filter_map(|version| Some(version.ok()?.path().join("bin"))).collect())
            .unwrap_or_default();
        debian.sort_by_key(|bin| version(bin));
        let places = std::env::split_paths(&path).chain(debian.into_iter().rev());
        let programs = places
            .into_iter()
            .find(|place| ["initdb", "postgres"].iter().all(|program| place.join(program).exists()));
        let programs = programs.expect("PostgreSQL is installed: apt-get install postgresql");
        let user = rustix::process::geteuid().is_root().then(|| {
            let users = std::fs::read_to_string("/etc/passwd").expect("users");
            user(&users).expect("a user `postgres`, as PostgreSQL does not run as root")
        });
        Self { programs, user }
    }

    /// One of the programs.
    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// A command of the user who runs them.
    pub(super) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        if let Some(User { uid, gid }) = self.user {
            command.uid(uid).gid(gid);
        }
        command.current_dir("/");
        command
    }

    /// A new folder of that user's.
    pub(super) fn folder(&self) -> TempDir {
        let folder = tempfile::Builder::new().prefix("threadline-postgres-").tempdir().expect("a folder");
        if let Some(User { uid, gid }) = self.user {
            std::os::unix::fs::chown(folder.path(), Some(uid), Some(gid)).expect("root may give things away");
        }
        folder
    }

    /// An empty database.
    pub(super) fn make_database(&self, data: &Path) {
        let mut initdb = self.command(self.program("initdb"));
        initdb.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]);
        let made = initdb.arg("--pgdata").arg(data).output().expect("initdb starts");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
}

/// The version that a folder of Debian's is for.
fn version(bin: &Path) -> u32 {
    let version = bin.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    version.and_then(|version| version.parse().ok()).unwrap_or(0)
}

/// The user `postgres` in a list of users.
fn user(users: &str) -> Option<User> {
    let line = users.lines().find(|line| line.starts_with("postgres:"))?;
    let mut ids = line.split(':').skip(2).map(|id| id.parse().ok());
    Some(User { uid: ids.next()??, gid: ids.next()?? })
}
