use crate::sys;

/// How much an entry of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// For whoever looks for a mistake.
    Debug = -4,
    /// What happened.
    Info = 0,
    /// What somebody should look at.
    Warn = 4,
    /// What went wrong.
    Error = 8,
}

/// Adds an entry to the run's log: at most 8 KiB, the rest is cut.
pub fn log(level: Level, entry: &str) {
    unsafe { sys::log(level as i32, entry.as_ptr(), entry.len() as u32) }
}

/// Logs a formatted entry for whoever looks for a mistake.
#[macro_export]
macro_rules! debug {
    ($($arg:tt)*) => { $crate::log($crate::Level::Debug, &$crate::__format!($($arg)*)) };
}

/// Logs a formatted entry about what happened.
#[macro_export]
macro_rules! info {
    ($($arg:tt)*) => { $crate::log($crate::Level::Info, &$crate::__format!($($arg)*)) };
}

/// Logs a formatted entry that somebody should look at.
#[macro_export]
macro_rules! warn {
    ($($arg:tt)*) => { $crate::log($crate::Level::Warn, &$crate::__format!($($arg)*)) };
}

/// Logs a formatted entry about what went wrong.
#[macro_export]
macro_rules! error {
    ($($arg:tt)*) => { $crate::log($crate::Level::Error, &$crate::__format!($($arg)*)) };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __format {
    ($($arg:tt)*) => { $crate::__alloc::format!($($arg)*) };
}
