//! Random programs that contain the left sides of the rules often.

use egg::Id;
use ipu_device::numerics::Fp8;

use crate::canonicalize::element::Element;
use crate::canonicalize::expression::{Expression, Gemm, Graph, Permutation, Shape, TensorType, Typing};

use super::evaluator::Numbers;

/// SplitMix64: a seed gives the same program everywhere.
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn element(&mut self) -> Element {
        match self.below(4) {
            0 => Element::F16,
            1 => Element::F32,
            _ => {
                let format = if self.below(2) == 0 { Fp8::F143 } else { Fp8::F152 };
                // Around the scales where these formats stop fitting f16, and few of them, so that chains meet.
                Element::Float8 { format, scale: [-15, -14, -8, -7, 0, 1, 8, 9][self.below(8) as usize] }
            }
        }
    }

    fn permutation(&mut self, rank: usize) -> Permutation {
        let mut axes: Vec<u32> = (0..rank as u32).collect();
        if self.below(3) > 0 && rank >= 2 {
            axes.swap(rank - 2, rank - 1);
        } else {
            for at in (1..rank).rev() {
                axes.swap(at, self.below(at as u64 + 1) as usize);
            }
        }
        Permutation::new(axes).unwrap()
    }

    /// A shape with the elements of `shape`, often `shape` itself.
    fn reshaped(&mut self, shape: &Shape) -> Shape {
        let mut shape = shape.clone();
        match self.below(4) {
            0 => shape.push(1),
            1 => shape.insert(0, 1),
            2 if shape.len() >= 3 => {
                let last = shape.pop().unwrap();
                *shape.last_mut().unwrap() *= last;
            }
            _ => {}
        }
        shape
    }
}

/// A random program in an e-graph, with numbers for its leaves.
pub(super) struct Program {
    pub(super) graph: Graph,
    pub(super) leaves: Vec<Numbers>,
    /// All nodes in program order.
    pub(super) given: Vec<(Id, Expression)>,
}

impl Program {
    pub(super) fn random(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut program =
            Self { graph: Graph::new(Typing::default()), leaves: Vec::new(), given: Vec::new() };
        let rank = 1 + random.below(4);
        let shape: Shape = (0..rank).map(|_| 1 + random.below(3)).collect();
        let element = random.element();
        program.leaf(shape, element, &mut random);
        for _ in 0..2 + random.below(8) {
            program.step(&mut random);
        }
        program
    }

    fn leaf(&mut self, shape: Shape, element: Element, random: &mut Random) -> Id {
        let ty = TensorType { shape: shape.clone(), element };
        let node = self.graph.analysis.leaf(ty);
        self.leaves.push(Numbers::random(shape, element, random));
        self.add(node)
    }

    fn add(&mut self, node: Expression) -> Id {
        let id = self.graph.add(node.clone());
        self.given.push((id, node));
        id
    }

    fn step(&mut self, random: &mut Random) {
        // Mostly the newest value, so that chains form.
        let back = if random.below(4) == 0 { random.below(self.given.len() as u64) as usize } else { 0 };
        let (input, _) = self.given[self.given.len() - 1 - back].clone();
        let ty = self.graph[input].data.clone();
        let node = match random.below(6) {
            0 | 1 => Expression::Transpose(random.permutation(ty.shape.len()), input),
            2 | 3 => Expression::Cast(random.element(), input),
            4 => Expression::Reshape(random.reshaped(&ty.shape), input),
            _ if ty.shape.len() >= 2 => self.gemm(input, &ty, random),
            _ => return,
        };
        self.add(node);
    }

    fn gemm(&mut self, input: Id, ty: &TensorType, random: &mut Random) -> Expression {
        let rank = ty.shape.len();
        let (transpose_input, transpose_other) = (random.below(2) == 0, random.below(2) == 0);
        let on_left = random.below(2) == 0;
        let inner_axis = if on_left == transpose_input { rank - 2 } else { rank - 1 };
        let (inner, free) = (ty.shape[inner_axis], 1 + random.below(3));
        let mut shape = ty.shape.clone();
        let other_is_inner_last = on_left == transpose_other;
        (shape[rank - 2], shape[rank - 1]) = if other_is_inner_last { (free, inner) } else { (inner, free) };
        let element = random.element();
        let other = self.leaf(shape, element, random);
        let [multiply, accumulate, result] = std::array::from_fn(|_| random.element());
        let gemm = |transpose_left, transpose_right| Gemm {
            multiply,
            accumulate,
            result,
            transpose_left,
            transpose_right,
        };
        if on_left {
            Expression::Gemm(gemm(transpose_input, transpose_other), [input, other])
        } else {
            Expression::Gemm(gemm(transpose_other, transpose_input), [other, input])
        }
    }
}
