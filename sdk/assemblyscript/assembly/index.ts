// What a job written in AssemblyScript asks of its host.
//
//   import * as jobhost from "./jobhost";
//
//   export function jobhost_run(): i32 {
//     const data = jobhost.data();
//     jobhost.info("hello " + data.field("name").text("world"));
//     jobhost.output(data);
//     return 0;
//   }
//
// Functions that the host may refuse return an error number, which is negative, or keep it in lastError. A module imports
// only those functions of the host that it uses.

import * as host from "./host";
import { JSON, Value } from "./json";

export { JSON, Value } from "./json";

// What the host refuses with.
export const NOT_FOUND: i32 = -1;
export const DENIED: i32 = -2; // the operator has not granted it
export const TOO_LARGE: i32 = -3;
export const BAD_ARGUMENT: i32 = -4;
export const ENDING: i32 = -5; // the run is asked to stop, or is over
export const FAILED: i32 = -6; // network or store
export const LIMIT: i32 = -7;

/** The error number of the last call that returned null, or 0. */
export let lastError: i32 = 0;

// Text goes over as UTF-8. A buffer stays where it is while a variable holds it.

function utf8(s: string): ArrayBuffer {
  return String.UTF8.encode(s);
}

function at(b: ArrayBuffer): usize {
  return changetype<usize>(b);
}

/** Fetches text from a function that fills a buffer: once with a guess of the size, and again if there was more. */
function fill(call: (key: ArrayBuffer, buf: usize, cap: u32) => i32, key: ArrayBuffer): string | null {
  let buf = new ArrayBuffer(1024);
  while (true) {
    const n = call(key, at(buf), buf.byteLength);
    lastError = min(n, 0);
    if (n < 0) return null;
    if (n <= buf.byteLength) return String.UTF8.decodeUnsafe(at(buf), n);
    buf = new ArrayBuffer(n);
  }
}

const nothing = new ArrayBuffer(0);

function parsed(text: string | null): Value {
  if (text == null) return Value.object();
  const value = JSON.parse(text);
  return value != null ? value : Value.object();
}

/** The facts of the run: id, job, trigger, kind, scheduledAt, attempt, retryOf, data, deadline, node, traceparent. */
export function run(): Value {
  return parsed(fill((_, buf, cap) => host.run(buf, cap), nothing));
}

/** The job's data, an object. */
export function data(): Value {
  return parsed(fill((_, buf, cap) => host.input(buf, cap), nothing));
}

/** Sets the run's result; the last call wins. */
export function output(result: Value): void {
  outputText(result.toString());
}

/** Sets the run's result to text. */
export function outputText(result: string): void {
  const b = utf8(result);
  host.output(at(b), b.byteLength);
}

/** Says what went wrong, with a code of the job's own, and returns what jobhost_run should. */
export function fail(code: string, message: string, permanent: bool = false): i32 {
  const c = utf8(code);
  const m = utf8(message);
  host.fail(at(c), c.byteLength, at(m), m.byteLength, permanent ? 1 : 0);
  return 1;
}

/** Adds an entry to the run's log. Levels: -4 debug, 0 info, 4 warn, 8 error. */
export function log(level: i32, entry: string): void {
  const b = utf8(entry);
  host.log(level, at(b), b.byteLength);
}

export function debug(entry: string): void {
  log(-4, entry);
}

export function info(entry: string): void {
  log(0, entry);
}

export function warn(entry: string): void {
  log(4, entry);
}

export function error(entry: string): void {
  log(8, entry);
}

/** Says how far the run is: done of total, which is 0 when it is not known. */
export function progress(done: i64, total: i64, message: string = ""): void {
  const b = utf8(message);
  host.progress(done, total, at(b), b.byteLength);
}

/** Whether the run is asked to stop. The host ends it some seconds later. */
export function stopping(): bool {
  return host.cancelled() != 0;
}

/** How many milliseconds the run may still take; -1: no limit. */
export function millisecondsLeft(): i64 {
  return host.deadline_ms();
}

/** Waits. False: the run is asked to stop. */
export function sleep(milliseconds: i64): bool {
  return host.sleep_ms(milliseconds) == 0;
}

/** A durable value of the job; null when there is none (lastError is NOT_FOUND) or it is refused. */
export function get(key: string): string | null {
  return fill((k, buf, cap) => host.kv_get(at(k), k.byteLength, buf, cap), utf8(key));
}

/** Stores a durable value: 0, or an error number. */
export function set(key: string, value: string): i32 {
  const k = utf8(key);
  const v = utf8(value);
  return host.kv_set(at(k), k.byteLength, at(v), v.byteLength);
}

/** Removes a durable value, which need not be there: 0, or an error number. */
export function remove(key: string): i32 {
  const k = utf8(key);
  return host.kv_delete(at(k), k.byteLength);
}

/** The keys that begin with a prefix, sorted: an array of text; null when it is refused. */
export function keys(prefix: string = ""): Value | null {
  const list = fill((k, buf, cap) => host.kv_list(at(k), k.byteLength, buf, cap), utf8(prefix));
  if (list == null) return null;
  return JSON.parse(list);
}

/** A response. Close it; at most 16 may be open. */
export class Response {
  constructor(private handle: i32) {}

  /** The status, such as 200. */
  get status(): i32 {
    return host.http_status(this.handle);
  }

  /** The headers: an object of lower-case names and lists. */
  headers(): Value {
    let buf = new ArrayBuffer(1024);
    let n = host.http_headers(this.handle, at(buf), buf.byteLength);
    if (n > buf.byteLength) {
      buf = new ArrayBuffer(n);
      n = host.http_headers(this.handle, at(buf), buf.byteLength);
    }
    return n < 0 ? Value.object() : parsed(String.UTF8.decodeUnsafe(at(buf), n));
  }

  /** Reads from the body: at least a byte; 0 at the end, or an error number. */
  read(to: ArrayBuffer): i32 {
    return host.http_read(this.handle, at(to), to.byteLength);
  }

  /** The rest of the body as text; null, with lastError, when it fails or has more than so many bytes. */
  text(most: i32 = 1 << 20): string | null {
    const piece = new ArrayBuffer(16 << 10);
    let body = new ArrayBuffer(0);
    while (true) {
      const n = this.read(piece);
      lastError = n < 0 ? n : n > most - body.byteLength ? TOO_LARGE : 0;
      if (lastError != 0) return null;
      if (n == 0) return String.UTF8.decode(body);
      const longer = new ArrayBuffer(body.byteLength + n);
      memory.copy(at(longer), at(body), body.byteLength);
      memory.copy(at(longer) + body.byteLength, at(piece), n);
      body = longer;
    }
  }

  close(): void {
    host.http_close(this.handle);
  }
}

/** Sends a request and waits for the head of the response; null, with lastError, when it fails. */
export function send(method: string, url: string, headers: Value | null = null, body: string = ""): Response | null {
  const head = Value.object().set("method", Value.of(method)).set("url", Value.of(url));
  head.set("headers", headers != null ? headers : Value.object());
  const h = utf8(head.toString());
  const b = utf8(body);
  const handle = host.http_send(at(h), h.byteLength, at(b), b.byteLength);
  lastError = min(handle, 0);
  if (handle < 0) return null;
  return new Response(handle);
}

/** A part of the run that shows up in its trace. Its parent is the innermost one that is open. */
export class Span {
  private id: i32;

  constructor(name: string) {
    const b = utf8(name);
    this.id = host.span_start(at(b), b.byteLength);
  }

  /** Adds what is to be known about it. */
  set(key: string, value: string): void {
    const k = utf8(key);
    const v = utf8(value);
    host.span_attr(this.id, at(k), k.byteLength, at(v), v.byteLength);
  }

  /** Ends it. */
  end(ok: bool = true): void {
    host.span_end(this.id, ok ? 1 : 0);
  }
}

/** Marks an instant on the innermost span that is open. */
export function event(name: string): void {
  const b = utf8(name);
  host.event(at(b), b.byteLength);
}
