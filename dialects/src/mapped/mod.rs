//! The dialect `mapped`: where every tensor lives and how every operation is computed.

pub mod layout;
