//! The index file: its tables, and the checks whether it can be trusted.
//!
//! The full-text table has no text of its own: the text is read from the session at the stored offset. A file with
//! another application id or format counts as damaged.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::store::StoreError;

/// The application id of an index file: "mxdf" in ASCII.
const APPLICATION_ID: i32 = 0x6d78_6466;
/// Increase it when the tables, the tokenizer or the extraction change.
const FORMAT: i32 = 1;
/// How long to wait for another process that updates the index.
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

const TABLES: &str = "
    create table tasks (
        id integer primary key,
        task text not null unique,
        node blob,
        head text, line integer, len integer,
        moved integer not null default 0
    );
    create table entries (
        id integer primary key,
        task integer not null,
        event text,
        place integer not null,
        at integer not null,
        start integer, len integer,
        rewound integer not null default 0
    );
    create unique index entries_of on entries (task, event, place);
    create virtual table words using fts5 (
        text, content='', contentless_delete=1,
        tokenize=\"unicode61 remove_diacritics 0 categories 'L* N* Co M* So'\"
    );
";

#[derive(Debug)]
pub enum IndexError {
    /// It is foreign, corrupt or of another format: it must be rebuilt.
    Damaged(String),
    /// It can be neither read nor written here.
    Unusable(String),
    /// The store failed, not the index.
    Store(StoreError),
}

impl From<StoreError> for IndexError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for IndexError {
    fn from(error: rusqlite::Error) -> Self {
        let reason = error.to_string();
        match error.sqlite_error_code() {
            Some(
                ErrorCode::CannotOpen
                | ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::OutOfMemory
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::NoLargeFileSupport
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked,
            ) => Self::Unusable(reason),
            // A table is missing or has another shape, a value has another type, a page is corrupt.
            _ => Self::Damaged(reason),
        }
    }
}

pub struct Index {
    pub connection: Connection,
}

impl Index {
    /// Opens or creates the file.
    pub fn open(path: &Path) -> Result<Self, IndexError> {
        if path.is_dir() {
            return Err(IndexError::Damaged("there is a folder in its place".to_owned()));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        // Only readable by the owner, like the sessions.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(path, mode).map_err(|error| IndexError::Unusable(error.to_string()))?;
        // With WAL, readers do not wait for writers. Some file systems do not support it.
        let _: String = connection.query_row("pragma journal_mode=wal", [], |row| row.get(0))?;
        Self::with_tables(connection)
    }

    pub fn in_memory() -> Result<Self, IndexError> {
        Self::with_tables(Connection::open_in_memory()?)
    }

    fn with_tables(mut connection: Connection) -> Result<Self, IndexError> {
        // The index must stay consistent, but may lose the last writes in a crash.
        connection.execute_batch("pragma synchronous=normal; pragma cache_size=-16384; pragma temp_store=memory;")?;
        // An existing index needs no write lock.
        if state(&connection)? != State::Current {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Another process may have created the tables meanwhile.
            if state(&change)? == State::Empty {
                change.execute_batch(TABLES)?;
                change
                    .execute_batch(&format!("pragma application_id={APPLICATION_ID}; pragma user_version={FORMAT};"))?;
            }
            change.commit()?;
        }
        Ok(Self { connection })
    }
}

/// The state of a file that belongs to Matrix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Empty,
    Current,
}

fn state(connection: &Connection) -> Result<State, IndexError> {
    let number = |question: &str| connection.query_row(question, [], |row| row.get::<_, i64>(0));
    let (ours, format) = (number("pragma application_id")?, number("pragma user_version")?);
    let tables = number("select count(*) from sqlite_master")?;
    match (ours, format, tables) {
        (0, 0, 0) => Ok(State::Empty),
        (ours, format, 1..) if ours == i64::from(APPLICATION_ID) && format == i64::from(FORMAT) => Ok(State::Current),
        _ => Err(IndexError::Damaged(format!("it is of format {format}, made by {ours:#x}"))),
    }
}
