//! The file itself: what is in it, and when it is not to be trusted.
//!
//! The words are in a full-text table without their text: what was said is read from the session, by the place that is
//! kept beside the words. A file is ours if it says so and has this format; anything else is damage.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use crate::store::StoreError;

/// Says that a file is this index: "mxdf" in ASCII.
const OURS: i32 = 0x6d78_6466;
/// Changes with what is in the tables, with how words are made, and with what of an event is found.
const FORMAT: i32 = 1;
/// How long another process is waited for that brings the index up to date.
const PATIENCE: Duration = Duration::from_secs(20);

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

/// Why the index cannot be used.
#[derive(Debug)]
pub enum Trouble {
    /// It is not ours, not whole, or not of this format: it has to be made anew.
    Damaged(String),
    /// It can neither be read nor written here.
    Unusable(String),
    /// Not the index is at fault, but what it is made of.
    Store(StoreError),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<rusqlite::Error> for Trouble {
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
            // A table that is missing or of another shape, a value of another type, a page that is none.
            _ => Self::Damaged(reason),
        }
    }
}

/// An open index.
pub struct Index {
    pub connection: Connection,
}

impl Index {
    /// Opens the file, or makes it.
    pub fn open(path: &Path) -> Result<Self, Trouble> {
        if path.is_dir() {
            return Err(Trouble::Damaged("there is a folder in its place".to_owned()));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(PATIENCE)?;
        // Anybody who may read the sessions may read their words, and nobody else.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(path, mode).map_err(|error| Trouble::Unusable(error.to_string()))?;
        // With it readers do not wait for who writes. Where a file system cannot do it, they do.
        let _: String = connection.query_row("pragma journal_mode=wal", [], |row| row.get(0))?;
        Self::made(connection)
    }

    /// Returns an index that is gone when it is dropped.
    pub fn in_memory() -> Result<Self, Trouble> {
        Self::made(Connection::open_in_memory()?)
    }

    fn made(mut connection: Connection) -> Result<Self, Trouble> {
        // Nothing is lost with the last moments of an index; that it stays whole is enough.
        connection.execute_batch("pragma synchronous=normal; pragma cache_size=-16384; pragma temp_store=memory;")?;
        // Who finds it made waits for nobody.
        if state(&connection)? != State::Made {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Another may have been faster.
            if state(&change)? == State::Empty {
                change.execute_batch(TABLES)?;
                change.execute_batch(&format!("pragma application_id={OURS}; pragma user_version={FORMAT};"))?;
            }
            change.commit()?;
        }
        Ok(Self { connection })
    }
}

/// What a file turned out to be, if it is ours at all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Empty,
    Made,
}

fn state(connection: &Connection) -> Result<State, Trouble> {
    let number = |question: &str| connection.query_row(question, [], |row| row.get::<_, i64>(0));
    let (ours, format) = (number("pragma application_id")?, number("pragma user_version")?);
    let tables = number("select count(*) from sqlite_master")?;
    match (ours, format, tables) {
        (0, 0, 0) => Ok(State::Empty),
        (ours, format, 1..) if ours == i64::from(OURS) && format == i64::from(FORMAT) => Ok(State::Made),
        _ => Err(Trouble::Damaged(format!("it is of format {format}, made by {ours:#x}"))),
    }
}
