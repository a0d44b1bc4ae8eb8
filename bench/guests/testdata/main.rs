// The guest of the comparison, in Rust. It reads {"do":…,"n":…} and prints {"result":…}.
use std::fmt::Write as _;
use std::io::Read;

struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1664525).wrapping_add(1013904223);
        self.0
    }
}

fn sorted(n: usize) -> String {
    let mut r = Random(1);
    let mut v: Vec<u32> = (0..n).map(|_| r.next()).collect();
    v.sort_unstable();
    v.iter().fold(0u32, |sum, x| sum.wrapping_mul(31).wrapping_add(*x)).to_string()
}

const CONSTANTS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

fn compress(h: &mut [u32; 8], p: &[u8]) {
    let mut w = [0u32; 64];
    for (i, c) in p.chunks_exact(4).enumerate() {
        w[i] = u32::from_be_bytes([c[0], c[1], c[2], c[3]]);
    }
    for i in 16..64 {
        let a = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ w[i - 15] >> 3;
        let b = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16].wrapping_add(w[i - 7]).wrapping_add(a).wrapping_add(b);
    }
    let mut s = *h;
    for i in 0..64 {
        let e = s[4].rotate_right(6) ^ s[4].rotate_right(11) ^ s[4].rotate_right(25);
        let choice = (s[4] & s[5]) ^ (!s[4] & s[6]);
        let a = s[7].wrapping_add(e).wrapping_add(choice).wrapping_add(CONSTANTS[i]).wrapping_add(w[i]);
        let f = s[0].rotate_right(2) ^ s[0].rotate_right(13) ^ s[0].rotate_right(22);
        let majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        s.copy_within(0..7, 1);
        s[4] = s[4].wrapping_add(a);
        s[0] = a.wrapping_add(f.wrapping_add(majority));
    }
    for i in 0..8 {
        h[i] = h[i].wrapping_add(s[i]);
    }
}

// For a length that is a multiple of 64.
fn hash(p: &[u8]) -> [u8; 32] {
    let mut h = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
    for block in p.chunks_exact(64) {
        compress(&mut h, block);
    }
    let mut last = [0u8; 64];
    last[0] = 0x80;
    last[56..].copy_from_slice(&(p.len() as u64 * 8).to_be_bytes());
    compress(&mut h, &last);
    let mut out = [0u8; 32];
    for (i, x) in h.iter().enumerate() {
        out[4 * i..4 * i + 4].copy_from_slice(&x.to_be_bytes());
    }
    out
}

fn hashed(n: usize) -> String {
    let mut r = Random(1);
    let mut block: Vec<u8> = (0..1 << 20).map(|_| (r.next() >> 24) as u8).collect();
    for _ in 0..n {
        let digest = hash(&block);
        block[..32].copy_from_slice(&digest);
    }
    block[..32].iter().map(|b| format!("{:02x}", b)).collect()
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    sum: u64, // of the numbers, and of one for each true
}

impl Parser<'_> {
    fn expect(&mut self, c: u8) {
        assert_eq!(self.text[self.at], c);
        self.at += 1;
    }

    fn string(&mut self) -> String {
        self.expect(b'"');
        let mut s = Vec::new();
        while self.text[self.at] != b'"' {
            if self.text[self.at] == b'\\' {
                self.at += 1;
            }
            s.push(self.text[self.at]);
            self.at += 1;
        }
        self.at += 1;
        String::from_utf8(s).unwrap()
    }

    fn value(&mut self) {
        match self.text[self.at] {
            b'{' => {
                while self.text[self.at] != b'}' {
                    self.at += 1;
                    self.string();
                    self.expect(b':');
                    self.value();
                }
                self.at += 1;
            }
            b'[' => {
                while self.text[self.at] != b']' {
                    self.at += 1;
                    self.value();
                }
                self.at += 1;
            }
            b'"' => {
                self.string();
            }
            b't' => {
                self.sum += 1;
                self.at += "true".len();
            }
            b'f' => self.at += "false".len(),
            _ => {
                let mut number = 0u64;
                while self.text[self.at].is_ascii_digit() {
                    number = number * 10 + u64::from(self.text[self.at] - b'0');
                    self.at += 1;
                }
                self.sum += number;
            }
        }
    }
}

fn parsed(n: usize) -> String {
    let mut r = Random(1);
    let mut text = String::from("[");
    for i in 0..n {
        let (a, b, c) = (r.next(), r.next(), r.next());
        let comma = if i > 0 { "," } else { "" };
        write!(text, "{}{{\"id\":{},\"name\":\"job \\\"{}\\\"\",\"values\":[{},{},{}],\"ok\":{}}}", comma, i, i, a, b, c, i % 2 == 0).unwrap();
    }
    text.push(']');
    let mut p = Parser { text: text.as_bytes(), at: 0, sum: 0 };
    p.value();
    p.sum.to_string()
}

fn main() {
    let mut request = String::new();
    std::io::stdin().read_to_string(&mut request).unwrap();
    let asked = |what: &str| request.contains(&format!("\"do\":\"{}\"", what));
    let n: usize = match request.split("\"n\":").nth(1) {
        Some(rest) => rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap(),
        None => 0,
    };
    let result = if asked("hello") {
        String::from("hello")
    } else if asked("sort") {
        sorted(n)
    } else if asked("sha256") {
        hashed(n)
    } else if asked("json") {
        parsed(n)
    } else {
        std::process::exit(1)
    };
    println!("{{\"result\":\"{}\"}}", result);
}
