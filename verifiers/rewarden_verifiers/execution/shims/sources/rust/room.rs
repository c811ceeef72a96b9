// The tests' room: functions that ask the other room, and the report.
use super::channel::{asked, end, message, receive, send};
use super::values::{bad, encoded, quoted, Decode, Encode, Fault, Json};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, MutexGuard, PoisonError};

struct Room {
    nonce: String,
    shared: bool,
    writes_back: bool,
    uses: u64,
    changed: Vec<String>,
}

static ROOM: Mutex<Room> =
    Mutex::new(Room { nonce: String::new(), shared: false, writes_back: true, uses: 0, changed: Vec::new() });

fn room() -> MutexGuard<'static, Room> {
    ROOM.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Room {
    fn report(&self, outcome: &str, kind: &str, who: &str, said: &str) -> ! {
        let word = |text: &str| if text.is_empty() { "null".to_string() } else { quoted(text) };
        let changed = self.changed[..self.changed.len().min(1000)].join(",");
        let behind = if changed.is_empty() { changed } else { format!("\"argument_mutated\":[{}]", changed) };
        let report = format!(
            "{{\"done\":true,\"outcome\":\"{}\",\"kind\":{},\"who\":{},\"message\":{},\"nonce\":{},\"tests\":{{}},\
             \"calls\":{},\"provenance\":{{{}}}}}",
            outcome,
            word(kind),
            word(who),
            quoted(said),
            quoted(&self.nonce),
            self.uses,
            behind
        );
        end(&report, outcome == "passed")
    }

    // The candidate's fault; the process ends here, so that no test can catch it.
    fn fail(&self, kind: &str, said: &str) -> ! {
        self.report("failed", kind, "candidate", said)
    }

    fn blame(&self, fault: Fault) -> ! {
        match fault {
            Fault::Lost => self.fail("candidate_lost", "the candidate's process ended"),
            Fault::Bad(what) => self.fail("bad_frame", &what),
            Fault::Uncrossable(what) => {
                self.report("error", "unsupported", "tests", &format!("an argument cannot cross: {}", what))
            }
        }
    }

    fn begin(&mut self) -> Result<(), Fault> {
        let options = asked()?;
        self.nonce = options.at("nonce")?.text()?.to_string();
        self.shared = options.find("shared") == Some(&Json::Bool(true));
        self.writes_back = options.find("writes_back") != Some(&Json::Bool(false));
        if !self.shared && receive()?.at("is")?.text()? != "loaded" {
            return bad("the first frame is no greeting");
        }
        Ok(())
    }
}

// The end of test code: nothing, or a Result.
pub trait Ended {
    fn failure(self) -> Option<String>;
}

impl Ended for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<T, E: std::fmt::Debug> Ended for Result<T, E> {
    fn failure(self) -> Option<String> {
        self.err().map(|fault| format!("{:?}", fault))
    }
}

// Runs test code, and reports.
pub fn run<E: Ended>(main: fn() -> E) -> ! {
    let begun = room().begin();
    if let Err(fault) = begun {
        room().blame(fault);
    }
    let failure = match catch_unwind(AssertUnwindSafe(main)) {
        Ok(ended) => ended.failure(),
        Err(fault) => Some(message(&*fault)),
    };
    let room = room();
    let unused = room.uses == 0 && !room.shared;
    match failure {
        Some(said) if unused => room.report("error", "test_code", "tests", &said),
        Some(said) if said.starts_with("assertion") => room.fail("assertion", &said),
        Some(said) => room.fail("exception", &said),
        None if unused => room.report("error", "test_code", "tests", "the test code never used the candidate"),
        None => room.report("passed", "", "", ""),
    }
}

pub fn passed<T: Encode + ?Sized>(value: &T) -> String {
    encoded(value).unwrap_or_else(|fault| room().blame(fault))
}

// Returns the other room's answer. Panics where the candidate did.
pub fn ask(name: &str, args: &[String]) -> Json {
    let mut room = room();
    room.uses += 1;
    let exchange = |number: u64| -> Result<Json, Fault> {
        send(&format!(
            "{{\"op\":\"call\",\"of\":0,\"id\":{},\"name\":{},\"args\":[{}],\"kwargs\":{{}},\"capture\":false}}",
            number,
            quoted(name),
            args.join(",")
        ))?;
        let answer = receive()?;
        if answer.at("id")? != &Json::Number(number.to_string()) {
            return bad("an answer to another question");
        }
        match answer.at("is")?.text()? {
            "value" => answer.at("value").map(|_| ())?,
            "uncrossable" => answer.at("type")?.text().map(|_| ())?,
            "raised" => answer.at("message")?.text().map(|_| ())?,
            _ => return bad("no such answer"),
        }
        Ok(answer)
    };
    let answer = exchange(room.uses).unwrap_or_else(|fault| room.blame(fault));
    let said = |name: &str| answer.find(name).and_then(|word| word.text().ok()).unwrap_or("").to_string();
    match said("is").as_str() {
        "uncrossable" => room.fail("uncrossable_value", &format!("a value cannot cross: {}", said("type"))),
        "raised" => {
            drop(room);
            panic!("{}: {}", said("type"), said("message"));
        }
        _ => {}
    }
    if matches!(answer.find("after"), Some(Json::Object(after)) if !after.is_empty()) {
        let number = room.uses.to_string();
        room.changed.push(number);
    }
    answer
}

pub fn answered<T: Decode>(answer: &Json) -> T {
    answer.at("value").and_then(T::decode).unwrap_or_else(|fault| room().blame(fault))
}

// What an argument behind `&mut` becomes.
pub trait Place {
    fn put(&mut self, json: &Json) -> Result<(), Fault>;
}

impl<T: Decode> Place for T {
    fn put(&mut self, json: &Json) -> Result<(), Fault> {
        T::decode(json).map(|now| *self = now)
    }
}

impl<T: Decode> Place for [T] {
    fn put(&mut self, json: &Json) -> Result<(), Fault> {
        let now = Vec::<T>::decode(json)?;
        if now.len() != self.len() {
            return bad("an array of another size");
        }
        self.iter_mut().zip(now).for_each(|(old, now)| *old = now);
        Ok(())
    }
}

pub fn changed<T: Place + ?Sized>(answer: &Json, at: usize, place: &mut T) {
    let now = answer.find("after").and_then(|after| after.find(&at.to_string()));
    if let (Some(now), true) = (now, room().writes_back) {
        place.put(now).unwrap_or_else(|fault| room().blame(fault));
    }
}
