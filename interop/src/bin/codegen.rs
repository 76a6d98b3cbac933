//! Writes the generated types of the binary form to where they are checked in.

use threadline_interop::codegen::{generate, generated_path};

fn main() -> std::io::Result<()> {
    std::fs::write(generated_path(), generate()?)
}
