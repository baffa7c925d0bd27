//! Scalar arguments of a call: by name in text and passes, by register in a running program.

use std::fmt;

use smallvec::SmallVec;

use super::{KernelCode, KernelEntry, KernelError, ScalarSpec};

/// The scalar arguments of a call, in ABI order and in range.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ScalarValues {
    entry: &'static KernelEntry,
    values: SmallVec<[i32; 6]>,
}

impl ScalarValues {
    /// The scalars of `entry` from name and value, in any order, each exactly once.
    ///
    /// # Errors
    /// [`KernelCode::WrongScalars`] for an unknown, missing or repeated name, [`KernelCode::ScalarOutOfRange`].
    pub fn from_named<'n>(
        entry: &'static KernelEntry,
        named: impl IntoIterator<Item = (&'n str, i64)>,
    ) -> Result<Self, KernelError> {
        let wrong = |message| Err(KernelError::new(KernelCode::WrongScalars, message));
        let mut slots: SmallVec<[Option<i64>; 6]> = entry.scalars.iter().map(|_| None).collect();
        for (name, value) in named {
            let index = entry.scalars.iter().position(|spec| spec.name == name);
            let Some(slot) = index.and_then(|index| slots.get_mut(index)) else {
                return wrong(format!("`{}` has no scalar `{name}`; {}", entry.name, expected(entry)));
            };
            if slot.replace(value).is_some() {
                return wrong(format!("scalar `{name}` of `{}` is given twice", entry.name));
            }
        }
        let mut values = SmallVec::<[i64; 6]>::new();
        for (spec, slot) in entry.scalars.iter().zip(slots) {
            match slot {
                Some(value) => values.push(value),
                None => {
                    return wrong(format!(
                        "scalar `{}` of `{}` is missing; {}",
                        spec.name,
                        entry.name,
                        expected(entry)
                    ));
                }
            }
        }
        Self::from_values(entry, &values)
    }

    /// The scalars of `entry` in ABI order.
    ///
    /// # Errors
    /// [`KernelCode::WrongScalars`] for another number of values, [`KernelCode::ScalarOutOfRange`].
    pub fn from_values(entry: &'static KernelEntry, values: &[i64]) -> Result<Self, KernelError> {
        if values.len() != entry.scalars.len() {
            let message =
                format!("`{}` takes {} scalars, found {}", entry.name, entry.scalars.len(), values.len());
            return Err(KernelError::new(KernelCode::WrongScalars, message));
        }
        let values = entry.scalars.iter().zip(values).map(|(spec, &value)| in_range(entry, spec, value));
        Ok(Self { entry, values: values.collect::<Result<_, _>>()? })
    }

    /// The scalars of `entry` as registers hold them, in ABI order; more registers than scalars are ignored.
    ///
    /// # Errors
    /// As [`Self::from_values`].
    pub fn from_registers(entry: &'static KernelEntry, registers: &[u32]) -> Result<Self, KernelError> {
        let values: SmallVec<[i64; 6]> =
            registers.iter().take(entry.scalars.len()).map(|&register| i64::from(register as i32)).collect();
        Self::from_values(entry, &values)
    }

    /// The entry that these scalars belong to.
    #[must_use]
    pub fn entry(&self) -> &'static KernelEntry {
        self.entry
    }

    /// The values in ABI order.
    #[must_use]
    pub fn values(&self) -> &[i32] {
        &self.values
    }

    /// The values as registers hold them, in ABI order.
    pub fn registers(&self) -> impl Iterator<Item = u32> + '_ {
        self.values.iter().map(|&value| value as u32)
    }

    /// Name and value, in ABI order.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, i32)> + '_ {
        self.entry.scalars.iter().map(|spec| spec.name).zip(self.values.iter().copied())
    }

    /// The value of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<i32> {
        self.named().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

impl fmt::Display for ScalarValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.named().enumerate() {
            write!(f, "{}{name} = {value}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl fmt::Debug for ScalarValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScalarValues({}: {self})", self.entry.name)
    }
}

fn in_range(entry: &KernelEntry, spec: &ScalarSpec, value: i64) -> Result<i32, KernelError> {
    if (i64::from(spec.least)..=i64::from(spec.most)).contains(&value)
        && value % i64::from(spec.multiple_of) == 0
    {
        return Ok(value as i32);
    }
    let grain =
        if spec.multiple_of == 1 { String::new() } else { format!("a multiple of {} in ", spec.multiple_of) };
    let message = format!(
        "scalar `{}` of `{}` is {value}; expected {grain}{}..{}",
        spec.name, entry.name, spec.least, spec.most
    );
    Err(KernelError::new(KernelCode::ScalarOutOfRange, message))
}

fn expected(entry: &KernelEntry) -> String {
    if entry.scalars.is_empty() {
        return "it takes none".to_owned();
    }
    let names: Vec<String> = entry.scalars.iter().map(|spec| format!("`{}`", spec.name)).collect();
    format!("expected {}", names.join(", "))
}
