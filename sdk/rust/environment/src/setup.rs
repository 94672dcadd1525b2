//! The setup: {"split": "train", "options": {…}}, valid JSON from Merit.

/// A number that a configuration may set: its default, and the whole numbers allowed.
pub struct Opt {
    pub key: &'static str,
    pub value: i64,
    pub least: i64,
    pub most: i64,
}

/// The split and the options of an environment.
pub struct Setup<'a> {
    /// train, validation or test.
    pub split: &'a str,
    values: Vec<(&'static str, i64)>,
}

impl<'a> Setup<'a> {
    /// The value of an option.
    pub fn option(&self, key: &str) -> i64 {
        self.values.iter().find(|(name, _)| *name == key).expect("an option of ABOUT").1
    }

    /// Reads the setup. The error lists all problems as JSON.
    pub(crate) fn read(text: &'a str, options: &'static [Opt]) -> Result<Setup<'a>, String> {
        let mut setup = Setup { split: "", values: options.iter().map(|o| (o.key, o.value)).collect() };
        let mut problems = Vec::new();
        for (key, value) in members(text) {
            match key {
                "split" => setup.split = value.trim_matches('"'),
                "options" => setup.set(value, options, &mut problems),
                _ => {}
            }
        }
        if problems.is_empty() { Ok(setup) } else { Err(format!("[{}]", problems.join(", "))) }
    }

    fn set(&mut self, section: &str, options: &'static [Opt], problems: &mut Vec<String>) {
        for (key, text) in members(section) {
            let wrong = |what: String, hint: String| {
                format!("{{\"boundary\": \"config\", \"kind\": \"invalid\", \"where\": \"options.{key}\", \"what\": \"{what}\", \"hint\": \"{hint}\"}}")
            };
            match options.iter().position(|o| o.key == key) {
                None => problems.push(wrong("is not an option".into(), String::new())),
                Some(n) => match text.parse() {
                    Ok(value) if options[n].least <= value && value <= options[n].most => self.values[n].1 = value,
                    _ => problems.push(wrong(
                        format!("must be a whole number from {} to {}", options[n].least, options[n].most),
                        format!("the default is {}", options[n].value),
                    )),
                },
            }
        }
    }
}

/// The members of a JSON object: keys without their quotes, and values as they are written.
fn members(object: &str) -> Vec<(&str, &str)> {
    let mut list = Vec::new();
    let mut rest = object.trim_start().get(1..).unwrap_or("").trim_start();
    while rest.starts_with('"') {
        let (key, after) = rest.split_at(past(rest));
        let value = after.trim_start().get(1..).unwrap_or("").trim_start(); // after the colon
        let end = past(value);
        list.push((&key[1..key.len() - 1], value[..end].trim_end()));
        rest = value[end..].trim_start().trim_start_matches(',').trim_start();
    }
    list
}

/// Where a JSON value ends.
fn past(text: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (i, c) in text.bytes().enumerate() {
        match c {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => {
                quoted = !quoted;
                if !quoted && depth == 0 {
                    return i + 1;
                }
            }
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return i,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return i + 1;
                }
            }
            b',' if depth == 0 => return i,
            _ => {}
        }
    }
    text.len()
}
