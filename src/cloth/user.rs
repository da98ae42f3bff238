//! Fields of a user's own stages and solvers.

use super::{Cloth, Engine};
use crate::engine::layout::Element;
use crate::error::{Error, Result};

impl Cloth {
    /// Fills a field that a stage or solver of the user's own declared ([`crate::stage::Stage::fields`]). On a GPU it
    /// takes effect with the next submission, before anything recorded but not yet submitted.
    ///
    /// # Errors
    /// [`Error::Field`] if there is no such field, it is one of the engine's, or `T` is not its element;
    /// [`Error::LengthMismatch`] for another number of elements.
    pub fn set_user_field<T: Element>(&mut self, name: &str, values: &[T]) -> Result<()> {
        if !name.starts_with("user_") {
            let problem = "is a field of the engine: only those that start with `user_` may be filled".into();
            return Err(Error::Field { name: name.into(), problem });
        }
        self.check_device()?;
        let field = self.fields.get_mut::<T>(name)?;
        let (expected, found) = (field.len(), values.len());
        if expected != found {
            return Err(Error::LengthMismatch { field: "values", expected, found });
        }
        field.copy_from_slice(values);
        match &self.engine {
            Engine::Gpu(runner) => runner.write(&self.fields, name),
            Engine::Cpu(_) => Ok(()),
        }
    }
}
