//! Where the server programs are.

use std::path::{Path, PathBuf};

/// A server program and how to come by it.
#[derive(Debug)]
pub(crate) struct Program {
    /// The names that it goes by, the preferred one first.
    pub(crate) names: &'static [&'static str],
    /// Names another binary, or the directory that it is in.
    pub(crate) variable: &'static str,
    /// The Debian package that brings it.
    pub(crate) package: &'static str,
}

impl Program {
    /// The program that the variable names, else the first of `PATH` and of the directories for system programs
    /// (which Debian leaves out of a user's `PATH`), else of `elsewhere`.
    ///
    /// # Panics
    /// Where there is none, saying what to install.
    pub(crate) fn find(&self, elsewhere: &[PathBuf]) -> PathBuf {
        if let Some(named) = std::env::var_os(self.variable) {
            let named = PathBuf::from(named);
            let found = if named.is_dir() { self.within(&named) } else { named.is_file().then(|| named.clone()) };
            return found.unwrap_or_else(|| panic!("{}: no server at {}", self.variable, named.display()));
        }
        let found = self.in_path().or_else(|| elsewhere.iter().find_map(|directory| self.within(directory)));
        found.unwrap_or_else(|| {
            panic!(
                "no `{}` found. Install the Debian package `{}`, or run `tests/run`, which does; or name a binary in {}",
                self.names[0], self.package, self.variable
            )
        })
    }

    fn in_path(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let directories = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
        directories.into_iter().find_map(|directory| self.within(&directory))
    }

    /// Whether the server program is installed.
    pub(crate) fn is_there(&self) -> bool {
        std::env::var_os(self.variable).is_some() || self.in_path().is_some()
    }

    fn within(&self, directory: &Path) -> Option<PathBuf> {
        self.names.iter().map(|name| directory.join(name)).find(|path| path.is_file())
    }
}

/// A program that was installed with `server`: beside it, or in a directory beside its directory.
/// Symbolic links to the server are followed.
pub(crate) fn companion(server: &Path, names: &[&str]) -> PathBuf {
    let server = server.canonicalize().unwrap();
    let beside = server.parent().expect("a file has a directory");
    let prefix = beside.parent().unwrap_or(beside);
    let directories = [beside.to_owned(), prefix.join("bin"), prefix.join("scripts")];
    let found = directories.iter().flat_map(|directory| names.iter().map(|name| directory.join(name)));
    let found = found.into_iter().find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("no `{}` found near {}", names[0], server.display()))
}

/// A plugin that was installed with `server`, if it was.
pub(crate) fn plugin(server: &Path, name: &str) -> Option<PathBuf> {
    let server = server.canonicalize().unwrap();
    let prefix = server.parent().and_then(Path::parent)?;
    ["lib/mysql/plugin", "lib/plugin"]
        .map(|folder| prefix.join(folder).join(name))
        .into_iter()
        .find(|path| path.is_file())
}

/// The path as one word of a shell command.
pub(crate) fn quoted(path: &Path) -> String {
    let path = path.to_str().expect("a path of UTF-8");
    format!("'{}'", path.replace('\'', r"'\''"))
}
