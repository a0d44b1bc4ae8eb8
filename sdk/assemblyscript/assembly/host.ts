// The functions of the host, as docs/abi.md describes them. Use index.ts instead where it has what you need.

@external("jobhost_v1", "run")
export declare function run(buf: usize, cap: u32): i32;
@external("jobhost_v1", "input")
export declare function input(buf: usize, cap: u32): i32;
@external("jobhost_v1", "output")
export declare function output(ptr: usize, len: u32): void;
@external("jobhost_v1", "fail")
export declare function fail(code: usize, codeLen: u32, msg: usize, msgLen: u32, permanent: i32): void;
@external("jobhost_v1", "log")
export declare function log(level: i32, ptr: usize, len: u32): void;
@external("jobhost_v1", "progress")
export declare function progress(done: i64, total: i64, ptr: usize, len: u32): void;

@external("jobhost_v1", "cancelled")
export declare function cancelled(): i32;
@external("jobhost_v1", "deadline_ms")
export declare function deadline_ms(): i64;
@external("jobhost_v1", "sleep_ms")
export declare function sleep_ms(ms: i64): i32;

@external("jobhost_v1", "kv_get")
export declare function kv_get(key: usize, keyLen: u32, buf: usize, cap: u32): i32;
@external("jobhost_v1", "kv_set")
export declare function kv_set(key: usize, keyLen: u32, ptr: usize, len: u32): i32;
@external("jobhost_v1", "kv_delete")
export declare function kv_delete(key: usize, keyLen: u32): i32;
@external("jobhost_v1", "kv_list")
export declare function kv_list(prefix: usize, prefixLen: u32, buf: usize, cap: u32): i32;

@external("jobhost_v1", "http_send")
export declare function http_send(head: usize, headLen: u32, body: usize, bodyLen: u32): i32;
@external("jobhost_v1", "http_status")
export declare function http_status(handle: i32): i32;
@external("jobhost_v1", "http_headers")
export declare function http_headers(handle: i32, buf: usize, cap: u32): i32;
@external("jobhost_v1", "http_read")
export declare function http_read(handle: i32, buf: usize, cap: u32): i32;
@external("jobhost_v1", "http_close")
export declare function http_close(handle: i32): void;

@external("jobhost_v1", "span_start")
export declare function span_start(name: usize, len: u32): i32;
@external("jobhost_v1", "span_end")
export declare function span_end(id: i32, ok: i32): void;
@external("jobhost_v1", "span_attr")
export declare function span_attr(id: i32, key: usize, keyLen: u32, value: usize, valueLen: u32): void;
@external("jobhost_v1", "event")
export declare function event(ptr: usize, len: u32): void;
