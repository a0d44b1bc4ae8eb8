use crate::sys;

/// A part of the run that shows up in its trace. It ends well with [`Span::end`], and as a failure when it is dropped, as
/// after `?`. Its parent is the innermost span that is open. A run has at most 128.
#[derive(Debug)]
pub struct Span {
    id: i32,
    open: bool,
}

impl Span {
    /// Begins a span.
    pub fn start(name: &str) -> Span {
        Span {
            id: unsafe { sys::span_start(name.as_ptr(), name.len() as u32) },
            open: true,
        }
    }

    /// Adds what is to be known about it.
    pub fn set(&self, key: &str, value: &str) {
        unsafe {
            sys::span_attr(
                self.id,
                key.as_ptr(),
                key.len() as u32,
                value.as_ptr(),
                value.len() as u32,
            )
        }
    }

    /// Ends it, as a success.
    pub fn end(mut self) {
        self.close(1);
    }

    fn close(&mut self, ok: i32) {
        if self.open {
            self.open = false;
            unsafe { sys::span_end(self.id, ok) }
        }
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.close(0);
    }
}

/// Marks an instant on the innermost span that is open.
pub fn event(name: &str) {
    unsafe { sys::event(name.as_ptr(), name.len() as u32) }
}
