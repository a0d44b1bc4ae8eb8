//! Small JSON documents, such as a job's data.
//!
//! ```
//! let v = jobhost::json::parse(r#"{"name": "Ada", "n": [1, 2]}"#).unwrap();
//! assert_eq!(v.get("name").and_then(|v| v.as_str()), Some("Ada"));
//! assert_eq!(v.get("n").unwrap().items().len(), 2);
//! assert_eq!(v.to_string(), r#"{"name":"Ada","n":[1,2]}"#);
//! ```

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

/// A JSON value. Numbers are `f64`; objects keep the order of their fields.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// null
    Null,
    /// true or false
    Bool(bool),
    /// any number
    Number(f64),
    /// text
    String(String),
    /// a list
    Array(Vec<Value>),
    /// names and values
    Object(Vec<(String, Value)>),
}

impl Value {
    /// A field of an object; of fields with one name the last.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields()
            .iter()
            .rev()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v)
    }

    /// The fields of an object; none of anything else.
    pub fn fields(&self) -> &[(String, Value)] {
        match self {
            Value::Object(fields) => fields,
            _ => &[],
        }
    }

    /// The items of an array; none of anything else.
    pub fn items(&self) -> &[Value] {
        match self {
            Value::Array(items) => items,
            _ => &[],
        }
    }

    /// The text, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(s) => Some(s),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Number(n) => Some(*n),
            _ => None,
        }
    }

    /// True or false, if it is one of them.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Value {
        Value::String(s.into())
    }
}

impl From<f64> for Value {
    fn from(n: f64) -> Value {
        Value::Number(n)
    }
}

impl fmt::Display for Value {
    /// Writes the value as JSON, in one line. A number that is not finite becomes null.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Bool(b) => write!(f, "{}", b),
            Value::Number(n) if n.is_finite() => write!(f, "{}", n),
            Value::Number(_) => f.write_str("null"),
            Value::String(s) => quote(f, s),
            Value::Array(items) => {
                f.write_char('[')?;
                for (i, v) in items.iter().enumerate() {
                    write!(f, "{}{}", if i > 0 { "," } else { "" }, v)?;
                }
                f.write_char(']')
            }
            Value::Object(fields) => {
                f.write_char('{')?;
                for (i, (name, v)) in fields.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    quote(f, name)?;
                    write!(f, ":{}", v)?;
                }
                f.write_char('}')
            }
        }
    }
}

fn quote(f: &mut fmt::Formatter<'_>, s: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in s.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{}", c)?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

/// How deep values may be nested.
const DEPTH: usize = 128;

/// Reads one JSON value. The error says what is wrong and at which byte.
pub fn parse(text: &str) -> Result<Value, String> {
    let mut p = Parser {
        text: text.as_bytes(),
        at: 0,
    };
    let v = p.value(0)?;
    p.space();
    if p.at < p.text.len() {
        return p.wrong("something after the value");
    }
    Ok(v)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn wrong<T>(&self, what: &str) -> Result<T, String> {
        Err(format!("{} at byte {}", what, self.at))
    }

    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// The next byte after white space.
    fn peek(&mut self) -> Option<u8> {
        self.space();
        self.text.get(self.at).copied()
    }

    fn expect(&mut self, c: u8) -> Result<(), String> {
        if self.peek() != Some(c) {
            return self.wrong(&format!("no {:?}", c as char));
        }
        self.at += 1;
        Ok(())
    }

    /// Whether a list goes on after an item.
    fn more(&mut self, end: u8) -> Result<bool, String> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(c) if c == end => {
                self.at += 1;
                Ok(false)
            }
            _ => self.wrong(&format!("neither ',' nor {:?}", end as char)),
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > DEPTH {
            return self.wrong("nested too deep");
        }
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                let mut fields = Vec::new();
                if self.peek() == Some(b'}') {
                    self.at += 1;
                    return Ok(Value::Object(fields));
                }
                loop {
                    self.expect(b'"')?;
                    let name = self.string()?;
                    self.expect(b':')?;
                    fields.push((name, self.value(depth + 1)?));
                    if !self.more(b'}')? {
                        return Ok(Value::Object(fields));
                    }
                }
            }
            Some(b'[') => {
                self.at += 1;
                let mut items = Vec::new();
                if self.peek() == Some(b']') {
                    self.at += 1;
                    return Ok(Value::Array(items));
                }
                loop {
                    items.push(self.value(depth + 1)?);
                    if !self.more(b']')? {
                        return Ok(Value::Array(items));
                    }
                }
            }
            Some(b'"') => {
                self.at += 1;
                Ok(Value::String(self.string()?))
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Value, String> {
        for (word, v) in [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("false", Value::Bool(false)),
        ] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(v);
            }
        }
        self.wrong("no value")
    }

    fn number(&mut self) -> Result<Value, String> {
        let from = self.at;
        while matches!(
            self.text.get(self.at),
            Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')
        ) {
            self.at += 1;
        }
        let digits = &self.text[from..self.at];
        let bare = digits.strip_prefix(b"-").unwrap_or(digits);
        let zeros = bare.len() > 1 && bare[0] == b'0' && bare[1].is_ascii_digit();
        let last = digits.last().map_or(false, u8::is_ascii_digit);
        let bare_point = !bare.first().map_or(false, u8::is_ascii_digit)
            || bare
                .windows(2)
                .any(|w| w[0] == b'.' && !w[1].is_ascii_digit());
        match core::str::from_utf8(digits)
            .ok()
            .and_then(|s| s.parse().ok())
        {
            Some(n) if last && !zeros && !bare_point => Ok(Value::Number(n)),
            _ => {
                self.at = from;
                self.wrong("no number")
            }
        }
    }

    /// The rest of a string whose opening quote was read.
    fn string(&mut self) -> Result<String, String> {
        let mut s = Vec::new();
        loop {
            let c = match self.text.get(self.at) {
                Some(&c) => c,
                None => return self.wrong("a string without an end"),
            };
            self.at += 1;
            match c {
                b'"' => return String::from_utf8(s).map_err(|e| format!("{}", e)),
                b'\\' => {
                    let c = self.escape()?;
                    s.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                0..=0x1f => return self.wrong("a control character in a string"),
                c => s.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let c = self.text.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        Ok(match c {
            b'"' | b'\\' | b'/' => c as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.hex()?;
                if (0xd800..0xdc00).contains(&high) && self.text[self.at..].starts_with(b"\\u") {
                    let back = self.at;
                    self.at += 2;
                    let low = self.hex()?;
                    if (0xdc00..0xe000).contains(&low) {
                        let c = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                        return Ok(char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                    self.at = back;
                }
                char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return self.wrong("an unknown escape"),
        })
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self
            .text
            .get(self.at..self.at + 4)
            .and_then(|d| core::str::from_utf8(d).ok());
        match digits {
            Some(d) if d.bytes().all(|b| b.is_ascii_hexdigit()) => {
                self.at += 4;
                Ok(u32::from_str_radix(d, 16).unwrap_or(0))
            }
            _ => self.wrong("no four hexadecimal digits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_parses_prints_the_same() {
        for text in [
            "null",
            "true",
            "false",
            "0",
            "-1.5",
            "1000",
            "\"\"",
            "[]",
            "{}",
            "[1,[2],{\"a\":null}]",
            "{\"a\":\"b\",\"c\":[true]}",
            "\"\\\"\\\\\\n\\t\\r\\u0001é😀\"",
        ] {
            assert_eq!(
                parse(text).map(|v| format!("{}", v)),
                Ok(String::from(text))
            );
        }
    }

    #[test]
    fn escapes_are_read() {
        let v = parse(r#" { "\u0041\ud83d\ude00\/\b\f" : "\ud800" , "e" : 1e3 } "#).unwrap();
        assert_eq!(
            v.get("A😀/\u{8}\u{c}").and_then(Value::as_str),
            Some("\u{fffd}")
        );
        assert_eq!(v.get("e").and_then(Value::as_f64), Some(1000.0));
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for (text, want) in [
            ("", "no value at byte 0"),
            ("nul", "no value at byte 0"),
            ("1 2", "something after the value at byte 2"),
            ("[1,]", "no value at byte 3"),
            ("[1 2]", "neither ',' nor ']' at byte 3"),
            ("{\"a\" 1}", "no ':' at byte 5"),
            ("{a:1}", "no '\"' at byte 1"),
            ("\"a", "a string without an end at byte 2"),
            ("\"\\x\"", "an unknown escape at byte 3"),
            ("\"\\u12\"", "no four hexadecimal digits at byte 3"),
            ("\"\n\"", "a control character in a string at byte 2"),
            ("01", "no number at byte 0"),
            ("-", "no number at byte 0"),
            ("1.", "no number at byte 0"),
            ("1.e3", "no number at byte 0"),
            ("-.5", "no number at byte 0"),
        ] {
            assert_eq!(parse(text), Err(String::from(want)), "{}", text);
        }
        assert!(parse(&"[".repeat(100_000))
            .unwrap_err()
            .starts_with("nested too deep"));
    }
}
