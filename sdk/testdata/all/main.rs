//! All uses everything that a host offers.

use jobhost::json::Value;
use jobhost::{event, http, info, kv, sleep, Failure, Run, Span};
use std::time::Duration;

jobhost::command!(all);

fn all(run: &Run) -> Result<(), Failure> {
    let data = run.data()?;
    let url = data.get("url").and_then(Value::as_str).ok_or("no url")?;
    if run.stopping() {
        return Err("stopped".into());
    }
    info!("begun");
    run.progress(1, 2, "half");
    let span = Span::start("outer");
    span.set("language", "any");
    event("now");
    for key in ["b", "a", "c"] {
        kv::set(key, format!("{}!", key).as_bytes())?;
    }
    kv::delete("c")?;
    let value = kv::get("a")?.ok_or("no value")?;
    let keys = kv::keys("")?.into_iter().map(Value::String).collect();
    sleep(Duration::from_millis(1))?;
    let request = http::Request { method: "GET", url, headers: &[("X-Asked", "yes")], body: &[] };
    let mut response = request.send()?;
    let headers = response.headers()?;
    let kind = headers.get("content-type").and_then(|v| v.items().first()).and_then(Value::as_str).ok_or("no type")?;
    let body = response.read_all(1 << 20)?;
    let status = response.status()?;
    drop(response);
    span.end();
    let text = |bytes: Vec<u8>| Value::String(String::from_utf8_lossy(&bytes).into_owned());
    let result = Value::Object(vec![
        ("value".into(), text(value)),
        ("keys".into(), Value::Array(keys)),
        ("status".into(), Value::Number(status.into())),
        ("type".into(), kind.into()),
        ("body".into(), text(body)),
        ("limited".into(), Value::Bool(run.left().is_some())),
        ("job".into(), run.job().into()),
    ]);
    run.output(&result.to_string());
    Err(Failure::new("DONE", format!("all was called at attempt {}", run.attempt())).permanent())
}
