// Tagged JSON (docs/tagged-codec.md): values are read as the declared types.
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::fmt::Write;
use std::hash::Hash;
use std::rc::Rc;

pub const MOST_BYTES: usize = 8 << 20;
const MOST_DEPTH: usize = 100;

pub enum Fault {
    Bad(String),
    Uncrossable(String),
    Lost,
}

pub fn bad<T>(message: &str) -> Result<T, Fault> {
    Err(Fault::Bad(message.to_string()))
}

#[derive(Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn find(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(fields) => fields.iter().find(|field| field.0 == name).map(|field| &field.1),
            _ => None,
        }
    }

    pub fn at(&self, name: &str) -> Result<&Json, Fault> {
        self.find(name).map_or_else(|| bad("a field is missing"), Ok)
    }

    pub fn text(&self) -> Result<&str, Fault> {
        match self {
            Json::Text(word) => Ok(word),
            _ => bad("not a text"),
        }
    }

    pub fn list(&self) -> Result<&[Json], Fault> {
        match self {
            Json::Array(items) => Ok(items),
            _ => bad("not an array"),
        }
    }

    fn tagged(&self) -> Result<(&str, &Json), Fault> {
        match self {
            Json::Object(fields) if fields.len() == 1 => Ok((&fields[0].0, &fields[0].1)),
            _ => bad("not a value"),
        }
    }

    fn items(&self) -> Result<&[Json], Fault> {
        match self.tagged()? {
            ("l" | "t" | "s" | "frozenset", payload) => payload.list(),
            _ => bad("not a list"),
        }
    }
}

pub fn parse(data: Vec<u8>) -> Result<Json, Fault> {
    if data.len() > MOST_BYTES {
        return bad("too many bytes");
    }
    let text = String::from_utf8(data).or_else(|_| bad("not UTF-8"))?;
    let mut reader = Reader { text: &text, at: 0 };
    let found = reader.value(0)?;
    match (reader.next(), &found) {
        (None, Json::Object(_)) => Ok(found),
        _ => bad("not an object"),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() && b" \t\r\n".contains(&bytes[self.at]) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn take(&mut self, wanted: u8) -> bool {
        let found = self.next() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn need(&mut self, wanted: u8) -> Result<(), Fault> {
        if self.take(wanted) {
            Ok(())
        } else {
            bad("not JSON")
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, Fault> {
        if depth > 4 * MOST_DEPTH {
            return bad("nested too deep");
        }
        if self.take(b'{') {
            let mut fields = Vec::new();
            while !self.take(b'}') {
                if !fields.is_empty() {
                    self.need(b',')?;
                }
                self.next();
                let name = self.string()?;
                self.need(b':')?;
                fields.push((name, self.value(depth + 1)?));
            }
            return Ok(Json::Object(fields));
        }
        if self.take(b'[') {
            let mut items = Vec::new();
            while !self.take(b']') {
                if !items.is_empty() {
                    self.need(b',')?;
                }
                items.push(self.value(depth + 1)?);
            }
            return Ok(Json::Array(items));
        }
        if self.next() == Some(b'"') {
            return self.string().map(Json::Text);
        }
        let rest = &self.text[self.at..];
        let word = &rest[..rest.find(|sign: char| ",]} \t\r\n".contains(sign)).unwrap_or(rest.len())];
        self.at += word.len();
        match word {
            "null" => Ok(Json::Null),
            "true" => Ok(Json::Bool(true)),
            "false" => Ok(Json::Bool(false)),
            _ if !word.is_empty() && word.bytes().all(|sign| b"+-.0123456789eE".contains(&sign)) => {
                Ok(Json::Number(word.to_string()))
            }
            _ => bad("not JSON"),
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        self.need(b'"')?;
        let mut units: Vec<u16> = Vec::new();
        let mut made = String::new();
        let mut signs = self.text[self.at..].char_indices();
        loop {
            let (place, sign) = signs.next().map_or_else(|| bad("not JSON"), Ok)?;
            let mut escaped = None;
            if sign == '\\' {
                escaped = signs.next().map(|found| found.1);
                if escaped == Some('u') {
                    let digits: String = signs.by_ref().take(4).map(|found| found.1).collect();
                    if digits.len() != 4 || digits.contains('+') {
                        return bad("not JSON");
                    }
                    units.push(u16::from_str_radix(&digits, 16).or_else(|_| bad("not JSON"))?);
                    continue;
                }
            }
            made += &String::from_utf16(&units).or_else(|_| bad("half of a pair"))?;
            units.clear();
            match (sign, escaped) {
                ('"', _) => {
                    self.at += place + 1;
                    return Ok(made);
                }
                ('\\', Some('b')) => made.push('\u{8}'),
                ('\\', Some('f')) => made.push('\u{c}'),
                ('\\', Some('n')) => made.push('\n'),
                ('\\', Some('r')) => made.push('\r'),
                ('\\', Some('t')) => made.push('\t'),
                ('\\', Some(known)) if "\"\\/".contains(known) => made.push(known),
                ('\\', _) => return bad("not JSON"),
                _ => made.push(sign),
            }
        }
    }
}

pub fn quote(out: &mut String, text: &str) {
    out.push('"');
    for sign in text.chars() {
        match sign {
            '"' | '\\' => {
                out.push('\\');
                out.push(sign);
            }
            ' '..='~' => out.push(sign),
            _ => {
                for unit in sign.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{:04x}", unit);
                }
            }
        }
    }
    out.push('"');
}

pub fn quoted(text: &str) -> String {
    let mut out = String::new();
    quote(&mut out, text);
    out
}

// --- values

pub trait Encode {
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault>;
}

pub trait Decode: Sized {
    fn decode(json: &Json) -> Result<Self, Fault>;

    // JSON has texts as keys only.
    fn key(json: &Json) -> Result<Self, Fault> {
        Self::decode(json)
    }

    // A value for null, where the type is one of an Option.
    fn absent(json: &Json) -> bool {
        *json == Json::Null
    }
}

pub fn encoded<T: Encode + ?Sized>(value: &T) -> Result<String, Fault> {
    let mut out = String::new();
    value.encode(&mut out, 0)?;
    if out.len() > MOST_BYTES {
        return Err(Fault::Uncrossable("too many bytes".to_string()));
    }
    Ok(out)
}

fn all<'a, T: Encode + 'a>(
    out: &mut String,
    tag: &str,
    items: impl Iterator<Item = &'a T>,
    depth: usize,
) -> Result<(), Fault> {
    if depth >= MOST_DEPTH {
        return Err(Fault::Uncrossable("nested too deep".to_string()));
    }
    let _ = write!(out, "{{\"{}\":[", tag);
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(',');
        }
        item.encode(out, depth + 1)?;
        if out.len() > MOST_BYTES {
            return Err(Fault::Uncrossable("too many bytes".to_string()));
        }
    }
    out.push_str("]}");
    Ok(())
}

fn integer(json: &Json) -> Result<(bool, u128), Fault> {
    let (tag, payload) = json.tagged()?;
    let word = payload.text()?;
    if tag == "f" {
        let found = real(word)?;
        if found.trunc() != found || found.abs() > 9e15 {
            return bad("not an integer");
        }
        return Ok((found < 0.0, found.abs() as u128));
    }
    let digits = word.strip_prefix('-').unwrap_or(word);
    if tag != "i" || digits.starts_with('+') {
        return bad("not an integer");
    }
    match u128::from_str_radix(digits, 16) {
        Ok(found) => Ok((digits.len() < word.len(), found)),
        Err(_) => bad("an integer that does not fit"),
    }
}

macro_rules! integers {
    ($($kind:ty: $size:expr),*) => {$(
        impl Encode for $kind {
            fn encode(&self, out: &mut String, _: usize) -> Result<(), Fault> {
                let sign = if self.to_string().starts_with('-') { "-" } else { "" };
                let _ = write!(out, "{{\"i\":\"{}{:x}\"}}", sign, $size(*self));
                Ok(())
            }
        }
        impl Decode for $kind {
            fn decode(json: &Json) -> Result<Self, Fault> {
                let (negative, size) = integer(json)?;
                let found = if negative {
                    i128::try_from(size).ok().and_then(|size| <$kind>::try_from(-size).ok())
                } else {
                    <$kind>::try_from(size).ok()
                };
                found.map_or_else(|| bad("an integer that does not fit"), Ok)
            }
            fn key(json: &Json) -> Result<Self, Fault> {
                match json {
                    Json::Text(word) => word.parse().or_else(|_| bad("not a key")),
                    _ => Self::decode(json),
                }
            }
        }
    )*};
}
integers!(
    i8: i8::unsigned_abs, i16: i16::unsigned_abs, i32: i32::unsigned_abs, i64: i64::unsigned_abs,
    i128: i128::unsigned_abs, isize: isize::unsigned_abs, u8: u8::from, u16: u16::from, u32: u32::from, u64: u64::from,
    u128: u128::from, usize: usize::from
);

fn real(word: &str) -> Result<f64, Fault> {
    match word {
        "nan" => return Ok(f64::NAN),
        "inf" => return Ok(f64::INFINITY),
        "-inf" => return Ok(f64::NEG_INFINITY),
        _ => {}
    }
    let sized = word.strip_prefix('-').unwrap_or(word);
    let parts = sized.strip_prefix("0x").and_then(|rest| rest.split_once('p'));
    let (digits, power) = parts.map_or_else(|| bad("not a number"), Ok)?;
    let (above, below) = digits.split_once('.').unwrap_or((digits, ""));
    let size = u64::from_str_radix(&format!("{}{}", above, below), 16);
    match (size, power.parse::<i32>()) {
        (Ok(size), Ok(power)) if power.abs() < 2000 && digits.len() < 16 => {
            let power = power - 4 * below.len() as i32;
            let found = size as f64 * 2f64.powi(power / 2) * 2f64.powi(power - power / 2);
            Ok(if sized.len() < word.len() { -found } else { found })
        }
        _ => bad("not a number"),
    }
}

impl Encode for f64 {
    fn encode(&self, out: &mut String, _: usize) -> Result<(), Fault> {
        let bits = self.to_bits();
        let sign = if self.is_sign_negative() { "-" } else { "" };
        let (power, rest) = ((bits >> 52 & 0x7ff) as i64, bits & ((1 << 52) - 1));
        let word = if self.is_nan() {
            "nan".to_string()
        } else if self.is_infinite() {
            format!("{}inf", sign)
        } else if power == 0 && rest == 0 {
            format!("{}0x0.0p+0", sign)
        } else if power == 0 {
            format!("{}0x0.{:013x}p-1022", sign, rest)
        } else {
            format!("{}0x1.{:013x}p{:+}", sign, rest, power - 1023)
        };
        let _ = write!(out, "{{\"f\":\"{}\"}}", word);
        Ok(())
    }
}

impl Decode for f64 {
    fn decode(json: &Json) -> Result<Self, Fault> {
        match json.tagged()? {
            ("f", payload) => real(payload.text()?),
            _ => integer(json).map(|(negative, size)| if negative { -(size as f64) } else { size as f64 }),
        }
    }
}

impl Encode for f32 {
    // The shortest decimal that names this float: 0.1f32 is 0.1, and not 0.10000000149.
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
        self.to_string().parse::<f64>().unwrap_or(f64::from(*self)).encode(out, depth)
    }
}

impl Decode for f32 {
    fn decode(json: &Json) -> Result<Self, Fault> {
        f64::decode(json).map(|found| found as f32)
    }
}

impl Encode for bool {
    fn encode(&self, out: &mut String, _: usize) -> Result<(), Fault> {
        out.push_str(if *self { "true" } else { "false" });
        Ok(())
    }
}

impl Decode for bool {
    fn decode(json: &Json) -> Result<Self, Fault> {
        match json {
            Json::Bool(found) => Ok(*found),
            _ => bad("not a truth value"),
        }
    }
}

impl Encode for () {
    fn encode(&self, out: &mut String, _: usize) -> Result<(), Fault> {
        out.push_str("null");
        Ok(())
    }
}

impl Decode for () {
    fn decode(json: &Json) -> Result<Self, Fault> {
        match json {
            Json::Null => Ok(()),
            _ => bad("a value where none is"),
        }
    }
}

impl Encode for str {
    fn encode(&self, out: &mut String, _: usize) -> Result<(), Fault> {
        quote(out, self);
        Ok(())
    }
}

impl Encode for String {
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
        self.as_str().encode(out, depth)
    }
}

impl Decode for String {
    fn decode(json: &Json) -> Result<Self, Fault> {
        json.text().map(str::to_string)
    }
}

impl Encode for char {
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
        self.to_string().encode(out, depth)
    }
}

impl Decode for char {
    fn decode(json: &Json) -> Result<Self, Fault> {
        let mut signs = json.text()?.chars();
        match (signs.next(), signs.next()) {
            (Some(only), None) => Ok(only),
            _ => bad("not a character"),
        }
    }
}

impl<T: Encode + ?Sized> Encode for &T {
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
        (**self).encode(out, depth)
    }
}

impl<T: Encode + ?Sized> Encode for &mut T {
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
        (**self).encode(out, depth)
    }
}

// An argument lives as long as the program.
impl<'a, T: Decode> Decode for &'a T {
    fn decode(json: &Json) -> Result<Self, Fault> {
        T::decode(json).map(|found| &*Box::leak(Box::new(found)))
    }
}

impl<'a> Decode for &'a str {
    fn decode(json: &Json) -> Result<Self, Fault> {
        String::decode(json).map(|found| &*Box::leak(found.into_boxed_str()))
    }
}

impl<'a, T: Decode> Decode for &'a [T] {
    fn decode(json: &Json) -> Result<Self, Fault> {
        Vec::decode(json).map(|found| &*Box::leak(found.into_boxed_slice()))
    }
}

impl<T: Encode> Encode for [T] {
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
        all(out, "l", self.iter(), depth)
    }
}

impl<T: Encode, const SIZE: usize> Encode for [T; SIZE] {
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
        all(out, "l", self.iter(), depth)
    }
}

impl<T: Decode, const SIZE: usize> Decode for [T; SIZE] {
    fn decode(json: &Json) -> Result<Self, Fault> {
        Vec::decode(json)?.try_into().or_else(|_| bad("an array of another size"))
    }
}

macro_rules! sequences {
    ($($kind:ident $tag:literal $($bound:path),*;)*) => {$(
        impl<T: Encode> Encode for $kind<T> {
            fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
                all(out, $tag, self.iter(), depth)
            }
        }
        impl<T: Decode $(+ $bound)*> Decode for $kind<T> {
            fn decode(json: &Json) -> Result<Self, Fault> {
                json.items()?.iter().map(T::decode).collect()
            }
        }
    )*};
}
sequences! { Vec "l"; VecDeque "l"; HashSet "s" Eq, Hash; BTreeSet "s" Ord; }

macro_rules! dictionaries {
    ($($kind:ident $($bound:path),*;)*) => {$(
        impl<K: Encode, V: Encode> Encode for $kind<K, V> {
            fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
                if depth >= MOST_DEPTH {
                    return Err(Fault::Uncrossable("nested too deep".to_string()));
                }
                let mut pairs = Vec::new();
                for (key, value) in self {
                    let mut pair = String::from("[");
                    key.encode(&mut pair, depth + 1)?;
                    pair.push(',');
                    value.encode(&mut pair, depth + 1)?;
                    pair.push(']');
                    pairs.push(pair);
                }
                pairs.sort(); // a dictionary that did not change is written alike
                let _ = write!(out, "{{\"d\":[{}]}}", pairs.join(","));
                Ok(())
            }
        }
        impl<K: Decode $(+ $bound)*, V: Decode> Decode for $kind<K, V> {
            fn decode(json: &Json) -> Result<Self, Fault> {
                let (tag, payload) = json.tagged()?;
                if tag != "d" {
                    return bad("not a dictionary");
                }
                let pairs = payload.list()?.iter().map(|pair| match pair.list()? {
                    [key, value] => Ok((K::key(key)?, V::decode(value)?)),
                    _ => bad("not a pair"),
                });
                pairs.collect()
            }
        }
    )*};
}
dictionaries! { HashMap Eq, Hash; BTreeMap Ord; }

macro_rules! tuples {
    ($($size:literal: $($kind:ident $at:tt),*;)*) => {$(
        impl<$($kind: Encode),*> Encode for ($($kind,)*) {
            fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
                if depth >= MOST_DEPTH {
                    return Err(Fault::Uncrossable("nested too deep".to_string()));
                }
                out.push_str("{\"t\":[");
                $(
                    if $at > 0 {
                        out.push(',');
                    }
                    self.$at.encode(out, depth + 1)?;
                )*
                out.push_str("]}");
                Ok(())
            }
        }
        impl<$($kind: Decode),*> Decode for ($($kind,)*) {
            fn decode(json: &Json) -> Result<Self, Fault> {
                let items = json.items()?;
                if items.len() != $size {
                    return bad("a tuple of another size");
                }
                Ok(($($kind::decode(&items[$at])?,)*))
            }
        }
    )*};
}
tuples! {
    1: A 0;
    2: A 0, B 1;
    3: A 0, B 1, C 2;
    4: A 0, B 1, C 2, D 3;
    5: A 0, B 1, C 2, D 3, E 4;
    6: A 0, B 1, C 2, D 3, E 4, F 5;
    7: A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
}

impl<T: Encode> Encode for Option<T> {
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
        match self {
            Some(value) => value.encode(out, depth),
            None => ().encode(out, depth),
        }
    }
}

impl<T: Decode> Decode for Option<T> {
    fn decode(json: &Json) -> Result<Self, Fault> {
        if T::absent(json) {
            return Ok(None);
        }
        T::decode(json).map(Some)
    }
}

// Between two rooms only.
impl<T: Encode, E: Encode> Encode for Result<T, E> {
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
        out.push_str(if self.is_ok() { "{\"ok\":" } else { "{\"err\":" });
        match self {
            Ok(value) => value.encode(out, depth + 1)?,
            Err(value) => value.encode(out, depth + 1)?,
        }
        out.push('}');
        Ok(())
    }
}

impl<T: Decode, E: Decode> Decode for Result<T, E> {
    fn decode(json: &Json) -> Result<Self, Fault> {
        match json.tagged()? {
            ("ok", value) => T::decode(value).map(Ok),
            ("err", value) => E::decode(value).map(Err),
            _ => bad("not a result"),
        }
    }
}

macro_rules! holders {
    ($($kind:ident $made:expr;)*) => {$(
        impl<T: Encode + ?Sized> Encode for $kind<T> {
            fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
                (**self).encode(out, depth)
            }
        }
        impl<T: Decode> Decode for $kind<T> {
            fn decode(json: &Json) -> Result<Self, Fault> {
                T::decode(json).map($made)
            }
            fn absent(json: &Json) -> bool {
                T::absent(json)
            }
        }
    )*};
}
holders! { Box Box::new; Rc Rc::new; }

impl<T: Encode> Encode for RefCell<T> {
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
        self.borrow().encode(out, depth)
    }
}

impl<T: Decode> Decode for RefCell<T> {
    fn decode(json: &Json) -> Result<Self, Fault> {
        T::decode(json).map(RefCell::new)
    }
    fn absent(json: &Json) -> bool {
        T::absent(json)
    }
}
