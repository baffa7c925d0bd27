//! Reads a block of `graph` ops into an e-graph.
//!
//! Rules kept here: an op becomes a node only if the language says all that it says; every other op is a barrier,
//! its results opaque and its operands wanted. So is a region: what it uses from outside is wanted.

use egg::Id;
use ipu_device::hash::{HashMap, HashSet};
use ipu_device::numerics::Fp8;
use ipu_dialects::graph;
use ipu_dialects::ipu::{F143, F152};
use ipu_dialects::ir::{BlockId, FloatFormat, Module, OpId, Type, ValueId};

use super::element::Element;
use super::expression::{Expression, Gemm, Graph, Permutation, TensorType, Typing};

/// The element types of a block, those unknown to the language by number.
#[derive(Debug, Default)]
pub(super) struct ElementTypes {
    others: Vec<Type>,
}

impl ElementTypes {
    fn element(&mut self, ty: &Type) -> Option<Element> {
        let scaled = |format, scale: i8| Some(Element::Float8 { format, scale: i32::from(scale) });
        if let Some(F143 { scale }) = ty.dialect_value() {
            return scaled(Fp8::F143, *scale);
        }
        if let Some(F152 { scale }) = ty.dialect_value() {
            return scaled(Fp8::F152, *scale);
        }
        match ty.as_float() {
            Some(FloatFormat::F16) => return Some(Element::F16),
            Some(FloatFormat::F32) => return Some(Element::F32),
            _ => {}
        }
        let bits = ty.element_bits()?;
        let number = self.others.iter().position(|other| other == ty).unwrap_or(self.others.len());
        if number == self.others.len() {
            self.others.push(ty.clone());
        }
        Some(Element::Other { number: u32::try_from(number).ok()?, bits })
    }

    fn tensor(&mut self, ty: &Type) -> Option<TensorType> {
        let tensor = ty.as_tensor().filter(|tensor| tensor.encoding.is_none())?;
        Some(TensorType {
            shape: tensor.shape.iter().copied().collect(),
            element: self.element(&tensor.element)?,
        })
    }

    /// The element type as the IR has it; `None` for a number or a scale that no type of the block has.
    pub(super) fn ir_element(&self, element: Element) -> Option<Type> {
        match element {
            Element::F16 => Some(Type::float(FloatFormat::F16)),
            Element::F32 => Some(Type::float(FloatFormat::F32)),
            Element::Float8 { format, scale } => {
                let scale = i8::try_from(scale).ok()?;
                match format {
                    Fp8::F143 => F143::new(scale).map(Type::dialect),
                    Fp8::F152 => F152::new(scale).map(Type::dialect),
                }
            }
            Element::Other { number, .. } => self.others.get(number as usize).cloned(),
        }
    }

    /// The tensor type as the IR has it.
    pub(super) fn ir_tensor(&self, ty: &TensorType) -> Option<Type> {
        Some(Type::tensor(ty.shape.to_vec(), self.ir_element(ty.element)?, None))
    }
}

/// A block as an e-graph.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) graph: Graph,
    pub(super) types: ElementTypes,
    /// The opaque values, each with its class.
    pub(super) leaves: Vec<(Id, ValueId)>,
    /// The ops that are nodes, in order of the block, each with its class.
    pub(super) ops: Vec<(OpId, Id)>,
    /// The nodes of `ops`.
    pub(super) given: Vec<(Id, Expression)>,
    /// Classes that barriers use.
    pub(super) roots: Vec<Id>,
}

/// Reads `block`.
pub(super) fn read(module: &Module, block: BlockId) -> Body {
    let body = Body {
        graph: Graph::new(Typing::default()),
        types: ElementTypes::default(),
        leaves: Vec::new(),
        ops: Vec::new(),
        given: Vec::new(),
        roots: Vec::new(),
    };
    let mut reader = Reader { module, body, values: HashMap::default() };
    for op in module.ops_of(block) {
        reader.op(op);
    }
    let mut body = reader.body;
    let nodes: HashSet<OpId> = body.ops.iter().map(|&(op, _)| op).collect();
    let is_wanted = |op: OpId| module.uses(module.result(op, 0)).iter().any(|user| !nodes.contains(&user.op));
    body.roots = body.ops.iter().filter(|&&(op, _)| is_wanted(op)).map(|&(_, class)| class).collect();
    body
}

struct Reader<'m> {
    module: &'m Module,
    body: Body,
    values: HashMap<ValueId, Id>,
}

impl Reader<'_> {
    fn op(&mut self, op: OpId) {
        let Some(node) = self.node(op) else { return };
        let result = self.module.result(op, 0);
        let Some(ty) = self.body.types.tensor(self.module.value_type(result)) else { return };
        if node.result_type(&self.body.graph) != Some(ty) {
            return;
        }
        let class = self.body.graph.add(node.clone());
        self.values.insert(result, class);
        self.body.ops.push((op, class));
        self.body.given.push((class, node));
    }

    /// The class of a value: of the op that makes it, or of a new leaf.
    fn value(&mut self, value: ValueId) -> Option<Id> {
        if let Some(&class) = self.values.get(&value) {
            return Some(class);
        }
        let ty = self.body.types.tensor(self.module.value_type(value))?;
        let leaf = self.body.graph.analysis.leaf(ty);
        let class = self.body.graph.add(leaf.clone());
        self.values.insert(value, class);
        self.body.leaves.push((class, value));
        self.body.given.push((class, leaf));
        Some(class)
    }

    /// The op as a node, if the language says all that it says.
    fn node(&mut self, op: OpId) -> Option<Expression> {
        let module = self.module;
        let says_only =
            |names: &[&str]| module.attributes(op).iter().all(|(name, _)| names.contains(&name.as_str()));
        if let Some(gemm) = module.cast::<graph::Gemm>(op) {
            let known = ["multiply", "accumulate", "transpose_left", "transpose_right"];
            let result = module.value_type(gemm.result(module)).as_tensor()?;
            // A product that leaves its precision open is none that the language can say.
            let precision = |name: &str| module.attribute(op, name)?.as_type();
            let flags = Gemm {
                multiply: self.body.types.element(precision("multiply")?)?,
                accumulate: self.body.types.element(precision("accumulate")?)?,
                result: self.body.types.element(&result.element)?,
                transpose_left: gemm.transpose_left(module),
                transpose_right: gemm.transpose_right(module),
            };
            let operands = [self.value(gemm.left(module))?, self.value(gemm.right(module))?];
            return says_only(&known).then_some(Expression::Gemm(flags, operands));
        }
        if let Some(transpose) = module.cast::<graph::Transpose>(op) {
            let axes: Option<Vec<u32>> =
                transpose.permutation(module).iter().map(|&axis| u32::try_from(axis).ok()).collect();
            let permutation = Permutation::new(axes?)?;
            let input = self.value(transpose.input(module))?;
            return says_only(&["permutation"]).then_some(Expression::Transpose(permutation, input));
        }
        if let Some(cast) = module.cast::<graph::Cast>(op) {
            let result = module.value_type(cast.result(module)).as_tensor()?;
            let element = self.body.types.element(&result.element)?;
            let input = self.value(cast.input(module))?;
            return says_only(&[]).then_some(Expression::Cast(element, input));
        }
        if let Some(reshape) = module.cast::<graph::Reshape>(op) {
            let result = module.value_type(reshape.result(module)).as_tensor()?;
            let input = self.value(reshape.input(module))?;
            return says_only(&[])
                .then(|| Expression::Reshape(result.shape.iter().copied().collect(), input));
        }
        None
    }
}
