;; The worst case for metering: loops of which each turn is two instructions, and nothing else.
(module
  (memory (export "memory") 1)
  (func (export "_start") (local $i i32)
    (local.set $i (i32.const 500000000))
    (loop $again
      (br_if $again (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))))
