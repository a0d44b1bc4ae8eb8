// All uses everything that a host offers.

import * as jobhost from "./jobhost";

function refused(what: string, n: i32): i32 {
  return jobhost.fail("REFUSED", what + ": " + n.toString());
}

export function jobhost_run(): i32 {
  const run = jobhost.run();
  if (jobhost.stopping()) return 1;
  jobhost.info("begun");
  jobhost.progress(1, 2, "half");
  const span = new jobhost.Span("outer");
  span.set("language", "any");
  jobhost.event("now");
  const wanted = ["b", "a", "c"];
  for (let i = 0; i < wanted.length; i++) {
    const n = jobhost.set(wanted[i], wanted[i] + "!");
    if (n < 0) return refused("set", n);
  }
  jobhost.remove("c");
  const value = jobhost.get("a");
  if (value == null) return refused("get", jobhost.lastError);
  const keys = jobhost.keys();
  if (keys == null) return refused("keys", jobhost.lastError);
  if (!jobhost.sleep(1)) return 1;
  const headers = jobhost.Value.object().set("X-Asked", jobhost.Value.array().push(jobhost.Value.of("yes")));
  const response = jobhost.send("GET", jobhost.data().field("url").text(), headers);
  if (response == null) return refused("send", jobhost.lastError);
  const type = response.headers().field("content-type").items[0].text();
  const body = response.text();
  if (body == null) return refused("text", jobhost.lastError);
  const status = response.status;
  response.close();
  span.end();
  jobhost.output(
    jobhost.Value.object()
      .set("value", jobhost.Value.of(value))
      .set("keys", keys)
      .set("status", jobhost.Value.integer(status))
      .set("type", jobhost.Value.of(type))
      .set("body", jobhost.Value.of(body))
      .set("limited", jobhost.Value.bool(jobhost.millisecondsLeft() >= 0))
      .set("job", run.field("job"))
  );
  return jobhost.fail("DONE", "all was called at attempt " + run.field("attempt").i64().toString(), true);
}
