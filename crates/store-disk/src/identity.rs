//! The `store` file: what a store is.
//!
//! Persisted, so must be kept stable: one line of JSON, a space before its CRC-32C in eight hexadecimal digits, and a line feed. Members
//! may be added.

use crate::fs::Disk;
use crate::journal::Salt;
use serde::{Deserialize, Serialize};
use std::io;
use threadline_log::Timestamp;

/// The version of the format that this program writes.
pub const FORMAT: u32 = 2;

/// The file.
pub(crate) const NAME: &str = "store";
const UNFINISHED: &str = "store.tmp";

/// Why the `store` file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The file system refused something.
    #[error("the store file cannot be used")]
    Io(#[from] io::Error),
    /// It is not what was written.
    #[error("the store file is damaged")]
    Damaged,
    /// A later version of this program wrote it.
    #[error(
        "the store is of a newer format; a newer threadline can open it. format={format}, known={FORMAT}"
    )]
    Newer {
        /// Its format.
        format: u32,
    },
    /// There are data, and no such file.
    #[error("the store file is missing, though there are data")]
    Missing,
    /// It is damaged or missing, and so is what it could be made anew from.
    #[error("the store file cannot be made anew: no segment has a header that can be read")]
    NoSalt,
    /// It does not belong to these data.
    #[error("the store file is of another store than the log")]
    OtherStore,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    format: u32,
    salt: String,
    created: Timestamp,
    /// Numbers of threads and of history files from these on were not given to any whose files are gone: no number is
    /// given twice, so that nothing can pass for something else.
    #[serde(default)]
    pub(crate) threads_end: u64,
    #[serde(default)]
    pub(crate) files_end: u64,
}

impl Identity {
    pub(crate) fn new(salt: Salt, created: Timestamp) -> Self {
        let salt = salt.0.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { format: FORMAT, salt, created, threads_end: 0, files_end: 0 }
    }

    pub(crate) fn salt(&self) -> Option<Salt> {
        let number = u64::from_str_radix(&self.salt, 16).ok().filter(|_| self.salt.len() == 16)?;
        Some(Salt(number.to_be_bytes()))
    }

    /// Reads the one of a store. None if there is none.
    pub(crate) fn read(disk: &dyn Disk) -> Result<Option<Self>, IdentityError> {
        let file = match disk.open(NAME) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let mut bytes = vec![0; usize::try_from(file.size()?.min(4096)).unwrap_or(4096)];
        file.read_exact_at(&mut bytes, 0)?;
        let text = std::str::from_utf8(&bytes).ok().and_then(|text| text.strip_suffix('\n'));
        let (json, crc) = text.and_then(|text| text.rsplit_once(' ')).ok_or(IdentityError::Damaged)?;
        if format!("{:08x}", crc32c::crc32c(json.as_bytes())) != crc {
            return Err(IdentityError::Damaged);
        }
        let format = serde_json::from_str::<Format>(json).ok().ok_or(IdentityError::Damaged)?.format;
        if format > FORMAT {
            return Err(IdentityError::Newer { format });
        }
        let identity: Self = serde_json::from_str(json).ok().ok_or(IdentityError::Damaged)?;
        identity.salt().ok_or(IdentityError::Damaged)?;
        Ok(Some(identity))
    }

    /// The same in the format of this program, durably: older ones refuse the store from now on.
    pub(crate) fn upgraded(mut self, disk: &dyn Disk) -> io::Result<Self> {
        if self.format < FORMAT {
            self.format = FORMAT;
            self.write(disk)?;
        }
        Ok(self)
    }

    /// Writes it, durably.
    pub(crate) fn write(&self, disk: &dyn Disk) -> io::Result<()> {
        let json = serde_json::to_string(self).map_err(io::Error::other)?;
        let line = format!("{json} {:08x}\n", crc32c::crc32c(json.as_bytes()));
        let file = disk.create(UNFINISHED)?;
        file.write_all_at(line.as_bytes(), 0)?;
        file.sync_data()?;
        disk.rename(UNFINISHED, NAME)?;
        disk.sync_dir()
    }
}

/// What any version of the file has.
#[derive(Debug, Deserialize)]
struct Format {
    format: u32,
}
