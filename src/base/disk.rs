//! Disk errors: their description, and whether a retry may succeed later.

use std::io;

/// The messages of systems and git for a disk refusal, for callers that only have text.
const MESSAGES: [&str; 5] = [
    "No space left on device",
    "Disk quota exceeded",
    "Read-only file system",
    "Permission denied",
    "Input/output error",
];
const EIO: i32 = 5;

/// Returns the cause in words that a user can act on, where the system's message is cryptic.
pub fn describe(source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::QuotaExceeded => "the disk quota is used up".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => source.to_string(),
    }
}

/// Returns true if the disk refuses temporarily: a retry may succeed once there is space or permission.
pub fn is_refusal(source: &io::Error) -> bool {
    let kinds = [
        io::ErrorKind::StorageFull,
        io::ErrorKind::QuotaExceeded,
        io::ErrorKind::ReadOnlyFilesystem,
        io::ErrorKind::PermissionDenied,
    ];
    kinds.contains(&source.kind()) || source.raw_os_error() == Some(EIO)
}

/// Like [`is_refusal`], for the message of another program. git runs with English messages, so its text matches.
pub fn is_refusal_message(message: &str) -> bool {
    MESSAGES.iter().any(|part| message.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk_refusals_are_recognised_by_number_and_by_message() {
        // ENOSPC, EDQUOT, EROFS, EACCES, EIO.
        for number in [28, 122, 30, 13, 5] {
            let error = io::Error::from_raw_os_error(number);
            assert!(is_refusal(&error) && is_refusal_message(&error.to_string()), "{error}");
        }
        for number in [2, 17, 20] {
            let error = io::Error::from_raw_os_error(number);
            assert!(!is_refusal(&error) && !is_refusal_message(&error.to_string()), "{error}");
        }
        assert_eq!(describe(&io::Error::from_raw_os_error(30)), "the file system is read-only");
    }
}
