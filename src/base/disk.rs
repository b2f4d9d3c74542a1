//! What a disk says when it refuses: in words, and whether waiting may help.

use std::io;

/// What systems and git say when a disk refuses, for who has only the words.
const WORDS: [&str; 5] = [
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
    "Permission denied",
    "Input/output error",
];
const EIO: i32 = 5;

/// Returns the cause in words a person can act on, where the system's own are cryptic.
pub fn sentence(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => source.to_string(),
    }
}

/// Tells whether a disk refuses for now: the same may succeed when somebody has made room, or has given leave.
pub fn refuses(source: &io::Error) -> bool {
    let kinds = [
        io::ErrorKind::StorageFull,
        io::ErrorKind::QuotaExceeded,
        io::ErrorKind::ReadOnlyFilesystem,
        io::ErrorKind::PermissionDenied,
    ];
    kinds.contains(&source.kind()) || source.raw_os_error() == Some(EIO)
}

/// The same, by what another program said. Its words are ours where we ask for them in English, as we ask git.
pub fn refuses_in_words(said: &str) -> bool {
    WORDS.iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_disk_refuses_with_is_known_as_a_number_and_in_words() {
        // ENOSPC, EDQUOT, EROFS, EACCES, EIO.
        for number in [28, 122, 30, 13, 5] {
            let error = io::Error::from_raw_os_error(number);
            assert!(refuses(&error) && refuses_in_words(&error.to_string()), "{error}");
        }
        for number in [2, 17, 20] {
            let error = io::Error::from_raw_os_error(number);
            assert!(!refuses(&error) && !refuses_in_words(&error.to_string()), "{error}");
        }
        assert_eq!(sentence(&io::Error::from_raw_os_error(30)), "the file system is read-only");
    }
}
