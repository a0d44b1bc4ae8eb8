// json-filter takes the records of a JSON array that fit, and of each the fields that are wanted. The array comes with the data,
// or from an address.
//
//   {"records": [{"id": 1, "state": "open", "size": 5}, …], "where": [{"field": "state", "is": "open"}], "keep": ["id"]}
//   {"url": "https://api.example.com/issues", "where": [{"field": "size", "at_least": 3, "at_most": 9}]}

import * as jobhost from "../../../sdk/assemblyscript/assembly";
import { Kind } from "../../../sdk/assemblyscript/assembly/json";

/** Bytes of an answer, at most. */
const LARGEST: i32 = 8 << 20;

/** What the host calls. 0 is success. */
export function jobhost_run(): i32 {
  const data = jobhost.data();
  const wrong = problem(data);
  if (wrong != "") return jobhost.fail("BAD_DATA", wrong, true);

  let records = data.field("records");
  if (data.has("url")) {
    const span = new jobhost.Span("fetch");
    const text = fetch(data.field("url").text());
    span.end(text != null);
    if (text == null) return 1; // fetch has said why
    const parsed = jobhost.JSON.parse(text);
    if (parsed == null || parsed.kind != Kind.Array) return jobhost.fail("FILTER_NO_ARRAY", "the answer is no JSON array");
    records = parsed;
  }

  const kept = jobhost.Value.array();
  for (let i = 0; i < records.items.length; i++) {
    if (i % 1000 == 0) {
      jobhost.progress(i, records.items.length);
      if (jobhost.stopping()) return jobhost.fail("FILTER_STOPPED", "asked to stop");
    }
    if (fits(records.items[i], data.field("where"))) kept.push(only(records.items[i], data.field("keep")));
  }
  jobhost.info("kept " + kept.items.length.toString() + " of " + records.items.length.toString() + " records");
  jobhost.output(kept);
  return 0;
}

/** What is wrong with the data; nothing if they are as they should be. */
function problem(data: jobhost.Value): string {
  for (let i = 0; i < data.names.length; i++) {
    const name = data.names[i];
    if (!["records", "url", "where", "keep"].includes(name)) return "the field " + name + " is not known; want records or url, where and keep";
  }
  if (data.has("records") == data.has("url")) return "want either records or url";
  if (data.has("records") && data.field("records").kind != Kind.Array) return "records is no array";
  if (data.has("url") && data.field("url").text() == "") return "url is no text";
  if (data.has("keep") && data.field("keep").kind != Kind.Array) return "keep is no array of names";
  const where = data.field("where");
  if (data.has("where") && where.kind != Kind.Array) return "where is no array of conditions";
  for (let i = 0; i < where.items.length; i++) {
    const names = where.items[i].names;
    if (where.items[i].field("field").text() == "") return "a condition has no field";
    if (names.length < 2) return "the condition of " + where.items[i].field("field").text() + " asks for nothing; want is, not, at_least or at_most";
    for (let j = 0; j < names.length; j++) {
      if (!["field", "is", "not", "at_least", "at_most"].includes(names[j])) return "a condition has " + names[j] + "; want is, not, at_least or at_most";
    }
  }
  return "";
}

/** The text at an address; null after a failure that was reported. */
function fetch(url: string): string | null {
  const headers = jobhost.Value.object().set("accept", jobhost.Value.array().push(jobhost.Value.of("application/json")));
  const response = jobhost.send("GET", url, headers);
  if (response == null) {
    const denied = jobhost.lastError == jobhost.DENIED || jobhost.lastError == jobhost.BAD_ARGUMENT;
    jobhost.fail("FILTER_NO_ANSWER", url + ": error " + jobhost.lastError.toString(), denied);
    return null;
  }
  const status = response.status;
  const text = status == 200 ? response.text(LARGEST) : null;
  response.close();
  if (text != null) return text;
  if (status != 200) jobhost.fail("FILTER_STATUS", url + " answered with status " + status.toString(), status >= 400 && status < 500 && status != 429);
  else jobhost.fail("FILTER_NO_ANSWER", url + ": error " + jobhost.lastError.toString() + " in the body", jobhost.lastError == jobhost.TOO_LARGE);
  return null;
}

/** Whether a record fits all conditions. One that lacks a field fits only what it must not be. */
function fits(record: jobhost.Value, where: jobhost.Value): bool {
  for (let i = 0; i < where.items.length; i++) {
    const c = where.items[i];
    const value = record.field(c.field("field").text());
    if (c.has("is") && !value.equals(c.field("is"))) return false;
    if (c.has("not") && value.equals(c.field("not"))) return false;
    if (c.has("at_least") && (value.kind != Kind.Number || value.f64() < c.field("at_least").f64())) return false;
    if (c.has("at_most") && (value.kind != Kind.Number || value.f64() > c.field("at_most").f64())) return false;
  }
  return true;
}

/** A record with the fields that are wanted, in that order; all of them if nothing is said. */
function only(record: jobhost.Value, keep: jobhost.Value): jobhost.Value {
  if (keep.kind != Kind.Array) return record;
  const o = jobhost.Value.object();
  for (let i = 0; i < keep.items.length; i++) {
    const name = keep.items[i].text();
    if (record.has(name)) o.set(name, record.field(name));
  }
  return o;
}
