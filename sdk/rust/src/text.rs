//! Text helpers that core lacks or that cost much code.

/// Reads digits with at most one decimal point; commas are skipped. Any other
/// text is no number. Numbers of up to 15 digits are read exactly.
/// `str::parse` reads more, and brings 30 KB of code.
pub fn number(text: &str) -> Option<f64> {
    let (mut mantissa, mut exponent, mut digits, mut point) = (0u64, 0i32, false, false);
    for c in text.bytes() {
        match c {
            b',' => continue,
            b'.' if !point => {
                point = true;
                continue;
            }
            b'0'..=b'9' => digits = true,
            _ => return None,
        }
        if mantissa < 100_000_000_000_000_000 {
            mantissa = mantissa * 10 + u64::from(c - b'0');
            exponent -= i32::from(point);
        } else {
            exponent += i32::from(!point);
        }
    }
    let mut power = 1.0;
    for _ in 0..exponent.unsigned_abs().min(300) {
        power *= 10.0;
    }
    let value = if exponent < 0 { mantissa as f64 / power } else { mantissa as f64 * power };
    if digits && value.is_finite() { Some(value) } else { None }
}
