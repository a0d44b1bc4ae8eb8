//! The durable values of the run's job: checkpoints that survive attempts, restarts and nodes.
//!
//! A key has 1 to 256 bytes, a value at most 64 KiB, and all of a job's together at most 1 MiB. The job needs the grant
//! `kv`. Each call waits for the host's store.

use crate::errno::{check, fill};
use crate::{json, sys, Errno};
use alloc::string::String;
use alloc::vec::Vec;

/// A value; `None` when there is none.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, Errno> {
    match fill(|buf, cap| unsafe { sys::kv_get(key.as_ptr(), key.len() as u32, buf, cap) }) {
        Ok(value) => Ok(Some(value)),
        Err(Errno::NotFound) => Ok(None),
        Err(e) => Err(e),
    }
}

/// Stores a value. It is durable when `set` returns.
pub fn set(key: &str, value: &[u8]) -> Result<(), Errno> {
    let n = unsafe {
        sys::kv_set(
            key.as_ptr(),
            key.len() as u32,
            value.as_ptr(),
            value.len() as u32,
        )
    };
    check(n).map(drop)
}

/// Removes a value, which need not be there.
pub fn delete(key: &str) -> Result<(), Errno> {
    check(unsafe { sys::kv_delete(key.as_ptr(), key.len() as u32) }).map(drop)
}

/// The keys that begin with a prefix, sorted.
pub fn keys(prefix: &str) -> Result<Vec<String>, Errno> {
    let list =
        fill(|buf, cap| unsafe { sys::kv_list(prefix.as_ptr(), prefix.len() as u32, buf, cap) })?;
    let list = core::str::from_utf8(&list)
        .ok()
        .and_then(|text| json::parse(text).ok());
    Ok(list
        .iter()
        .flat_map(json::Value::items)
        .filter_map(json::Value::as_str)
        .map(String::from)
        .collect())
}
