// Runs the tests of a test file, and reports. Nothing of it outlives `run`, so that the candidate finds no nonce.
use super::channel::{asked, end, message};
use super::room::Ended;
use super::values::{quoted, Json};
use std::panic::{catch_unwind, AssertUnwindSafe};

pub struct Test {
    name: &'static str,
    run: Box<dyn FnOnce() -> Option<String>>,
    panics: Option<&'static str>,
    ignored: bool,
}

// A test function. panics: a part of the message of the panic with which it has to end.
pub fn test<E: Ended + 'static>(name: &'static str, run: fn() -> E, panics: Option<&'static str>, ignored: bool) -> Test {
    Test { name, run: Box::new(move || run().failure()), panics, ignored }
}

fn ended(run: Box<dyn FnOnce() -> Option<String>>, panics: Option<&'static str>) -> Option<String> {
    match (catch_unwind(AssertUnwindSafe(run)), panics) {
        (Ok(failure), None) => failure,
        (Ok(_), Some(_)) => Some("it did not panic".to_string()),
        (Err(fault), None) => Some(message(&*fault)),
        (Err(fault), Some(part)) if message(&*fault).contains(part) => None,
        (Err(fault), Some(_)) => Some(format!("another panic: {}", message(&*fault))),
    }
}

pub fn run(tests: Vec<Test>) -> ! {
    let options = asked().ok();
    let nonce = options.as_ref().and_then(|found| found.find("nonce")).and_then(|found| found.text().ok());
    let nonce = match nonce {
        Some(nonce) => nonce.to_string(),
        None => end("", false), // called by the candidate
    };
    let expected: Vec<String> = match options.as_ref().and_then(|found| found.find("expect")) {
        Some(Json::Array(names)) => names.iter().filter_map(|name| name.text().ok()).map(str::to_string).collect(),
        _ => Vec::new(),
    };
    let mut outcomes = Vec::new();
    let mut said = String::new();
    let mut assertion = false;
    for test in tests {
        if !expected.iter().any(|name| name == test.name) {
            continue;
        }
        let failure = if test.ignored { None } else { ended(test.run, test.panics) };
        let outcome = if test.ignored { "skipped" } else if failure.is_some() { "failed" } else { "passed" };
        outcomes.push(format!("{}:{}", quoted(test.name), quoted(outcome)));
        if outcome != "passed" && said.is_empty() {
            let failure = failure.unwrap_or_else(|| "skipped".to_string());
            assertion = failure.starts_with("assertion");
            said = format!("{}: {}", test.name, failure);
        }
    }
    let passed = said.is_empty() && outcomes.len() == expected.len();
    let kind = if passed { "null" } else if assertion { "\"assertion\"" } else { "\"no_pass\"" };
    let report = format!(
        "{{\"done\":true,\"outcome\":\"{}\",\"kind\":{},\"who\":\"candidate\",\"message\":{},\"nonce\":{},\"tests\":{{{}}},\
         \"calls\":0,\"provenance\":{{}}}}",
        if passed { "passed" } else { "failed" },
        kind,
        quoted(&said),
        quoted(&nonce),
        outcomes.join(",")
    );
    end(&report, passed)
}
