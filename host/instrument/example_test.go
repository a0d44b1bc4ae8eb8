package instrument_test

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/jobhost/jobhost/host/instrument"
)

// A guest that would loop for a long time is ended when it has used a hundred thousand units of fuel.
func ExampleInstrument() {
	r, err := instrument.Instrument(emptyLoop(), instrument.Config{Period: 10_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	rt := wazero.NewRuntime(ctx)
	defer rt.Close(ctx)
	_, err = rt.NewHostModuleBuilder(instrument.TickModule).NewFunctionBuilder().
		WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, _ []uint64) {
			used := instrument.Used(
				m.ExportedGlobal(instrument.GrantedGlobal).Get(), m.ExportedGlobal(instrument.FuelGlobal).Get())
			overflow := int32(m.ExportedGlobal(instrument.StackGlobal).Get()) < 0
			if used > 100_000 || overflow {
				panic(sys.NewExitError(3))
			}
		}), nil, nil).
		Export(instrument.TickFunction).Instantiate(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := rt.Instantiate(ctx, r.Module)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = m.ExportedFunction("run").Call(ctx)
	fmt.Println(err)
	// Output: module closed with exit_code(3)
}
