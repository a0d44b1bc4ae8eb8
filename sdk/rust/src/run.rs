use crate::errno::{check, fill};
use crate::json::{self, Value};
use crate::{sys, Errno, Failure};
use alloc::string::{String, ToString};
use core::time::Duration;

/// The run that a handler was called for.
#[derive(Clone, Debug)]
pub struct Run {
    document: Value,
}

impl Run {
    fn new() -> Result<Run, Failure> {
        let document = fill(|buf, cap| unsafe { sys::run(buf, cap) })?;
        Ok(Run {
            document: read(&document, "the run document")?,
        })
    }

    fn text(&self, field: &str) -> &str {
        self.document
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or("")
    }

    /// The run's id.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// The job's name.
    pub fn job(&self) -> &str {
        self.text("job")
    }

    /// The trigger's name; empty for a manual run.
    pub fn trigger(&self) -> &str {
        self.text("trigger")
    }

    /// Schedule, Manual, Recovery or Retry.
    pub fn kind(&self) -> &str {
        self.text("kind")
    }

    /// When the run was planned for: RFC 3339, UTC.
    pub fn scheduled_at(&self) -> &str {
        self.text("scheduledAt")
    }

    /// When the host will end it: RFC 3339, UTC; empty without a limit.
    pub fn deadline(&self) -> &str {
        self.text("deadline")
    }

    /// Which attempt it is, from 1.
    pub fn attempt(&self) -> u32 {
        self.document
            .get("attempt")
            .and_then(Value::as_f64)
            .unwrap_or(1.0) as u32
    }

    /// The job's data, a JSON object.
    pub fn data(&self) -> Result<Value, Failure> {
        read(self.raw()?.as_bytes(), "the job's data")
    }

    /// The text of the job's data, for a JSON crate of your choice.
    pub fn raw(&self) -> Result<String, Failure> {
        let data = fill(|buf, cap| unsafe { sys::input(buf, cap) })?;
        String::from_utf8(data).map_err(|e| e.to_string().into())
    }

    /// Sets the run's result; the last call wins. It may be JSON or any text. At most 64 KiB are kept, unless the operator
    /// grants another limit.
    pub fn output(&self, result: &str) {
        unsafe { sys::output(result.as_ptr(), result.len() as u32) }
    }

    /// Says how far the run is: done of total, which is 0 when it is not known.
    pub fn progress(&self, done: i64, total: i64, message: &str) {
        unsafe { sys::progress(done, total, message.as_ptr(), message.len() as u32) }
    }

    /// Whether the run is asked to stop. The host ends it some seconds later.
    pub fn stopping(&self) -> bool {
        unsafe { sys::cancelled() != 0 }
    }

    /// How long the run may still take; `None` without a limit.
    pub fn left(&self) -> Option<Duration> {
        u64::try_from(unsafe { sys::deadline_ms() })
            .ok()
            .map(Duration::from_millis)
    }
}

/// Waits. It fails with [`Errno::Ending`] when the run is asked to stop.
pub fn sleep(d: Duration) -> Result<(), Errno> {
    check(unsafe { sys::sleep_ms(i64::try_from(d.as_millis()).unwrap_or(i64::MAX)) }).map(drop)
}

fn read(doc: &[u8], what: &str) -> Result<Value, Failure> {
    let text = core::str::from_utf8(doc).map_err(|e| alloc::format!("{}: {}", what, e))?;
    json::parse(text).map_err(|e| alloc::format!("{}: {}", what, e).into())
}

/// Runs a handler, and tells the host of a failure.
pub fn call(handler: fn(&Run) -> Result<(), Failure>) -> Result<(), Failure> {
    let result = Run::new().and_then(|run| handler(&run));
    if let Err(f) = &result {
        let (code, message) = (f.code.as_bytes(), f.message.as_bytes());
        unsafe {
            sys::fail(
                code.as_ptr(),
                code.len() as u32,
                message.as_ptr(),
                message.len() as u32,
                f.permanent.into(),
            );
        }
    }
    result
}

/// Runs a handler, and returns the exit code of a command: 0, 1, or 65 for a permanent failure.
pub fn exit_code(handler: fn(&Run) -> Result<(), Failure>) -> i32 {
    match call(handler) {
        Ok(()) => 0,
        Err(f) if f.permanent => 65,
        Err(_) => 1,
    }
}

/// Makes a reactor of a handler. The crate's type is `cdylib`.
#[macro_export]
macro_rules! job {
    ($handler:expr) => {
        #[no_mangle]
        pub extern "C" fn jobhost_run() -> i32 {
            i32::from($crate::call($handler).is_err())
        }
    };
}

/// Puts a file with the plugin's manifest, JSON, into the module. The path is relative to the source file.
#[macro_export]
macro_rules! manifest {
    ($file:literal) => {
        #[cfg(target_arch = "wasm32")]
        #[used]
        #[link_section = "jobhost"]
        static JOBHOST_MANIFEST: [u8; include_bytes!($file).len()] = *include_bytes!($file);
    };
}

/// Makes a program of a handler: it is the main function.
#[macro_export]
macro_rules! command {
    ($handler:expr) => {
        fn main() {
            ::std::process::exit($crate::exit_code($handler))
        }
    };
}
