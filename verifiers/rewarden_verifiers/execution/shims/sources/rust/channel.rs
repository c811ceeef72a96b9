// The descriptors that the sandbox opens: a channel of frames (3), and the reply or the report (4).
use super::values::{bad, parse, Fault, Json, MOST_BYTES};
use std::fs::File;
use std::io::{Read, Write};
use std::mem::ManuallyDrop;
use std::os::unix::io::FromRawFd;

fn descriptor(number: i32) -> ManuallyDrop<File> {
    ManuallyDrop::new(unsafe { File::from_raw_fd(number) })
}

pub fn send(body: &str) -> Result<(), Fault> {
    if body.len() > MOST_BYTES {
        return Err(Fault::Uncrossable("too many bytes".to_string()));
    }
    let mut frame = (body.len() as u32).to_be_bytes().to_vec();
    frame.extend_from_slice(body.as_bytes());
    descriptor(3).write_all(&frame).map_err(|_| Fault::Lost)
}

pub fn receive() -> Result<Json, Fault> {
    let mut size = [0; 4];
    descriptor(3).read_exact(&mut size).map_err(|_| Fault::Lost)?;
    let size = u32::from_be_bytes(size) as usize;
    if size > MOST_BYTES {
        return bad("a frame longer than the limit");
    }
    let mut body = vec![0; size];
    descriptor(3).read_exact(&mut body).map_err(|_| Fault::Lost)?;
    parse(body)
}

// The request or the options. Attack: read the options again, with the nonce.
pub fn asked() -> Result<Json, Fault> {
    let mut data = Vec::new();
    unsafe { File::from_raw_fd(0) }.read_to_end(&mut data).map_err(|_| Fault::Lost)?;
    std::mem::forget(File::open("/dev/null"));
    parse(data)
}

pub fn end(said: &str, good: bool) -> ! {
    let _ = std::io::stdout().flush();
    let written = descriptor(4).write_all(said.as_bytes()).is_ok();
    std::process::exit(if good && written { 0 } else { 1 })
}

// The message of a panic.
pub fn message(fault: &(dyn std::any::Any + Send)) -> String {
    let said = fault.downcast_ref::<String>().map(String::as_str).or(fault.downcast_ref::<&str>().copied());
    said.unwrap_or("a panic").chars().take(2000).collect()
}
