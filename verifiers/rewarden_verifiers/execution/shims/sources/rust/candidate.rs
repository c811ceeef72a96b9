// The candidate's side, for the modes `call` and `serve`.
use super::channel::{asked, end, message, receive, send};
use super::values::{bad, encoded, quoted, Decode, Encode, Fault, Json};
use std::panic::{catch_unwind, AssertUnwindSafe};

// A call's value, and the arguments that it changed.
pub struct Outcome {
    value: String,
    after: Vec<String>,
}

impl Outcome {
    pub fn new(value: String) -> Outcome {
        Outcome { value, after: Vec::new() }
    }

    pub fn argument<T: Encode + ?Sized>(&mut self, at: usize, before: String, now: &T) -> Result<(), Fault> {
        let now = encoded(now)?;
        if now != before {
            self.after.push(format!("\"{}\":{}", at, now));
        }
        Ok(())
    }
}

pub fn argument<T: Decode>(args: &[Json], at: usize, count: usize) -> Result<T, Fault> {
    if args.len() != count {
        return bad(&format!("another number of arguments: {}", args.len()));
    }
    T::decode(&args[at])
}

// Ends a call whose function returned an error.
pub fn raised<T>(fault: impl std::fmt::Debug) -> Result<T, Fault> {
    end(&format!("{{\"error\":\"Err\",\"message\":{}}}", quoted(&format!("{:?}", fault))), false)
}

// The program's function by its name.
type Called = fn(&str, &[Json]) -> Option<Result<Outcome, Fault>>;

fn called(function: Called, question: &Json, name: &str) -> Result<Result<Option<Outcome>, Fault>, String> {
    let run = || -> Result<Option<Outcome>, Fault> {
        function(question.at(name)?.text()?, question.at("args")?.list()?).transpose()
    };
    catch_unwind(AssertUnwindSafe(run)).map_err(|fault| message(&*fault))
}

pub fn call(function: Called) -> ! {
    let request = asked().unwrap_or(Json::Null);
    let (reply, good) = match called(function, &request, "target") {
        Ok(Ok(Some(outcome))) => (format!("{{\"value\":{}}}", outcome.value), true),
        Ok(Ok(None)) => {
            let target = request.at("target").and_then(Json::text).unwrap_or("?");
            (format!("{{\"missing\":{}}}", quoted(target)), false)
        }
        Ok(Err(Fault::Uncrossable(what))) => (format!("{{\"uncrossable\":{}}}", quoted(&what)), false),
        Ok(Err(Fault::Bad(what))) => (format!("{{\"error\":\"value\",\"message\":{}}}", quoted(&what)), false),
        Ok(Err(Fault::Lost)) => ("{\"error\":\"lost\",\"message\":\"\"}".to_string(), false),
        Err(panic) => (format!("{{\"error\":\"panic\",\"message\":{}}}", quoted(&panic)), false),
    };
    end(&reply, good)
}

fn answer(function: Called, question: &Json) -> String {
    match called(function, question, "name") {
        Ok(Ok(None)) => "\"is\":\"absent\"".to_string(),
        Ok(Ok(Some(outcome))) => {
            format!("\"is\":\"value\",\"value\":{},\"after\":{{{}}}", outcome.value, outcome.after.join(","))
        }
        Ok(Err(Fault::Uncrossable(what))) => format!("\"is\":\"uncrossable\",\"type\":{}", quoted(&what)),
        Ok(Err(Fault::Bad(what))) => format!("\"is\":\"raised\",\"type\":\"value\",\"message\":{}", quoted(&what)),
        Ok(Err(Fault::Lost)) => std::process::exit(0),
        Err(panic) => format!("\"is\":\"raised\",\"type\":\"panic\",\"message\":{}", quoted(&panic)),
    }
}

pub fn serve(function: Called) -> ! {
    let run = || -> Result<(), Fault> {
        send("{\"is\":\"loaded\"}")?;
        loop {
            let question = receive()?;
            let id = match question.at("id")? {
                Json::Number(word) => word,
                _ => return bad("not a number"),
            };
            match send(&format!("{{\"id\":{},{}}}", id, answer(function, &question))) {
                Err(Fault::Uncrossable(what)) => {
                    send(&format!("{{\"id\":{},\"is\":\"uncrossable\",\"type\":{}}}", id, quoted(&what)))?
                }
                other => other?,
            }
        }
    };
    std::process::exit(if matches!(run(), Err(Fault::Lost)) { 0 } else { 1 })
}
