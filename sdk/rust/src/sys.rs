//! The functions of the host, as docs/abi.md describes them.

#[cfg(target_arch = "wasm32")]
#[link(wasm_import_module = "jobhost_v1")]
extern "C" {
    pub fn run(buf: *mut u8, cap: u32) -> i32;
    pub fn input(buf: *mut u8, cap: u32) -> i32;
    pub fn output(ptr: *const u8, len: u32);
    pub fn fail(code: *const u8, code_len: u32, msg: *const u8, msg_len: u32, permanent: i32);
    pub fn log(level: i32, ptr: *const u8, len: u32);
    pub fn progress(done: i64, total: i64, ptr: *const u8, len: u32);
    pub fn cancelled() -> i32;
    pub fn deadline_ms() -> i64;
    pub fn sleep_ms(ms: i64) -> i32;
    pub fn kv_get(key: *const u8, key_len: u32, buf: *mut u8, cap: u32) -> i32;
    pub fn kv_set(key: *const u8, key_len: u32, ptr: *const u8, len: u32) -> i32;
    pub fn kv_delete(key: *const u8, key_len: u32) -> i32;
    pub fn kv_list(prefix: *const u8, prefix_len: u32, buf: *mut u8, cap: u32) -> i32;
    pub fn http_send(head: *const u8, head_len: u32, body: *const u8, body_len: u32) -> i32;
    pub fn http_status(handle: i32) -> i32;
    pub fn http_headers(handle: i32, buf: *mut u8, cap: u32) -> i32;
    pub fn http_read(handle: i32, buf: *mut u8, cap: u32) -> i32;
    pub fn http_close(handle: i32);
    pub fn span_start(name: *const u8, len: u32) -> i32;
    pub fn span_end(id: i32, ok: i32);
    pub fn span_attr(id: i32, key: *const u8, key_len: u32, value: *const u8, value_len: u32);
    pub fn event(ptr: *const u8, len: u32);
}

#[cfg(not(target_arch = "wasm32"))]
pub use standin::*;

/// Stand-ins for tests on the author's machine.
#[cfg(not(target_arch = "wasm32"))]
mod standin {
    const DENIED: i32 = -2;
    const BAD_ARGUMENT: i32 = -4;

    unsafe fn fill(text: &str, buf: *mut u8, cap: u32) -> i32 {
        if text.len() <= cap as usize {
            core::ptr::copy_nonoverlapping(text.as_ptr(), buf, text.len());
        }
        text.len() as i32
    }

    pub unsafe fn run(buf: *mut u8, cap: u32) -> i32 {
        fill(
            r#"{"job":"native","kind":"Manual","attempt":1,"data":{}}"#,
            buf,
            cap,
        )
    }
    pub unsafe fn input(buf: *mut u8, cap: u32) -> i32 {
        fill("{}", buf, cap)
    }
    pub unsafe fn output(_: *const u8, _: u32) {}
    pub unsafe fn fail(_: *const u8, _: u32, _: *const u8, _: u32, _: i32) {}
    pub unsafe fn log(_: i32, _: *const u8, _: u32) {}
    pub unsafe fn progress(_: i64, _: i64, _: *const u8, _: u32) {}
    pub unsafe fn cancelled() -> i32 {
        0
    }
    pub unsafe fn deadline_ms() -> i64 {
        -1
    }
    pub unsafe fn sleep_ms(_: i64) -> i32 {
        0
    }
    pub unsafe fn kv_get(_: *const u8, _: u32, _: *mut u8, _: u32) -> i32 {
        DENIED
    }
    pub unsafe fn kv_set(_: *const u8, _: u32, _: *const u8, _: u32) -> i32 {
        DENIED
    }
    pub unsafe fn kv_delete(_: *const u8, _: u32) -> i32 {
        DENIED
    }
    pub unsafe fn kv_list(_: *const u8, _: u32, _: *mut u8, _: u32) -> i32 {
        DENIED
    }
    pub unsafe fn http_send(_: *const u8, _: u32, _: *const u8, _: u32) -> i32 {
        DENIED
    }
    pub unsafe fn http_status(_: i32) -> i32 {
        BAD_ARGUMENT
    }
    pub unsafe fn http_headers(_: i32, _: *mut u8, _: u32) -> i32 {
        BAD_ARGUMENT
    }
    pub unsafe fn http_read(_: i32, _: *mut u8, _: u32) -> i32 {
        BAD_ARGUMENT
    }
    pub unsafe fn http_close(_: i32) {}
    pub unsafe fn span_start(_: *const u8, _: u32) -> i32 {
        1
    }
    pub unsafe fn span_end(_: i32, _: i32) {}
    pub unsafe fn span_attr(_: i32, _: *const u8, _: u32, _: *const u8, _: u32) {}
    pub unsafe fn event(_: *const u8, _: u32) {}
}
