//! What the verifier says.
