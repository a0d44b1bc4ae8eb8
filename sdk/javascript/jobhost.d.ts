// The types of the module "jobhost", for editors and for TypeScript.

declare module "jobhost" {
  /** Why the job runs, and with what. The script's default export is called with it: `export default function (run) { … }`. */
  export interface Run<Data = any> {
    /** 32 hexadecimal digits, also the trace id. */
    id: string;
    job: string;
    /** The trigger's name; empty for a manual run. */
    trigger: string;
    kind: "Schedule" | "Manual" | "Recovery" | "Retry";
    /** From 1. */
    attempt: number;
    /** The first run of a chain of retries; empty for any other. */
    retryOf: string;
    /** When it was planned for, which may be a while ago. */
    scheduledAt: Date | null;
    /** When the host ends it; null without a limit. */
    deadline: Date | null;
    node: string;
    traceparent: string;
    /** The job's data. */
    data: Data;
    /** The arguments that the operator grants. */
    args: string[];
    /** The variables and secrets that the operator grants, and those that begin with JOBHOST_. */
    env: Record<string, string>;
  }

  /**
   * Throw one to say how the run failed: with a code of the job's own. It is retried as the job's definition says, unless it
   * is permanent. Anything else that is thrown is a failure without a code, and its stack is a part of the message; any error
   * may have a `permanent` that is true.
   */
  export class Failure extends Error {
    constructor(code: string, message: string, options?: { permanent?: boolean; cause?: unknown });
    code: string;
    permanent: boolean;
    cause: unknown;
  }

  /** What the host refused; errno is one of the numbers below. */
  export class HostError extends Error {
    constructor(what: string, errno: number);
    errno: number;
  }

  export const NOT_FOUND: -1;
  /** The operator has not granted it. */
  export const DENIED: -2;
  export const TOO_LARGE: -3;
  export const BAD_ARGUMENT: -4;
  /** The run is asked to stop, or is over. */
  export const ENDING: -5;
  /** Network or store. */
  export const FAILED: -6;
  export const LIMIT: -7;

  /** Sets the run's result, as JSON. What the job's function returns does the same; the last one wins. */
  export function output(value: unknown): void;

  /** Says how far the run is: done of total, which is 0 when it is not known. */
  export function progress(done: number, total?: number, message?: string): void;

  /** Whether the run is asked to stop. The host ends it some seconds later. */
  export function cancelled(): boolean;

  /** How many milliseconds the run may still take; Infinity without a limit. */
  export function millisecondsLeft(): number;

  /** Waits. Throws a HostError with ENDING as soon as the run is asked to stop. */
  export function sleep(milliseconds: number): void;

  /** The job's durable values: text by key, which survives runs and restarts. It needs the grant `kv`. */
  export const kv: {
    /** Undefined if there is none. */
    get(key: string): string | undefined;
    set(key: string, value: string | ArrayBuffer | ArrayBufferView): void;
    /** The value need not be there. */
    delete(key: string): void;
    /** The keys that begin with a prefix, sorted. */
    keys(prefix?: string): string[];
  };

  export interface Response {
    /** That of the request. */
    url: string;
    status: number;
    /** Whether the status is from 200 to 299. */
    ok: boolean;
    /** By lower-case name; several of one name are joined by commas. */
    headers: Map<string, string>;
    body: ArrayBuffer;
    bytes(): Uint8Array;
    text(): string;
    json(): any;
  }

  /**
   * Sends a request and waits for the whole response; any status is one. Throws a HostError: DENIED, FAILED, TOO_LARGE for a
   * body of more than maxBytes (8 MiB if it is not given), … It needs the grant `http`.
   */
  export function fetch(
    url: string,
    options?: {
      method?: string;
      headers?: Record<string, string | string[]>;
      body?: string | ArrayBuffer | ArrayBufferView;
      maxBytes?: number;
    }
  ): Response;

  /** Calls a function as a part of the run that shows up in its trace, and returns what it returns. */
  export function span<T>(name: string, part: (span: { set(key: string, value: string): void }) => T): T;

  /** Marks an instant in the trace. */
  export function event(name: string): void;

  /** Files of the directories that the operator grants. */
  export const files: {
    /** Undefined if there is no such file. */
    read(path: string): string | undefined;
    /** Undefined if there is no such file. */
    bytes(path: string): Uint8Array | undefined;
    /** Writes a file anew. */
    write(path: string, content: string | ArrayBuffer | ArrayBufferView): void;
    append(path: string, content: string | ArrayBuffer | ArrayBufferView): void;
    /** The names in a directory, sorted. */
    list(path: string): string[];
  };
}

/** The run's log, with its levels; log is info. Objects are written as JSON, errors with their stack. */
declare var console: Record<"debug" | "log" | "info" | "warn" | "error", (...values: unknown[]) => void>;
