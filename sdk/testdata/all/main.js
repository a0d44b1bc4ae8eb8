// All uses everything that a host offers.

import * as jobhost from "jobhost";

export default async function (run) {
  if (jobhost.cancelled()) return;
  console.log("begun");
  jobhost.progress(1, 2, "half");
  const result = await jobhost.span("outer", async (span) => {
    span.set("language", "any");
    jobhost.event("now");
    for (const key of ["b", "a", "c"]) jobhost.kv.set(key, key + "!");
    jobhost.kv.delete("c");
    jobhost.sleep(1);
    const response = await jobhost.fetch(run.data.url, { headers: { "X-Asked": "yes" } });
    return {
      value: jobhost.kv.get("a"),
      keys: jobhost.kv.keys(),
      status: response.status,
      type: response.headers.get("content-type"),
      body: response.text(),
      limited: jobhost.millisecondsLeft() < Infinity,
      job: run.job,
    };
  });
  jobhost.output(result);
  throw new jobhost.Failure("DONE", `all was called at attempt ${run.attempt}`, { permanent: true });
}
