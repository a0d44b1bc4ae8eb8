package wasmtest_test

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

func TestModuleRunsInWazero(t *testing.T) {
	m := wasmtest.New()
	add := m.ImportFunc("env", "add", "i32 i32 -> i32")
	m.Table(wasmtest.FuncRef, 1, 0)
	m.Memory(1, 2)
	m.Export("memory", wasmtest.KindMemory, 0)
	g := m.Global(wasmtest.I64, wasmtest.I64Const(-5))
	m.Export("global", wasmtest.KindGlobal, g)
	seg := m.PassiveData([]byte("abc"))
	m.Data(16, []byte("hello"))
	m.Start(m.Func("->", "", wasmtest.I32Const(0), wasmtest.I32Const(0), wasmtest.I32Const(3),
		wasmtest.Bulk(wasmtest.MemoryInit, seg, 0)))
	run := m.Func("i32 -> i32", "i32 f64",
		wasmtest.I32Const(7), wasmtest.Op(wasmtest.LocalSet, 1),
		wasmtest.Op(wasmtest.LocalGet, 0), wasmtest.Op(wasmtest.LocalGet, 1),
		wasmtest.I32Const(0), wasmtest.Op(wasmtest.CallIndirect, m.Type("i32 i32 -> i32"), 0))
	m.Elements(0, add)
	m.Export("run", wasmtest.KindFunc, run)
	m.Custom("jobhost", []byte("{}"))

	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCustomSections(true))
	defer func() {
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	_, err := r.NewHostModuleBuilder("env").NewFunctionBuilder().
		WithFunc(func(_ context.Context, a, b int32) int32 { return a + b }).Export("add").Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := r.CompileModule(ctx, m.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if c := compiled.CustomSections(); len(c) != 1 || c[0].Name() != "jobhost" {
		t.Errorf("custom sections are %v, want jobhost alone", c)
	}
	mod, err := r.InstantiateModule(ctx, compiled, wazero.NewModuleConfig())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := mod.ExportedFunction("run").Call(ctx, api.EncodeI32(35)); err != nil || got[0] != 42 {
		t.Errorf("run(35) = %v, %v; want 42", got, err)
	}
	if b, _ := mod.Memory().Read(0, 24); string(b[:3])+string(b[16:21]) != "abchello" {
		t.Errorf("memory is %q, want abc at 0 and hello at 16", b)
	}
	if v := int64(mod.ExportedGlobal("global").Get()); v != -5 {
		t.Errorf("global is %d, want -5", v)
	}
}
