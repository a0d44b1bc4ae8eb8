//! HTTP requests through the host. The job needs a grant for the host of the URL.

use crate::errno::{check, fill};
use crate::json::{self, Value};
use crate::{sys, Errno};
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

/// A request to be sent.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// GET, POST, …
    pub method: &'a str,
    /// The whole URL.
    pub url: &'a str,
    /// Names and values. `Host` and what frames the message are the host's business.
    pub headers: &'a [(&'a str, &'a str)],
    /// At most 8 MiB.
    pub body: &'a [u8],
}

impl Request<'_> {
    /// Sends the request, and waits for the head of the response. The host follows redirects.
    pub fn send(&self) -> Result<Response, Errno> {
        let mut headers: Vec<(String, Value)> = Vec::new();
        for (name, value) in self.headers {
            let value = Value::String(value.to_string());
            match headers
                .iter_mut()
                .find(|(n, _)| n.eq_ignore_ascii_case(name))
            {
                Some((_, Value::Array(list))) => list.push(value),
                _ => headers.push((name.to_string(), Value::Array(vec![value]))),
            }
        }
        let head = Value::Object(vec![
            ("method".into(), Value::String(self.method.into())),
            ("url".into(), Value::String(self.url.into())),
            ("headers".into(), Value::Object(headers)),
        ])
        .to_string();
        let n = unsafe {
            sys::http_send(
                head.as_ptr(),
                head.len() as u32,
                self.body.as_ptr(),
                self.body.len() as u32,
            )
        };
        Ok(Response { handle: check(n)? })
    }
}

/// Fetches a URL.
pub fn get(url: &str) -> Result<Response, Errno> {
    Request {
        method: "GET",
        url,
        headers: &[],
        body: &[],
    }
    .send()
}

/// A response. It is closed when it is dropped; at most 16 may be open.
#[derive(Debug)]
pub struct Response {
    handle: i32,
}

impl Response {
    /// The status, such as 200.
    pub fn status(&self) -> Result<u16, Errno> {
        Ok(check(unsafe { sys::http_status(self.handle) })? as u16)
    }

    /// The headers: lower-case names to lists of text.
    pub fn headers(&self) -> Result<Value, Errno> {
        let doc = fill(|buf, cap| unsafe { sys::http_headers(self.handle, buf, cap) })?;
        core::str::from_utf8(&doc)
            .ok()
            .and_then(|text| json::parse(text).ok())
            .ok_or(Errno::Failed)
    }

    /// Reads from the body: at least a byte, or 0 at its end.
    pub fn read(&mut self, buf: &mut [u8]) -> Result<usize, Errno> {
        Ok(
            check(unsafe { sys::http_read(self.handle, buf.as_mut_ptr(), buf.len() as u32) })?
                as usize,
        )
    }

    /// Reads the rest of the body, which fails with [`Errno::TooLarge`] when it has more than `most` bytes.
    pub fn read_all(&mut self, most: usize) -> Result<Vec<u8>, Errno> {
        let mut body = Vec::new();
        let mut buf = vec![0; 32 << 10];
        loop {
            let n = self.read(&mut buf)?;
            if n == 0 {
                return Ok(body);
            }
            if body.len() + n > most {
                return Err(Errno::TooLarge);
            }
            body.extend_from_slice(&buf[..n]);
        }
    }
}

impl Drop for Response {
    fn drop(&mut self) {
        unsafe { sys::http_close(self.handle) }
    }
}
