//! What a job written in Rust asks of its host. The crate has no dependencies and is `no_std`; it needs an allocator.
//!
//! ```ignore
//! use jobhost::{info, Failure, Run};
//!
//! jobhost::command!(handle);
//!
//! fn handle(run: &Run) -> Result<(), Failure> {
//!     let data = run.data()?;
//!     let name = data.get("name").and_then(|v| v.as_str()).unwrap_or("world");
//!     info!("greeting {}", name);
//!     run.output(&format!("Hello, {}", name));
//!     Ok(())
//! }
//! ```
//!
//! - [`command!`] makes a program of a handler, [`job!`] a reactor. [`manifest!`] says in the module what it is.
//! - [`Run`] is what the handler was called for: its data, result, progress, and whether it should stop.
//! - [`Failure`] says what went wrong, and whether a retry could mend it.
//! - [`kv`] has the job's durable values, [`http`] sends requests, [`Span`] is a part of the run's trace.
//! - [`json`] reads and writes small documents; any other crate does as well.
//!
//! A module imports only those functions of the host that its job uses. Built for anything but WebAssembly, stand-ins take
//! the host's place, so that a job can be tested: empty data, log to nowhere, no durable values, no network.

#![no_std]
#![warn(missing_docs)]

extern crate alloc;

#[doc(hidden)]
pub extern crate alloc as __alloc;

mod errno;
mod failure;
pub mod http;
pub mod json;
pub mod kv;
mod log;
mod run;
mod span;
mod sys;

pub use errno::Errno;
pub use failure::Failure;
pub use log::{log, Level};
pub use run::{call, exit_code, sleep, Run};
pub use span::{event, Span};
