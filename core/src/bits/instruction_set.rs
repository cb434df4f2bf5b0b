use super::{Available, Task, Vector, Words};
#[cfg(all(target_arch = "x86_64", feature = "vectors"))]
use super::{Avx2, Avx512};
use std::marker::PhantomData;

/// The vectors that planes are made of; no outcome depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InstructionSet {
    /// 64 bits, any processor.
    Word,
    /// 256 bits, x86-64 with AVX2.
    Avx2,
    /// 512 bits, x86-64 with AVX-512 (F, BW, DQ, VL).
    Avx512,
}

/// Work for the vectors of any instruction set.
pub(crate) trait OnVectors {
    /// What it returns.
    type Output;
    /// Does it with vectors that this processor has.
    fn run<V: Vector>(self, proof: Available<V>) -> Self::Output;
}

impl InstructionSet {
    /// All sets.
    pub const ALL: [Self; 3] = [Self::Word, Self::Avx2, Self::Avx512];

    /// Whether this processor has it.
    pub fn is_available(self) -> bool {
        match self {
            Self::Word => true,
            #[cfg(all(target_arch = "x86_64", feature = "vectors"))]
            Self::Avx2 => Avx2::available().is_some(),
            #[cfg(all(target_arch = "x86_64", feature = "vectors"))]
            Self::Avx512 => Avx512::available().is_some(),
            #[cfg(not(all(target_arch = "x86_64", feature = "vectors")))]
            Self::Avx2 | Self::Avx512 => false,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Word => "u64",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        }
    }

    /// Bits of a vector.
    pub fn bits(self) -> usize {
        match self {
            Self::Word => 64,
            Self::Avx2 => 256,
            Self::Avx512 => 512,
        }
    }

    /// Does some work with its vectors; with words where this processor does not have it.
    pub(crate) fn run<W: OnVectors>(self, work: W) -> W::Output {
        #[cfg(all(target_arch = "x86_64", feature = "vectors"))]
        match self {
            Self::Word => {}
            Self::Avx2 => {
                if let Some(proof) = Avx2::available() {
                    return work.run(proof);
                }
            }
            Self::Avx512 => {
                if let Some(proof) = Avx512::available() {
                    return work.run(proof);
                }
            }
        }
        work.run(Words::<1>::PROOF)
    }
}

/// Work inside the one function that is compiled for an instruction set, whichever that is.
pub(crate) trait VectorWork {
    /// Does it. Implementations are `#[inline(always)]`.
    fn run<V: Vector>(self);
}

/// Work with vectors of one kind.
struct With<V, W>(W, PhantomData<V>);

impl<V: Vector, W: VectorWork> Task for With<V, W> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.run::<V>();
    }
}

/// Vectors are entered.
struct Entered<W>(W);

impl<W: VectorWork> OnVectors for Entered<W> {
    type Output = ();

    fn run<V: Vector>(self, proof: Available<V>) {
        V::enter(proof, With::<V, W>(self.0, PhantomData));
    }
}

/// Does some work with the longest vectors of this processor.
pub(crate) fn with_longest<W: VectorWork>(work: W) {
    let sets = [InstructionSet::Avx512, InstructionSet::Avx2];
    let longest = sets.into_iter().find(|set| set.is_available()).unwrap_or(InstructionSet::Word);
    longest.run(Entered(work));
}
