use crate::Errno;
use alloc::string::{String, ToString};
use core::fmt;

/// How a run failed. Any error with a text becomes one by `?`, without a code and not permanent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The job's own code, at most 128 bytes; not one that begins with `SCHEDULING_`.
    pub code: String,
    /// What went wrong, at most 4 KiB.
    pub message: String,
    /// A retry would fail the same way, so there is none.
    pub permanent: bool,
}

impl Failure {
    /// A failure with a code of the job's own.
    pub fn new(code: &str, message: impl fmt::Display) -> Failure {
        Failure {
            code: code.to_string(),
            message: message.to_string(),
            permanent: false,
        }
    }

    /// The same failure, not worth a retry.
    #[must_use]
    pub fn permanent(mut self) -> Failure {
        self.permanent = true;
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::new("", message)
    }
}

impl From<&str> for Failure {
    fn from(message: &str) -> Failure {
        Failure::new("", message)
    }
}

impl From<Errno> for Failure {
    fn from(e: Errno) -> Failure {
        Failure::new("", e)
    }
}
