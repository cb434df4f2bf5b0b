//! Bit vectors: plain words everywhere, 256 and 512 bits on x86-64. The only unsafe code of the core.

use std::{
    marker::PhantomData,
    ops::{BitAnd, BitOr, BitXor, Not},
};

/// The proof that this processor has the instructions of a vector; only
/// [`Vector::available`] gives it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Available<V>(PhantomData<V>);

/// Work to be done inside the one function that is compiled for an instruction set.
pub(crate) trait Task {
    /// What it returns.
    type Output;
    /// Does it. Implementations are `#[inline(always)]`, so that they are compiled for the
    /// instruction set of the caller.
    fn run(self) -> Self::Output;
}

// In the methods, no closures and no iterator adaptors work on vectors: a function that is not
// inlined is not compiled for the instruction set.

/// A fixed number of 64-bit words, operated on at once.
///
/// # Safety
/// An implementation has the size of `WORDS` times `u64`, at least its alignment, no padding, and
/// any bits are a valid value.
pub(crate) unsafe trait Vector:
    Copy
    + Send
    + Sync
    + 'static
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
{
    /// Number of 64-bit words.
    const WORDS: usize;
    /// Number of bits.
    const BITS: usize = 64 * Self::WORDS;
    /// An order of words, for [`permute`](Self::permute).
    type Order: Copy + Send + Sync;

    /// The same word everywhere.
    fn splat(word: u64) -> Self;
    /// Shifts every word left by the same word of `counts`; all bits leave it at 64.
    fn shift_left(self, counts: Self) -> Self;
    /// Shifts every word right by the same word of `counts`; all bits leave it at 64.
    fn shift_right(self, counts: Self) -> Self;
    /// The order in which word `i` comes from word `from(i)`.
    fn order(from: impl Fn(usize) -> usize) -> Self::Order;
    /// Reorders the words.
    fn permute(self, order: Self::Order) -> Self;
    /// Whether [`move_groups`](Self::move_groups) is one instruction.
    const MOVES_GROUPS: bool = false;
    /// Reorders groups of 16 bits: each becomes the one whose number it is in `from`.
    fn move_groups(self, from: Self) -> Self {
        let (groups, from) = ([self], [from]);
        let group = |words: &[u64], number: usize| words[number / 4] >> (16 * (number % 4)) & 0xffff;
        let mut moved = [Self::zero()];
        for number in 0..4 * Self::WORDS {
            let moved = &mut words_mut(&mut moved)[number / 4];
            *moved |= group(words(&groups), group(words(&from), number) as usize) << (16 * (number % 4));
        }
        moved[0]
    }
    /// Adds the words of another vector, modulo 2^64.
    fn plus(self, other: Self) -> Self;
    /// Multiplies by the words of another vector, modulo 2^64.
    fn times(self, other: Self) -> Self;
    /// Whether any bit is set.
    fn any(self) -> bool;
    /// The proof that this processor has its instructions, if it has.
    #[cfg_attr(not(all(target_arch = "x86_64", feature = "vectors")), allow(dead_code))]
    fn available() -> Option<Available<Self>>;
    /// Runs a task compiled for this instruction set.
    fn enter<T: Task>(proof: Available<Self>, task: T) -> T::Output;

    /// All bits clear.
    #[inline(always)]
    fn zero() -> Self {
        Self::splat(0)
    }

    /// All bits set.
    #[inline(always)]
    fn ones() -> Self {
        Self::splat(u64::MAX)
    }

    /// The first words of a slice that has at least so many.
    #[inline(always)]
    fn load(from: &[u64]) -> Self {
        let mut vector = Self::zero();
        words_mut(std::slice::from_mut(&mut vector)).copy_from_slice(&from[..Self::WORDS]);
        vector
    }

    /// Writes the words to the beginning of a slice that has room for them.
    #[inline(always)]
    fn store(self, to: &mut [u64]) {
        to[..Self::WORDS].copy_from_slice(words(std::slice::from_ref(&self)));
    }

    /// The bits of `yes` where `self` is set, else those of `no`.
    #[inline(always)]
    fn select(self, yes: Self, no: Self) -> Self {
        (self & yes) | (!self & no)
    }
}

/// The words of vectors, in order.
#[inline(always)]
pub(crate) fn words<V: Vector>(vectors: &[V]) -> &[u64] {
    // SAFETY: the contract of `Vector`: size, alignment, no padding.
    unsafe { std::slice::from_raw_parts(vectors.as_ptr().cast(), vectors.len() * V::WORDS) }
}

/// The words of vectors, in order, to be changed.
#[inline(always)]
pub(crate) fn words_mut<V: Vector>(vectors: &mut [V]) -> &mut [u64] {
    // SAFETY: the contract of `Vector`: size, alignment, no padding, any bits are valid.
    unsafe { std::slice::from_raw_parts_mut(vectors.as_mut_ptr().cast(), vectors.len() * V::WORDS) }
}

/// Number of set bits.
#[inline(always)]
pub(crate) fn count_ones(words: &[u64]) -> u64 {
    let mut ones = 0;
    for word in words {
        ones += u64::from(word.count_ones());
    }
    ones
}

/// Plain words, for any processor.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub(crate) struct Words<const N: usize>([u64; N]);

impl<const N: usize> Words<N> {
    /// The proof that every processor has words.
    pub(crate) const PROOF: Available<Self> = Available(PhantomData);
}

/// Operations word by word, written out: loops over a few words cost the compiler most of its time.
macro_rules! plain_words {
    ($count:literal: $($i:literal)*) => {
        plain_words!(@operator BitAnd bitand & $count: $($i)*);
        plain_words!(@operator BitOr bitor | $count: $($i)*);
        plain_words!(@operator BitXor bitxor ^ $count: $($i)*);

        impl Not for Words<$count> {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                Self([$(!self.0[$i]),*])
            }
        }

        // SAFETY: a transparent array of words.
        unsafe impl Vector for Words<$count> {
            const WORDS: usize = $count;
            type Order = [usize; $count];

            #[inline(always)]
            fn splat(word: u64) -> Self {
                Self([word; $count])
            }

            #[inline(always)]
            fn shift_left(self, counts: Self) -> Self {
                Self([$(self.0[$i].checked_shl(counts.0[$i] as u32).unwrap_or(0)),*])
            }

            #[inline(always)]
            fn shift_right(self, counts: Self) -> Self {
                Self([$(self.0[$i].checked_shr(counts.0[$i] as u32).unwrap_or(0)),*])
            }

            #[inline(always)]
            fn order(from: impl Fn(usize) -> usize) -> Self::Order {
                [$(from($i)),*]
            }

            #[inline(always)]
            fn permute(self, order: Self::Order) -> Self {
                Self([$(self.0[order[$i]]),*])
            }

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                Self([$(self.0[$i].wrapping_add(other.0[$i])),*])
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                Self([$(self.0[$i].wrapping_mul(other.0[$i])),*])
            }

            #[inline(always)]
            fn any(self) -> bool {
                $(self.0[$i] |)* 0 != 0
            }

            fn available() -> Option<Available<Self>> {
                Some(Self::PROOF)
            }

            #[inline(always)]
            fn enter<T: Task>(_proof: Available<Self>, task: T) -> T::Output {
                task.run()
            }
        }
    };
    (@operator $trait:ident $method:ident $operator:tt $count:literal: $($i:literal)*) => {
        impl $trait for Words<$count> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self([$(self.0[$i] $operator other.0[$i]),*])
            }
        }
    };
}
plain_words!(1: 0);
plain_words!(4: 0 1 2 3);
// As long as the longest vectors, to hold them against.
#[cfg(test)]
plain_words!(8: 0 1 2 3 4 5 6 7);

#[cfg(all(target_arch = "x86_64", feature = "vectors"))]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(all(target_arch = "x86_64", feature = "vectors"))]
mod x86 {
    use super::{Available, Task, Vector};
    use std::{
        arch::x86_64::*,
        marker::PhantomData,
        ops::{BitAnd, BitOr, BitXor, Not},
    };

    /// 256 bits. Values are made only where [`Vector::available`] gave its proof.
    #[derive(Clone, Copy, Debug)]
    #[repr(transparent)]
    pub(crate) struct Avx2(__m256i);

    /// 512 bits. Values are made only where [`Vector::available`] gave its proof.
    #[derive(Clone, Copy, Debug)]
    #[repr(transparent)]
    pub(crate) struct Avx512(__m512i);

    fn has_avx2() -> bool {
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("popcnt")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
    }

    fn has_avx512() -> bool {
        has_avx2()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
    }

    /// # Safety
    /// The processor has the instructions.
    #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
    unsafe fn enter_avx2<T: Task>(task: T) -> T::Output {
        task.run()
    }

    /// # Safety
    /// The processor has the instructions.
    #[target_feature(enable = "avx2,popcnt,bmi1,bmi2,avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn enter_avx512<T: Task>(task: T) -> T::Output {
        task.run()
    }

    macro_rules! operator {
        ($vector:ident, $trait:ident, $method:ident, $intrinsic:ident) => {
            impl $trait for $vector {
                type Output = Self;
                #[inline(always)]
                fn $method(self, other: Self) -> Self {
                    // SAFETY: values of this type exist only where the instructions do.
                    Self(unsafe { $intrinsic(self.0, other.0) })
                }
            }
        };
    }
    operator!(Avx2, BitAnd, bitand, _mm256_and_si256);
    operator!(Avx2, BitOr, bitor, _mm256_or_si256);
    operator!(Avx2, BitXor, bitxor, _mm256_xor_si256);
    operator!(Avx512, BitAnd, bitand, _mm512_and_si512);
    operator!(Avx512, BitOr, bitor, _mm512_or_si512);
    operator!(Avx512, BitXor, bitxor, _mm512_xor_si512);

    impl Not for Avx2 {
        type Output = Self;
        #[inline(always)]
        fn not(self) -> Self {
            self ^ Self::ones()
        }
    }

    impl Not for Avx512 {
        type Output = Self;
        #[inline(always)]
        fn not(self) -> Self {
            self ^ Self::ones()
        }
    }

    // SAFETY: four words; in every method, values of this type exist only where the instructions do.
    unsafe impl Vector for Avx2 {
        const WORDS: usize = 4;
        type Order = Self;

        #[inline(always)]
        fn splat(word: u64) -> Self {
            Self(unsafe { _mm256_set1_epi64x(word as i64) })
        }

        #[inline(always)]
        fn shift_left(self, counts: Self) -> Self {
            Self(unsafe { _mm256_sllv_epi64(self.0, counts.0) })
        }

        #[inline(always)]
        fn shift_right(self, counts: Self) -> Self {
            Self(unsafe { _mm256_srlv_epi64(self.0, counts.0) })
        }

        #[inline(always)]
        fn order(from: impl Fn(usize) -> usize) -> Self::Order {
            // The instruction moves halves of words.
            let half = |index: usize| (2 * from(index / 2) + index % 2) as i32;
            let [a, b, c, d, e, f, g, h] = std::array::from_fn(half);
            Self(unsafe { _mm256_setr_epi32(a, b, c, d, e, f, g, h) })
        }

        #[inline(always)]
        fn permute(self, order: Self::Order) -> Self {
            Self(unsafe { _mm256_permutevar8x32_epi32(self.0, order.0) })
        }

        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            Self(unsafe { _mm256_add_epi64(self.0, other.0) })
        }

        #[inline(always)]
        fn times(self, other: Self) -> Self {
            // Products of halves: the low ones, and the crosswise ones above them.
            Self(unsafe {
                let crosswise = _mm256_add_epi64(
                    _mm256_mul_epu32(_mm256_srli_epi64::<32>(self.0), other.0),
                    _mm256_mul_epu32(self.0, _mm256_srli_epi64::<32>(other.0)),
                );
                _mm256_add_epi64(_mm256_mul_epu32(self.0, other.0), _mm256_slli_epi64::<32>(crosswise))
            })
        }

        #[inline(always)]
        fn any(self) -> bool {
            unsafe { _mm256_testz_si256(self.0, self.0) == 0 }
        }

        fn available() -> Option<Available<Self>> {
            has_avx2().then_some(Available(PhantomData))
        }

        #[inline(always)]
        fn enter<T: Task>(_proof: Available<Self>, task: T) -> T::Output {
            // SAFETY: the proof is given only where the instructions are.
            unsafe { enter_avx2(task) }
        }
    }

    // SAFETY: eight words; in every method, values of this type exist only where the instructions do.
    unsafe impl Vector for Avx512 {
        const WORDS: usize = 8;
        type Order = Self;

        #[inline(always)]
        fn splat(word: u64) -> Self {
            Self(unsafe { _mm512_set1_epi64(word as i64) })
        }

        #[inline(always)]
        fn shift_left(self, counts: Self) -> Self {
            Self(unsafe { _mm512_sllv_epi64(self.0, counts.0) })
        }

        #[inline(always)]
        fn shift_right(self, counts: Self) -> Self {
            Self(unsafe { _mm512_srlv_epi64(self.0, counts.0) })
        }

        #[inline(always)]
        fn order(from: impl Fn(usize) -> usize) -> Self::Order {
            let [a, b, c, d, e, f, g, h] = std::array::from_fn(|index| from(index) as i64);
            Self(unsafe { _mm512_setr_epi64(a, b, c, d, e, f, g, h) })
        }

        #[inline(always)]
        fn permute(self, order: Self::Order) -> Self {
            Self(unsafe { _mm512_permutexvar_epi64(order.0, self.0) })
        }

        const MOVES_GROUPS: bool = true;

        #[inline(always)]
        fn move_groups(self, from: Self) -> Self {
            Self(unsafe { _mm512_permutexvar_epi16(from.0, self.0) })
        }

        #[inline(always)]
        fn plus(self, other: Self) -> Self {
            Self(unsafe { _mm512_add_epi64(self.0, other.0) })
        }

        #[inline(always)]
        fn times(self, other: Self) -> Self {
            Self(unsafe { _mm512_mullo_epi64(self.0, other.0) })
        }

        #[inline(always)]
        fn any(self) -> bool {
            unsafe { _mm512_test_epi64_mask(self.0, self.0) != 0 }
        }

        fn available() -> Option<Available<Self>> {
            has_avx512().then_some(Available(PhantomData))
        }

        #[inline(always)]
        fn enter<T: Task>(_proof: Available<Self>, task: T) -> T::Output {
            // SAFETY: the proof is given only where the instructions are.
            unsafe { enter_avx512(task) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Every operation on some vectors, as the words that come of it.
    fn results<V: Vector>(
        a: &[u64],
        b: &[u64],
        mask: &[u64],
        counts: &[u64],
        from: &[usize],
    ) -> Vec<Vec<u64>> {
        let vector = |words: &[u64]| {
            let mut vector = [V::zero()];
            words_mut(&mut vector).copy_from_slice(words);
            vector[0]
        };
        let (a, b, mask, counts) = (vector(a), vector(b), vector(mask), vector(counts));
        // The groups of a word are those of another one, in reverse order.
        let reversed = |word: usize| {
            (0..4).map(|place| (4 * from[word] as u64 + 3 - place) << (16 * place)).sum::<u64>()
        };
        let groups = vector(&(0..V::WORDS).map(reversed).collect::<Vec<_>>());
        let all = [
            a & b,
            a | b,
            a ^ b,
            !a,
            mask.select(a, b),
            a.shift_left(counts),
            a.shift_right(counts),
            a.permute(V::order(|word| from[word])),
            a.move_groups(groups),
            Vector::plus(a, b),
            Vector::times(a, b),
            V::load(words(&[a, b])),
            V::zero(),
            V::ones(),
            V::splat(0x0123_4567_89ab_cdef),
        ];
        let mut stored = vec![0; V::WORDS + 1];
        a.store(&mut stored);
        let anything = [a.any(), (a & !a).any()].map(|any| vec![u64::from(any)]);
        let anything = anything.into_iter().chain([vec![count_ones(words(&[a, b]))], stored]);
        all.iter().map(|one| words(std::slice::from_ref(one)).to_vec()).chain(anything).collect()
    }

    /// The same word by word.
    fn expected(a: &[u64], b: &[u64], mask: &[u64], counts: &[u64], from: &[usize]) -> Vec<Vec<u64>> {
        let each = |one: &dyn Fn(usize) -> u64| -> Vec<u64> { (0..a.len()).map(one).collect() };
        vec![
            each(&|word| a[word] & b[word]),
            each(&|word| a[word] | b[word]),
            each(&|word| a[word] ^ b[word]),
            each(&|word| !a[word]),
            each(&|word| mask[word] & a[word] | !mask[word] & b[word]),
            each(&|word| if counts[word] < 64 { a[word] << counts[word] } else { 0 }),
            each(&|word| if counts[word] < 64 { a[word] >> counts[word] } else { 0 }),
            each(&|word| a[from[word]]),
            each(&|word| {
                (0..4).map(|place| (a[from[word]] >> (16 * (3 - place)) & 0xffff) << (16 * place)).sum()
            }),
            each(&|word| a[word].wrapping_add(b[word])),
            each(&|word| a[word].wrapping_mul(b[word])),
            a.to_vec(),
            each(&|_| 0),
            each(&|_| u64::MAX),
            each(&|_| 0x0123_4567_89ab_cdef),
            vec![u64::from(a.iter().any(|&word| word != 0))],
            vec![0],
            vec![a.iter().chain(b).map(|word| u64::from(word.count_ones())).sum()],
            [a, &[0]].concat(),
        ]
    }

    struct Inside<'a, V>(&'a [Vec<u64>; 4], &'a [usize], PhantomData<V>);

    impl<V: Vector> Task for Inside<'_, V> {
        type Output = Vec<Vec<u64>>;

        #[inline(always)]
        fn run(self) -> Self::Output {
            let [a, b, mask, counts] = self.0;
            results::<V>(a, b, mask, counts, self.1)
        }
    }

    fn check<V: Vector>(words: &[[u64; 4]], from: &[usize]) -> Result<(), TestCaseError> {
        let Some(proof) = V::available() else { return Ok(()) };
        let columns: [Vec<u64>; 4] =
            std::array::from_fn(|column| words[..V::WORDS].iter().map(|row| row[column]).collect());
        let from: Vec<usize> = from[..V::WORDS].iter().map(|word| word % V::WORDS).collect();
        let [a, b, mask, counts] = &columns;
        let got = V::enter(proof, Inside::<V>(&columns, &from, PhantomData));
        prop_assert_eq!(got, expected(a, b, mask, counts, &from));
        Ok(())
    }

    proptest! {
        #[test]
        fn vectors_do_what_words_do(
            rows in prop::collection::vec(
                (prop_oneof![Just(0), any::<u64>()], any::<u64>(), any::<u64>(), 0_u64..=64),
                8,
            ),
            from in prop::collection::vec(0_usize..8, 8),
        ) {
            let words: Vec<[u64; 4]> = rows.iter().map(|&(a, b, mask, count)| [a, b, mask, count]).collect();
            check::<Words<1>>(&words, &from)?;
            check::<Words<4>>(&words, &from)?;
            check::<Words<8>>(&words, &from)?;
            #[cfg(all(target_arch = "x86_64", feature = "vectors"))]
            {
                check::<Avx2>(&words, &from)?;
                check::<Avx512>(&words, &from)?;
            }
        }
    }
}
