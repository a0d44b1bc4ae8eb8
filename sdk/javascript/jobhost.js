// What a job in JavaScript asks of its host: the module "jobhost". jobhost.d.ts says what each part does.

import * as native from "jobhost:native";

export const NOT_FOUND = -1;
export const DENIED = -2;
export const TOO_LARGE = -3;
export const BAD_ARGUMENT = -4;
export const ENDING = -5;
export const FAILED = -6;
export const LIMIT = -7;

const words = {
  [NOT_FOUND]: "not found",
  [DENIED]: "denied: the operator has not granted it",
  [TOO_LARGE]: "too large",
  [BAD_ARGUMENT]: "bad argument",
  [ENDING]: "the run is asked to stop",
  [FAILED]: "failed",
  [LIMIT]: "limit reached",
};

export class HostError extends Error {
  constructor(what, errno) {
    super(`${what}: ${words[errno] || "error " + errno}`);
    this.errno = errno;
  }
}
HostError.prototype.name = "HostError";

export class Failure extends Error {
  constructor(code, message, { permanent = false, cause } = {}) {
    super(message);
    Object.assign(this, { code, permanent, cause });
  }

  toString() {
    return this.message;
  }
}
Failure.prototype.name = "Failure";

// granted returns what the host gave, and throws if that is an error number.
function granted(what, result) {
  if (typeof result === "number" && result < 0) throw new HostError(what, result);
  return result;
}

function shown(value) {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value}\n${value.stack}`.trimEnd();
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return JSON.stringify(value);
  } catch {
    return String(value); // a circle
  }
}

const logger = (level) => (...values) => native.log(level, values.map(shown).join(" "));

globalThis.console = { debug: logger(-4), log: logger(0), info: logger(0), warn: logger(4), error: logger(8) };

export function output(value) {
  native.output(JSON.stringify(value));
}

export function progress(done, total = 0, message = "") {
  native.progress(done, total, message);
}

export const cancelled = native.cancelled;

export function millisecondsLeft() {
  const left = native.deadline_ms();
  return left < 0 ? Infinity : left;
}

export function sleep(milliseconds) {
  granted("sleep", native.sleep_ms(milliseconds));
}

export const kv = {
  get(key) {
    const value = native.kv_get(key);
    return value === NOT_FOUND ? undefined : granted(`kv.get ${key}`, value);
  },
  set: (key, value) => void granted(`kv.set ${key}`, native.kv_set(key, value)),
  delete: (key) => void granted(`kv.delete ${key}`, native.kv_delete(key)),
  keys: (prefix = "") => JSON.parse(granted("kv.keys", native.kv_list(prefix))),
};

class Response {
  constructor(url, status, headers, body) {
    Object.assign(this, { url, status, ok: status >= 200 && status < 300, headers, body });
  }

  bytes() {
    return new Uint8Array(this.body);
  }

  text() {
    return native.text(this.body);
  }

  json() {
    return JSON.parse(this.text());
  }
}

export function fetch(url, { method = "GET", headers = {}, body = "", maxBytes = 8 << 20 } = {}) {
  const handle = granted(url, native.http_send(JSON.stringify({ method, url, headers }), body));
  try {
    const all = Object.entries(JSON.parse(granted(url, native.http_headers(handle))));
    const content = granted(url, native.http_read(handle, maxBytes));
    return new Response(url, native.http_status(handle), new Map(all.map(([name, list]) => [name, list.join(", ")])), content);
  } finally {
    native.http_close(handle);
  }
}

export function span(name, part) {
  const id = granted("span", native.span_start(name));
  const end = (ok) => native.span_end(id, ok);
  try {
    const result = part({ set: (key, value) => native.span_attr(id, key, value) });
    if (result instanceof Promise) result.then(() => end(true), () => end(false));
    else end(true);
    return result;
  } catch (e) {
    end(false);
    throw e;
  }
}

export const event = native.event;

// found returns what there is at a path, and throws if that is words of the system.
function found(path, result) {
  if (typeof result === "string") throw new Error(`${path}: ${result}`);
  return result;
}

export const files = {
  bytes(path) {
    const content = found(path, native.file_read(String(path)));
    return content && new Uint8Array(content);
  },
  read(path) {
    const content = found(path, native.file_read(String(path)));
    return content && native.text(content);
  },
  write: (path, content) => found(path, native.file_write(String(path), content, false)),
  append: (path, content) => found(path, native.file_write(String(path), content, true)),
  list: (path) => found(path, native.file_list(String(path))).sort(),
};

function context() {
  const { scheduledAt, deadline, ...run } = JSON.parse(granted("run", native.run()));
  const instant = (text) => (text ? new Date(text) : null);
  const variables = native.env().map((v) => [v.slice(0, v.indexOf("=")), v.slice(v.indexOf("=") + 1)]);
  return { ...run, scheduledAt: instant(scheduledAt), deadline: instant(deadline), args: native.args(), env: Object.fromEntries(variables) };
}

function finish(result) {
  if (result !== undefined) output(result);
  native.end();
}

// begin calls the job. It is not for jobs.
export function begin(job) {
  if (typeof job !== "function") throw new Failure("NO_JOB", "the script has no function as its default export", { permanent: true });
  const result = job(context());
  if (result instanceof Promise) result.then(finish).catch(native.end);
  else finish(result);
}
