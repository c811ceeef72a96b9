use std::io;

fn main() {
    let mut line = String::new();
    io::stdin().read_line(&mut line).unwrap();
    let line = line.trim_end();
    if let Some(text) = line.strip_prefix("echo ") {
        println!("é {}", text);
    }
    match line {
        "exit" => std::process::exit(3),
        "crash" => panic!("no"),
        "spin" => loop {
            std::thread::yield_now();
        },
        "memory" => {
            let mut held: Vec<Vec<u8>> = Vec::new();
            loop {
                held.push(vec![held.len() as u8 | 1; 1 << 20]);
            }
        }
        _ => (),
    }
}
