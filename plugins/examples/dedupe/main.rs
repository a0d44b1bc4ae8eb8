//! Dedupe finds files with the same content in a directory, and says how much room the copies take.
//!
//! Its data say where: `{"root": "/data", "min_size": 1}`. Files are compared by size first, and by SHA-256 where sizes are the
//! same. `find.rs` does that and knows nothing of jobhost; `sha256.rs` is the hash.

mod find;
mod sha256;

use find::{Found, Group};
use jobhost::json::Value;
use jobhost::{info, warn, Failure, Run};
use std::path::Path;

jobhost::command!(handle);
jobhost::manifest!("manifest.json");

/// How many groups are listed; all are counted.
const LISTED: usize = 100;

fn handle(run: &Run) -> Result<(), Failure> {
    let options = options(&run.data()?)?;
    let root = Path::new(&options.root);
    let found = find::duplicates(root, options.min_size, &mut |done, total| {
        run.progress(done as i64, total as i64, "");
        !run.stopping()
    })
    .map_err(|e| Failure::new("DEDUPE_UNREADABLE", format!("{}: {}", options.root, e)))?
    .ok_or("asked to stop")?;
    for (path, problem) in &found.unreadable {
        warn!("{}: {}", path, problem);
    }
    info!("{} of {} files are copies, and take {} bytes", found.copies(), found.files, found.wasted());
    run.output(&report(&found).to_string());
    Ok(())
}

/// What the data ask for.
#[derive(Debug, PartialEq)]
struct Options {
    root: String,
    min_size: u64,
}

fn options(data: &Value) -> Result<Options, Failure> {
    let bad = |message: String| Failure::new("BAD_DATA", message).permanent();
    if let Some((name, _)) = data.fields().iter().find(|(n, _)| n != "root" && n != "min_size") {
        return Err(bad(format!("the field {} is not known; want root and min_size", name)));
    }
    let root = match data.get("root").and_then(Value::as_str) {
        Some(root) if !root.is_empty() => root.to_string(),
        _ => return Err(bad("root is missing; want the path of a directory, such as /data".into())),
    };
    let min_size = match data.get("min_size") {
        None => 1,
        Some(Value::Number(n)) if *n >= 0.0 && n.fract() == 0.0 => *n as u64,
        Some(v) => return Err(bad(format!("min_size is {}; want a number of bytes", v))),
    };
    Ok(Options { root, min_size })
}

fn report(found: &Found) -> Value {
    let number = |n: u64| Value::Number(n as f64);
    let group = |g: &Group| {
        Value::Object(vec![
            ("size".into(), number(g.size)),
            ("sha256".into(), Value::String(g.sha256.clone())),
            ("paths".into(), Value::Array(g.paths.iter().map(|p| Value::String(p.clone())).collect())),
        ])
    };
    Value::Object(vec![
        ("files".into(), number(found.files)),
        ("copies".into(), number(found.copies())),
        ("wasted_bytes".into(), number(found.wasted())),
        ("unreadable".into(), number(found.unreadable.len() as u64)),
        ("groups".into(), Value::Array(found.groups.iter().take(LISTED).map(group).collect())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Options, Failure> {
        options(&jobhost::json::parse(text).unwrap())
    }

    #[test]
    fn options_are_read() {
        assert_eq!(read(r#"{"root": "/data"}"#), Ok(Options { root: "/data".into(), min_size: 1 }));
        assert_eq!(read(r#"{"root": "/data", "min_size": 4096}"#), Ok(Options { root: "/data".into(), min_size: 4096 }));
    }

    #[test]
    fn wrong_options_are_refused_for_good() {
        for (data, want) in [
            ("{}", "root is missing; want the path of a directory, such as /data"),
            (r#"{"root": ""}"#, "root is missing; want the path of a directory, such as /data"),
            (r#"{"root": "/d", "min_size": "1"}"#, "min_size is \"1\"; want a number of bytes"),
            (r#"{"root": "/d", "min_size": -1}"#, "min_size is -1; want a number of bytes"),
            (r#"{"rot": "/d"}"#, "the field rot is not known; want root and min_size"),
        ] {
            let failure = read(data).unwrap_err();
            assert_eq!((failure.message.as_str(), failure.permanent), (want, true), "{}", data);
        }
    }
}
