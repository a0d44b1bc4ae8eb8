use crate::sha256::Sha256;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// What came of a directory.
#[derive(Debug, Default, PartialEq)]
pub struct Found {
    /// All files of at least the size that was asked for.
    pub files: u64,
    /// Files with the same content, those that waste most first.
    pub groups: Vec<Group>,
    /// Paths that could not be read, and why.
    pub unreadable: Vec<(String, String)>,
}

/// Files with the same content.
#[derive(Debug, PartialEq)]
pub struct Group {
    pub size: u64,
    pub sha256: String,
    /// Sorted, from the root on.
    pub paths: Vec<String>,
}

impl Group {
    fn wasted(&self) -> u64 {
        self.size * (self.paths.len() as u64 - 1)
    }
}

impl Found {
    /// How many files are copies of another one.
    pub fn copies(&self) -> u64 {
        self.groups.iter().map(|g| g.paths.len() as u64 - 1).sum()
    }

    /// How many bytes the copies take.
    pub fn wasted(&self) -> u64 {
        self.groups.iter().map(Group::wasted).sum()
    }
}

/// Finds files with the same content below a directory. `step` is told how many of how many files are hashed, and ends the
/// search by returning false; the result is `None` then. A file or directory that cannot be read is noted and left out, but
/// the root must be readable.
pub fn duplicates(root: &Path, min_size: u64, step: &mut dyn FnMut(u64, u64) -> bool) -> io::Result<Option<Found>> {
    let mut found = Found::default();
    let mut by_size: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
    fs::read_dir(root)?;
    let mut open = vec![root.to_path_buf()];
    while let Some(dir) = open.pop() {
        if !step(0, 0) {
            return Ok(None);
        }
        for entry in look(&mut found, root, &dir, fs::read_dir(&dir).and_then(Iterator::collect::<io::Result<Vec<_>>>)) {
            let path = entry.path();
            match entry.file_type().and_then(|t| Ok((t, if t.is_file() { entry.metadata()?.len() } else { 0 }))) {
                Ok((t, _)) if t.is_dir() => open.push(path),
                Ok((t, size)) if t.is_file() && size >= min_size => {
                    found.files += 1;
                    by_size.entry(size).or_default().push(path);
                }
                Ok(_) => {}
                Err(e) => found.unreadable.push((name(root, &path), e.to_string())),
            }
        }
    }
    by_size.retain(|_, paths| paths.len() > 1);
    let total = by_size.values().map(|paths| paths.len() as u64).sum();
    let mut done = 0;
    for (size, paths) in by_size {
        let mut by_hash: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for path in paths {
            match hash(&path) {
                Ok(sum) => by_hash.entry(sum).or_default().push(name(root, &path)),
                Err(e) => found.unreadable.push((name(root, &path), e.to_string())),
            }
            done += 1;
            if !step(done, total) {
                return Ok(None);
            }
        }
        for (sha256, mut paths) in by_hash {
            paths.sort();
            if paths.len() > 1 {
                found.groups.push(Group { size, sha256, paths });
            }
        }
    }
    found.groups.sort_by(|a, b| b.wasted().cmp(&a.wasted()).then_with(|| a.paths.cmp(&b.paths)));
    found.unreadable.sort();
    Ok(Some(found))
}

/// The items of a directory; none, with a note, when it cannot be read.
fn look<T>(found: &mut Found, root: &Path, dir: &Path, items: io::Result<Vec<T>>) -> Vec<T> {
    items.unwrap_or_else(|e| {
        found.unreadable.push((name(root, dir), e.to_string()));
        Vec::new()
    })
}

/// A path from the root on.
fn name(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

fn hash(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buf = vec![0; 64 << 10];
    loop {
        let n = file.read(&mut buf)?;
        if n == 0 {
            return Ok(hash.hex());
        }
        hash.write(&buf[..n]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that is removed in the end.
    struct Dir(PathBuf);

    impl Dir {
        fn new(name: &str, files: &[(&str, &str)]) -> Dir {
            let dir = std::env::temp_dir().join(format!("dedupe-{}-{}", name, std::process::id()));
            for (file, text) in files {
                let path = dir.join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Dir(dir)
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn copies_are_found_whatever_their_names() {
        let files = [
            ("a.txt", "same text"),
            ("sub/deep/b.txt", "same text"),
            ("sub/c.txt", "same size"),
            ("small", "x"),
            ("also small", "x"),
            ("empty", ""),
            ("empty too", ""),
            ("z.txt", "same text"),
        ];
        let dir = Dir::new("copies", &files);
        let mut steps = Vec::new();
        let found = duplicates(&dir.0, 1, &mut |done, total| {
            steps.push((done, total));
            true
        });
        let found = found.unwrap().unwrap();
        assert_eq!((found.files, found.copies(), found.wasted()), (6, 3, 19));
        assert_eq!(found.groups[0].paths, ["a.txt", "sub/deep/b.txt", "z.txt"]);
        assert_eq!(found.groups[1].paths, ["also small", "small"]);
        assert_eq!(found.groups[0].sha256, "2e68a7bba11b90d1bae1daea2dd4951779cf45d5897c62539d01f44054bcb1e0");
        assert_eq!(steps.last(), Some(&(6, 6)));
    }

    #[test]
    fn small_files_are_left_out() {
        let dir = Dir::new("small", &[("a", "12345"), ("b", "12345"), ("c", "123456"), ("d", "123456")]);
        let found = duplicates(&dir.0, 6, &mut |_, _| true).unwrap().unwrap();
        assert_eq!((found.files, found.copies(), found.wasted()), (2, 1, 6));
    }

    #[test]
    fn the_search_ends_when_it_is_told_to() {
        let dir = Dir::new("stop", &[("a", "1"), ("b", "1")]);
        assert_eq!(duplicates(&dir.0, 1, &mut |_, _| false).unwrap(), None);
        assert_eq!(duplicates(&dir.0, 1, &mut |done, _| done < 1).unwrap(), None);
    }

    #[test]
    fn a_root_that_is_not_there_is_an_error() {
        assert!(duplicates(Path::new("/no/such/directory"), 1, &mut |_, _| true).is_err());
    }
}
