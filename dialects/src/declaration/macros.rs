//! The macro that turns a table of ops into declarations and wrappers.

/// Declares ops; see [`crate::declaration`].
#[macro_export]
macro_rules! operations {
    ($(
        $(#[doc = $doc:literal])*
        $op:ident = $name:literal, $summary:literal {
            $(operands { $($operand:ident : $operand_spec:ty),* $(,)? })?
            $(results { $($result:ident : $result_spec:ty),* $(,)? })?
            $(attributes { $($attribute:ident : $attribute_spec:ty),* $(,)? })?
            $(regions { $($region:ident : $region_spec:ty),* $(,)? })?
            $(successors { $($successor:ident),* $(,)? })?
            $(traits [ $($trait:ident),* $(,)? ])?
            $(format $format:literal)?
            $(hooks { $($hook:literal : [$($hook_attribute:literal),*] $hook_parse:path, $hook_print:path $(, $hook_says:path)?);* $(;)? })?
            $(infer($infer:path))?
            $(verify($verify:path))?
        }
    )*) => {$(
        $(#[doc = $doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $op(pub $crate::ir::OpId);

        impl $crate::declaration::Op for $op {
            const DECLARATION: &'static $crate::declaration::OpDeclaration = {
                fn compiled() -> &'static $crate::declaration::format::Format {
                    static FORMAT: std::sync::OnceLock<$crate::declaration::format::Format> =
                        std::sync::OnceLock::new();
                    FORMAT.get_or_init(|| {
                        $crate::declaration::format::Format::compile(
                            <$op as $crate::declaration::Op>::DECLARATION,
                        )
                    })
                }
                static DECLARATION: $crate::declaration::OpDeclaration = $crate::declaration::OpDeclaration {
                    name: $name,
                    summary: $summary,
                    description: concat!($($doc, "\n"),*),
                    operands: &[$($(
                        $crate::declaration::part::<$operand_spec>(stringify!($operand)),
                    )*)?],
                    results: &[$($(
                        $crate::declaration::part::<$result_spec>(stringify!($result)),
                    )*)?],
                    attributes: &[$($($crate::declaration::AttributeDeclaration {
                        name: stringify!($attribute),
                        required: <$attribute_spec as $crate::declaration::AttributeSpec>::REQUIRED,
                        constraint: <$attribute_spec as $crate::declaration::AttributeSpec>::CONSTRAINT,
                    },)*)?],
                    regions: &[$($($crate::declaration::RegionDeclaration {
                        name: stringify!($region),
                        one_block: <$region_spec as $crate::declaration::RegionSpec>::ONE_BLOCK,
                    },)*)?],
                    successors: &[$($(stringify!($successor),)*)?],
                    traits: &[$($($crate::declaration::Trait::$trait,)*)?],
                    format: concat!("" $(, $format)?),
                    hooks: &[$($($crate::declaration::Hook {
                        name: $hook,
                        attributes: &[$($hook_attribute,)*],
                        parse: $hook_parse,
                        print: $hook_print,
                        says: $crate::operations!(@option $($hook_says)?),
                    },)*)?],
                    infer: $crate::operations!(@option $($infer)?),
                    verify: $crate::operations!(@option $($verify)?),
                    compiled,
                };
                &DECLARATION
            };

            fn wrap(op: $crate::ir::OpId) -> Self {
                Self(op)
            }

            fn id(self) -> $crate::ir::OpId {
                self.0
            }
        }

        #[allow(dead_code, non_snake_case)]
        impl $op {
            $($(
                #[doc = concat!("Operand `", stringify!($operand), "`.")]
                #[must_use]
                pub fn $operand(
                    self,
                    module: &$crate::ir::Module,
                ) -> <$operand_spec as $crate::declaration::PartSpec>::Access<'_> {
                    $crate::declaration::operand_access::<$operand_spec>(
                        module, self.0, stringify!($operand),
                    )
                }
            )*)?
            $($(
                #[doc = concat!("Result `", stringify!($result), "`.")]
                #[must_use]
                pub fn $result(
                    self,
                    module: &$crate::ir::Module,
                ) -> <$result_spec as $crate::declaration::PartSpec>::Access<'_> {
                    $crate::declaration::result_access::<$result_spec>(
                        module, self.0, stringify!($result),
                    )
                }
            )*)?
            $($(
                #[doc = concat!("Attribute `", stringify!($attribute), "`.")]
                #[must_use]
                pub fn $attribute(
                    self,
                    module: &$crate::ir::Module,
                ) -> <$attribute_spec as $crate::declaration::AttributeSpec>::Access<'_> {
                    <$attribute_spec as $crate::declaration::AttributeSpec>::access(
                        module.attribute(self.0, stringify!($attribute)),
                        stringify!($attribute),
                    )
                }
            )*)?
            $($(
                #[doc = concat!("Region `", stringify!($region), "`.")]
                #[must_use]
                pub fn $region(self, module: &$crate::ir::Module) -> $crate::ir::RegionId {
                    $crate::declaration::region_access(module, self.0, stringify!($region))
                }
            )*)?
        }
    )*};
    (@option) => { None };
    (@option $path:path) => { Some($path) };
}
