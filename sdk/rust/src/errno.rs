use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

/// What the host refuses with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// There is no such thing.
    NotFound,
    /// The operator has not granted it.
    Denied,
    /// It is over a limit of size.
    TooLarge,
    /// It is not well formed, or a handle is not known.
    BadArgument,
    /// The run is asked to stop, or is over.
    Ending,
    /// The network or the store failed.
    Failed,
    /// A limit of number is reached, or the job's values are full.
    Limit,
    /// A number that this crate does not know.
    Other(i32),
}

impl Errno {
    /// The error of a result, which is negative.
    pub(crate) fn of(n: i32) -> Errno {
        match n {
            -1 => Errno::NotFound,
            -2 => Errno::Denied,
            -3 => Errno::TooLarge,
            -4 => Errno::BadArgument,
            -5 => Errno::Ending,
            -6 => Errno::Failed,
            -7 => Errno::Limit,
            n => Errno::Other(n),
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Errno::NotFound => "not found",
            Errno::Denied => "denied: the operator has not granted it",
            Errno::TooLarge => "too large",
            Errno::BadArgument => "bad argument",
            Errno::Ending => "the run is asked to stop",
            Errno::Failed => "failed",
            Errno::Limit => "limit reached",
            Errno::Other(n) => return write!(f, "host error {}", n),
        })
    }
}

/// A result that is not negative, or its error.
pub(crate) fn check(n: i32) -> Result<i32, Errno> {
    if n < 0 {
        return Err(Errno::of(n));
    }
    Ok(n)
}

/// Calls a function that fills a buffer: once with a guess of the size, and again if there was more.
pub(crate) fn fill(mut call: impl FnMut(*mut u8, u32) -> i32) -> Result<Vec<u8>, Errno> {
    let mut buf = vec![0; 1024];
    loop {
        let n = check(call(buf.as_mut_ptr(), buf.len() as u32))? as usize;
        if n <= buf.len() {
            buf.truncate(n);
            return Ok(buf);
        }
        buf.resize(n, 0);
    }
}
