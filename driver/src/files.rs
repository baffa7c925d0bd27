//! Files: reading texts with clear errors, writing through a temporary file.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ipu_dialects::diagnostics::{Diagnostic, Diagnostics};
use ipu_dialects::ir::Module;
use ipu_dialects::printer::{PrintOptions, print_to};
use ipu_dialects::source::{SourceMap, SourceText, Span};

use crate::exit::{DriverCode, Exit, Failure};

/// Name under which standard input appears in messages.
pub const STANDARD_INPUT: &str = "<stdin>";

/// Reads a text; `-` is standard input.
///
/// # Errors
/// The file is missing, a directory, unreadable, or not UTF-8; the last names the byte.
pub fn read_text(path: &str) -> Result<(String, SourceText), Failure> {
    if path == "-" {
        return Ok((STANDARD_INPUT.to_owned(), standard_input()?));
    }
    Ok((path.to_owned(), decoded(path, read_bytes(Path::new(path))?)?))
}

/// The text that `bytes` of a file called `name` are.
///
/// # Errors
/// They are not UTF-8; the finding names the first bad byte.
pub fn decoded(name: &str, bytes: Vec<u8>) -> Result<SourceText, Failure> {
    String::from_utf8(bytes).map(SourceText::from).map_err(|error| not_utf8(name, &error))
}

static READ_INPUT: Mutex<Option<SourceText>> = Mutex::new(None);

/// All of standard input; it is kept, and shared, so that whoever asks again gets the same.
fn standard_input() -> Result<SourceText, Failure> {
    let mut read = READ_INPUT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(text) = &*read {
        return Ok(text.clone());
    }
    let mut bytes = Vec::new();
    let result = std::io::stdin().lock().read_to_end(&mut bytes);
    result.map_err(|error| unreadable(STANDARD_INPUT, &error))?;
    Ok(read.insert(decoded(STANDARD_INPUT, bytes)?).clone())
}

/// What was read from standard input so far, if it was read.
#[must_use]
pub fn kept_standard_input() -> Option<SourceText> {
    READ_INPUT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Reads a file's bytes.
///
/// # Errors
/// The file is missing, a directory or unreadable.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, Failure> {
    if path.is_dir() {
        let message = format!("`{}` is a directory, expected a file", path.display());
        return Err(Failure::new(Exit::Input, DriverCode::Unreadable, message));
    }
    fs::read(path).map_err(|error| unreadable(&path.display().to_string(), &error))
}

/// Writes a whole file or nothing: through a temporary file beside it that is renamed. What is there and no ordinary
/// file (a device, a pipe, a link to one) is written to as it is, never replaced.
///
/// # Errors
/// The folder is missing or not writable.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_whole_with(path, |out| out.write_all(bytes))
}

/// Writes an existing file anew, whole or not at all: it keeps its permissions, and a link stays a link.
///
/// # Errors
/// The folder is not writable.
pub fn rewrite(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let permissions = fs::metadata(&path).ok().filter(fs::Metadata::is_file).map(|file| file.permissions());
    write_whole(&path, bytes)?;
    match permissions.map(|permissions| fs::set_permissions(&path, permissions)) {
        Some(Err(error)) => {
            let message = format!("cannot keep the permissions of `{}`: {error}", path.display());
            Err(Failure::new(Exit::Input, DriverCode::Unwritable, message))
        }
        _ => Ok(()),
    }
}

/// [`write_whole`] of what `write` writes.
///
/// # Errors
/// The folder is missing or not writable, or `write` fails.
pub fn write_whole_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let message = format!("cannot write `{}`: {error}", path.display());
        Failure::new(Exit::Input, DriverCode::Unwritable, message)
    };
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let mut file = fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
        return write(&mut file).map_err(failed);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        let message =
            format!("cannot write `{}`: the folder `{}` does not exist", path.display(), folder.display());
        return Err(Failure::new(Exit::Input, DriverCode::Unwritable, message));
    }
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(|error| failed(plain(&error)))?;
    write(&mut file).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o644)).map_err(failed)?;
    }
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// The error without the name of the temporary file, which says nothing to a reader.
fn plain(error: &std::io::Error) -> std::io::Error {
    error.kind().into()
}

/// Writes a module as text to `path`, or to standard output if there is none, line by line as it is printed.
///
/// # Errors
/// The text cannot be written; a reader of standard output that has gone away is no error.
pub fn write_module(path: Option<&Path>, module: &Module, options: PrintOptions) -> Result<(), Failure> {
    let _span = tracing::debug_span!("print").entered();
    let print = |out: &mut dyn Write| {
        let mut writer = TextWriter { out, result: Ok(()) };
        let printed = print_to(module, options, &mut writer);
        writer.result.and(printed.map_err(std::io::Error::other))
    };
    match path {
        Some(path) => write_whole_with(path, print),
        None => standard_output(|out| print(out)),
    }
}

/// Text into bytes, keeping the error that [`std::fmt`] loses.
struct TextWriter<'o> {
    out: &'o mut dyn Write,
    result: std::io::Result<()>,
}

impl std::fmt::Write for TextWriter<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.result = self.out.write_all(text.as_bytes());
        if self.result.is_ok() { Ok(()) } else { Err(std::fmt::Error) }
    }
}

fn unreadable(name: &str, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Input, DriverCode::Unreadable, format!("cannot read `{name}`: {error}"))
}

/// The finding points at the first bad byte; the text is shown up to the line of it, with every bad byte replaced.
fn not_utf8(name: &str, error: &std::string::FromUtf8Error) -> Failure {
    /// Bytes after the bad one that are shown at most.
    const SHOWN: usize = 200;
    let at = error.utf8_error().valid_up_to();
    let bytes = error.as_bytes();
    let bad = bytes.get(at).copied().unwrap_or_default();
    let end = bytes.len().min(at + SHOWN);
    let shown = bytes.get(..end).unwrap_or_default();
    let line = shown.iter().skip(at).position(|&byte| byte == b'\n').map_or(end, |length| at + length);
    let shown = &shown[..line];
    let mut sources = SourceMap::default();
    let file = sources.add(name, String::from_utf8_lossy(shown).as_ref());
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    let span = Span::new(file, at, at.saturating_add(3));
    let mut diagnostics = Diagnostics::new();
    diagnostics.push(
        Diagnostic::error(DriverCode::NotUtf8, span, format!("byte 0x{bad:02x} is not UTF-8"))
            .note("write bytes of a string as escapes, such as `\"\\ff\"`"),
    );
    Failure::of(Exit::Input, diagnostics, &sources)
}

/// Writes to standard output; a reader that has gone away is no error.
///
/// # Errors
/// Any other failure to write.
pub fn write_standard_output(bytes: &[u8]) -> Result<(), Failure> {
    standard_output(|out| out.write_all(bytes))
}

fn standard_output(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let message = format!("cannot write to standard output: {error}");
            Err(Failure::new(Exit::Input, DriverCode::Unwritable, message))
        }
        _ => Ok(()),
    }
}

/// A word as a shell reads it back.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./=,:+@%-".contains(c);
    if !word.is_empty() && !word.starts_with('-') && word.chars().all(plain) {
        return word.to_owned();
    }
    // A name that starts like an option is a path all the same.
    let path = if word.starts_with('-') && word.len() > 1 { "./" } else { "" };
    single_quoted(&format!("{path}{word}"))
}

/// A word in single quotes, as a shell reads it back.
#[must_use]
pub fn single_quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to_and_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        write_whole(&link, b"text").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().file_type().is_symlink());
        assert!(fs::metadata(&link).unwrap().file_type().is_char_device());
    }

    #[test]
    fn a_file_is_written_whole_and_a_missing_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.ir");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        let failure = write_whole(&folder.path().join("missing/out.ir"), b"").unwrap_err();
        assert_eq!(failure.exit, Exit::Input);
        let message = failure.diagnostics.iter().next().map(|finding| finding.message.clone()).unwrap();
        assert!(message.ends_with("missing` does not exist"), "{message}");
    }
}
