package host

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	wasi "github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// function is one host function: what a guest imports and what happens when it calls it.
type function struct {
	name            string
	params, results []api.ValueType
	call            api.GoModuleFunc
}

// stockWASI returns the functions of wazero's WASI preview 1 by name. They are surrounded by ours, since some of them
// can hurt the host: a path of 256 MiB costs 0.6 s and twice its size before anybody looks at it. wazero lets a
// function be replaced but not be surrounded, so they are taken out of its host module by reflection, through exported
// fields alone. If a later wazero has other fields this fails at once, in every test and at start.
var stockWASI = sync.OnceValues(func() (fs map[string]function, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the WASI module of this wazero has changed: %v", p)
		}
	}()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer func() { err = errors.Join(err, rt.Close(ctx)) }()
	if _, err := wasi.Instantiate(ctx, rt); err != nil {
		return nil, err
	}
	module := rt.Module(wasi.ModuleName)
	source := reflect.ValueOf(module).FieldByName("Module").Elem().Elem().FieldByName("Source").Elem()
	code, exports := source.FieldByName("CodeSection"), source.FieldByName("ExportSection")
	defs := module.ExportedFunctionDefinitions()
	fs = make(map[string]function, exports.Len())
	for i := range exports.Len() {
		name := exports.Index(i).FieldByName("Name").String()
		index := int(exports.Index(i).FieldByName("Index").Uint())
		call, ok := reflect.TypeAssert[api.GoModuleFunction](code.Index(index).FieldByName("GoFunc"))
		if !ok {
			return nil, fmt.Errorf("the WASI module of this wazero has changed: %s is no Go function", name)
		}
		d := defs[name]
		fs[name] = function{name, d.ParamTypes(), d.ResultTypes(), call.Call}
	}
	return fs, nil
})
