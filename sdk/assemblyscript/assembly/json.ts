// Small JSON documents, such as a job's data.

/** The kinds of value. */
export enum Kind {
  Null,
  Bool,
  Number,
  Text,
  Array,
  Object,
}

/** A JSON value. Objects keep the order of their fields. */
export class Value {
  /** The numbers as they were written, so that none loses digits; text without its quotes; true or false. */
  private scalar: string = "";
  /** The names of an object's fields. */
  readonly names: string[] = [];
  /** What is in an array or an object. */
  readonly items: Value[] = [];

  constructor(readonly kind: Kind) {}

  static nothing(): Value {
    return new Value(Kind.Null);
  }

  static object(): Value {
    return new Value(Kind.Object);
  }

  static array(): Value {
    return new Value(Kind.Array);
  }

  static of(text: string): Value {
    return Value.scalar(Kind.Text, text);
  }

  static bool(b: bool): Value {
    return Value.scalar(Kind.Bool, b ? "true" : "false");
  }

  static number(n: f64): Value {
    if (!isFinite(n)) return Value.nothing();
    const s = n.toString();
    return Value.scalar(Kind.Number, s.endsWith(".0") ? s.slice(0, -2) : s);
  }

  static integer(n: i64): Value {
    return Value.scalar(Kind.Number, n.toString());
  }

  /** A value of one of the kinds that hold no others, as it is written. */
  static scalar(kind: Kind, written: string): Value {
    const v = new Value(kind);
    v.scalar = written;
    return v;
  }

  /** A field of an object; of fields with one name the last; null if there is none. */
  field(name: string): Value {
    for (let i = this.names.length - 1; i >= 0; i--) if (this.names[i] == name) return this.items[i];
    return Value.nothing();
  }

  /** Whether an object has a field. */
  has(name: string): bool {
    return this.names.includes(name);
  }

  /** Adds a field to an object, or replaces it, and returns the object. */
  set(name: string, value: Value): Value {
    const i = this.names.lastIndexOf(name);
    if (i >= 0) {
      this.items[i] = value;
    } else {
      this.names.push(name);
      this.items.push(value);
    }
    return this;
  }

  /** Adds an item to an array, and returns the array. */
  push(value: Value): Value {
    this.items.push(value);
    return this;
  }

  /** The text, or what to take if it is none. */
  text(otherwise: string = ""): string {
    return this.kind == Kind.Text ? this.scalar : otherwise;
  }

  /** The number, or what to take if it is none. */
  f64(otherwise: f64 = 0): f64 {
    return this.kind == Kind.Number ? F64.parseFloat(this.scalar) : otherwise;
  }

  /** The whole number, or what to take if it is none. */
  i64(otherwise: i64 = 0): i64 {
    if (this.kind != Kind.Number) return otherwise;
    const whole = this.scalar.indexOf(".") < 0 && this.scalar.indexOf("e") < 0 && this.scalar.indexOf("E") < 0;
    return whole ? I64.parseInt(this.scalar) : <i64>F64.parseFloat(this.scalar);
  }

  /** True or false, or what to take if it is neither. */
  isTrue(otherwise: bool = false): bool {
    return this.kind == Kind.Bool ? this.scalar == "true" : otherwise;
  }

  /** Whether it is the same value: numbers by what they are worth, objects whatever the order of their fields. */
  equals(v: Value): bool {
    if (this.kind != v.kind) return false;
    if (this.kind == Kind.Number) return this.scalar == v.scalar || this.f64() == v.f64();
    if (this.scalar != v.scalar || this.items.length != v.items.length) return false;
    for (let i = 0; i < this.items.length; i++) {
      if (this.kind == Kind.Object) {
        if (!v.has(this.names[i]) || !this.items[i].equals(v.field(this.names[i]))) return false;
      } else if (!this.items[i].equals(v.items[i])) {
        return false;
      }
    }
    return true;
  }

  /** The value as JSON, in one line. */
  toString(): string {
    const out: string[] = [];
    this.write(out);
    return out.join("");
  }

  private write(out: string[]): void {
    switch (this.kind) {
      case Kind.Null:
        out.push("null");
        break;
      case Kind.Text:
        out.push(quote(this.scalar));
        break;
      case Kind.Array:
      case Kind.Object:
        out.push(this.kind == Kind.Array ? "[" : "{");
        for (let i = 0; i < this.items.length; i++) {
          if (i > 0) out.push(",");
          if (this.kind == Kind.Object) out.push(quote(this.names[i]) + ":");
          this.items[i].write(out);
        }
        out.push(this.kind == Kind.Array ? "]" : "}");
        break;
      default:
        out.push(this.scalar);
    }
  }
}

function quote(s: string): string {
  const out: string[] = ['"'];
  let from = 0;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c >= 0x20 && c != 0x22 && c != 0x5c) continue;
    out.push(s.slice(from, i));
    out.push(c < 0x20 ? "\\u00" + (c < 0x10 ? "0" : "1") + (c & 0xf).toString(16) : "\\" + s.charAt(i));
    from = i + 1;
  }
  out.push(s.slice(from));
  out.push('"');
  return out.join("");
}

/** Reads JSON. */
export class JSON {
  /** The value, or null when the text is none. */
  static parse(text: string): Value | null {
    const p = new Parser(text);
    const v = p.value(0);
    if (p.failed || p.peek() != END) return null;
    return v;
  }
}

const END: i32 = -1;
const DEPTH: i32 = 128; // how deep values may be nested

class Parser {
  failed: bool = false;
  private i: i32 = 0;

  constructor(private text: string) {}

  /** The next character after white space. */
  peek(): i32 {
    while (this.i < this.text.length) {
      const c = this.text.charCodeAt(this.i);
      if (c != 0x20 && c != 0x09 && c != 0x0a && c != 0x0d) return c;
      this.i++;
    }
    return END;
  }

  private wrong(): Value {
    this.failed = true;
    return Value.nothing();
  }

  private take(c: i32): bool {
    if (this.peek() != c) return false;
    this.i++;
    return true;
  }

  value(depth: i32): Value {
    if (depth > DEPTH) return this.wrong();
    const c = this.peek();
    if (c == 0x7b || c == 0x5b) return this.many(c == 0x7b, depth);
    if (c == 0x22) return Value.scalar(Kind.Text, this.string());
    if (this.word("null")) return Value.nothing();
    if (this.word("true")) return Value.bool(true);
    if (this.word("false")) return Value.bool(false);
    return this.number();
  }

  private many(object: bool, depth: i32): Value {
    const v = object ? Value.object() : Value.array();
    const end: i32 = object ? 0x7d : 0x5d;
    this.i++;
    if (this.take(end)) return v;
    do {
      let name = "";
      if (object) {
        if (this.peek() != 0x22) return this.wrong();
        name = this.string();
        if (!this.take(0x3a)) return this.wrong();
      }
      const item = this.value(depth + 1);
      if (this.failed) return v;
      if (object) v.set(name, item);
      else v.push(item);
    } while (this.take(0x2c));
    return this.take(end) ? v : this.wrong();
  }

  private word(w: string): bool {
    if (!this.text.startsWith(w, this.i)) return false;
    this.i += w.length;
    return true;
  }

  private digits(): bool {
    const from = this.i;
    while (this.i < this.text.length) {
      const c = this.text.charCodeAt(this.i);
      if (c < 0x30 || c > 0x39) break;
      this.i++;
    }
    return this.i > from;
  }

  private number(): Value {
    const from = this.i;
    this.word("-");
    if (!this.word("0") && !this.digits()) return this.wrong();
    if (this.word(".") && !this.digits()) return this.wrong();
    if (this.word("e") || this.word("E")) {
      if (!this.word("+")) this.word("-");
      if (!this.digits()) return this.wrong();
    }
    return Value.scalar(Kind.Number, this.text.slice(from, this.i));
  }

  private string(): string {
    const out: string[] = [];
    let from = ++this.i;
    for (; this.i < this.text.length; this.i++) {
      const c = this.text.charCodeAt(this.i);
      if (c < 0x20) break;
      if (c != 0x22 && c != 0x5c) continue;
      out.push(this.text.slice(from, this.i));
      if (c == 0x22) {
        this.i++;
        return out.join("");
      }
      const escaped = this.escape();
      if (this.failed) return "";
      out.push(escaped);
      from = this.i + 1;
    }
    this.wrong();
    return "";
  }

  /** What an escape stands for; i is left at its last character. */
  private escape(): string {
    const c = this.text.charAt(++this.i);
    const k = 'bfnrt"\\/'.indexOf(c);
    if (c.length == 1 && k >= 0) return '\b\f\n\r\t"\\/'.charAt(k);
    const hex = this.text.slice(this.i + 1, this.i + 5);
    if (c != "u" || hex.length != 4) return this.wrong().text();
    let unit: i32 = 0;
    for (let j = 0; j < 4; j++) {
      const d = "0123456789abcdef".indexOf(hex.charAt(j).toLowerCase());
      if (d < 0) return this.wrong().text();
      unit = (unit << 4) | d;
    }
    this.i += 4;
    return String.fromCharCode(unit);
  }
}
