// Package wasmtest writes small WebAssembly modules for tests, without a text format and without a toolchain.
//
// [Module] collects the parts of a module and [Module.Bytes] encodes them. Code is a list of byte slices, one per
// instruction, as [Op] and its like return them. Nothing is validated: a test may build a wrong module on purpose.
//
//	m := wasmtest.New()
//	log := m.ImportFunc("jobhost_v1", "log", "i32 i32 i32 ->")
//	m.Memory(1, 2)
//	m.Export("memory", wasmtest.KindMemory, 0)
//	run := m.Func("-> i32", "",
//		wasmtest.I32Const(0), wasmtest.I32Const(16), wasmtest.I32Const(5), wasmtest.Op(wasmtest.Call, log),
//		wasmtest.I32Const(0))
//	m.Export("jobhost_run", wasmtest.KindFunc, run)
//	m.Data(16, []byte("hello"))
//	module := m.Bytes()
//
// What bites: imports come before the functions, tables, memories and globals that the module defines, since they share
// their numbers, so [Module.ImportFunc] panics once there is a [Module.Func].
package wasmtest
