//! The IR: ops, blocks, regions, values, types and attributes, after MLIR's model.
//!
//! One [`Module`] owns everything in flat arenas; ids are `u32`. Types and attributes are shared immutable values
//! that need no module to be read.

mod attribute;
mod attribute_list;
mod builder;
mod dialect_value;
mod edit;
mod entity;
mod location;
mod module;
mod name;
mod storage;
mod symbol;
mod types;
mod walk;

pub use attribute::{Attribute, AttributeKind, DenseArray, DenseElements, Entries, IntegerValue, SymbolRef};
pub use attribute_list::AttributeList;
pub use builder::Builder;
pub use dialect_value::{AnyDialectValue, DialectValue, Opaque};
pub use edit::{InsertionPoint, OpState};
pub use entity::{BlockId, OpId, RegionId, ValueId};
pub use location::{Location, LocationKind, Origin};
pub use module::{Alias, AliasValue, Module, OpKind, Resource, Trivia, TriviaLine, Use, ValueSource};
pub use name::Name;
pub use symbol::{SYMBOL_NAME, SymbolTable};
pub use types::{FloatFormat, FunctionType, Signedness, TensorType, Type, TypeKind};
pub use walk::Walk;
