//! Formats the inputs and effects of a state machine for the log.

use std::fmt::{self, Debug, Display, Write as _};

/// Shows the name of a value's variant. Its fields may contain text of a user or a model, which belongs in the
/// session.
pub struct Variant<'a, T>(pub &'a T);

impl<T: Debug> Display for Variant<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The error means only that the rest was left out.
        let _ = write!(Name(f), "{:?}", self.0);
        Ok(())
    }
}

/// Shows the names of the variants of some values.
pub struct Variants<'a, T>(pub &'a [T]);

impl<T: Debug> Display for Variants<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, value) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_char(' ')?;
            }
            write!(f, "{}", Variant(value))?;
        }
        Ok(())
    }
}

/// Passes the name on and fails at the first character after it.
struct Name<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl fmt::Write for Name<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = text.find(|char: char| !char.is_alphanumeric()).unwrap_or(text.len());
        self.0.write_str(&text[..end])?;
        if end < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    enum Value {
        Unit,
        Tuple(#[allow(dead_code, reason = "only shown")] String),
        Struct {
            #[allow(dead_code, reason = "only shown")]
            field: u8,
        },
    }

    #[test]
    fn values_are_shown_by_their_variants() {
        let values = [Value::Unit, Value::Tuple("secret".to_owned()), Value::Struct { field: 1 }];
        assert_eq!(Variants(&values).to_string(), "Unit Tuple Struct");
        assert_eq!(Variant(&Ok::<u8, ()>(7)).to_string(), "Ok");
    }
}
