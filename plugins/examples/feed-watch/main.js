// Feed-watch looks at a JSON feed (jsonfeed.org) and tells what is new in it. What it has seen before it remembers as a durable
// value; the first time it only remembers.
//
//   {"url": "https://example.com/feed.json", "notify": "https://chat.example.com/hook"}

import { DENIED, Failure, HostError, fetch, kv, span } from "jobhost";

/** The durable value, and how many entries and characters of their ids it holds, so that it is below 64 KiB. */
const KEY = "seen";
const MOST = 500;
const LARGEST = 15 << 10;

/** What the host calls. What it returns is the run's result. */
export default function (run) {
  const { url, notify } = run.data;
  const stored = JSON.parse(kv.get(KEY) ?? "{}");
  const before = stored.url === url ? stored : null;

  const response = ask(url, { headers: before?.etag ? { "If-None-Match": before.etag } : {} });
  if (response.status === 304) {
    console.log("the feed is as it was");
    return { fresh: [], known: before.seen.length };
  }
  const { title, items } = parsed(response);

  const known = before?.seen ?? [];
  const fresh = before === null ? [] : items.filter((item) => !known.includes(item.id)).map(brief);
  if (fresh.length > 0 && notify) {
    const body = JSON.stringify({ feed: title, items: fresh });
    span("notify", () => ask(notify, { method: "POST", headers: { "Content-Type": "application/json" }, body }));
  }

  // Only now, so that a run that could not notify is made up for by the next one.
  const seen = newest([...new Set([...items.map((item) => item.id), ...known])]);
  kv.set(KEY, JSON.stringify({ url, etag: response.headers.get("etag"), seen }));
  console.log(before === null ? "first look" : `${fresh.length} new`, "of", items.length, "entries");
  return { title, fresh, known: seen.length };
}

/** Sends a request; a status that is none of success ends the run. */
function ask(url, options) {
  let response;
  try {
    response = fetch(url, options);
  } catch (e) {
    if (!(e instanceof HostError)) throw e;
    throw new Failure("FEED_NO_ANSWER", e.message, { permanent: e.errno === DENIED });
  }
  const { status } = response;
  if (response.ok || status === 304) return response;
  throw new Failure("FEED_STATUS", `${url} answered with status ${status}`, { permanent: status >= 400 && status < 500 && status !== 429 });
}

/** The feed of a response. */
function parsed(response) {
  try {
    const { title = response.url, items } = response.json();
    return { title, items: items.map((item) => ({ ...item, id: String(item.id ?? item.url) })) };
  } catch (e) {
    throw new Failure("FEED_UNREADABLE", `${response.url} is no JSON feed: ${e.message}`);
  }
}

/** What is told of an entry. */
function brief({ id, url = "", title = "", date_published = "" }) {
  return { id, url, title, published: date_published };
}

/** As many ids as may be remembered. */
function newest(ids) {
  let room = LARGEST;
  return ids.slice(0, MOST).filter((id) => (room -= JSON.stringify(id).length + 1) > 0);
}
