package engine

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/merit-rl/merit/sandbox/internal/fuel"
)

// Import is one host function. Params and Results name types by a letter: i
// for i32, I for i64, d for f64. Call reads its parameters from the stack and
// writes its result there.
type Import struct {
	Module, Name    string
	Params, Results string
	Call            func(i *Instance, stack []uint64)
}

// hostCallFuel is the fuel of a host call, in addition to the bytes that it moves.
const hostCallFuel = 64

// link instantiates the host modules that a module imports from.
func link(ctx context.Context, r wazero.Runtime, imports []Import, info *fuel.Info) error {
	wanted := map[string]bool{}
	for _, i := range info.Imports {
		wanted[i.Module] = true
	}
	builders := map[string]wazero.HostModuleBuilder{}
	for _, i := range imports {
		if !wanted[i.Module] {
			continue
		}
		b, ok := builders[i.Module]
		if !ok {
			b = r.NewHostModuleBuilder(i.Module)
			builders[i.Module] = b
		}
		call := i.Call
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
			in := ctx.(*callContext).instance
			in.Charge(hostCallFuel)
			call(in, stack)
		}), valueTypes(i.Params), valueTypes(i.Results)).Export(i.Name)
	}
	for name, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			return fmt.Errorf("host module %s: %w", name, err)
		}
	}
	return nil
}

func valueTypes(letters string) []api.ValueType {
	types := make([]api.ValueType, len(letters))
	for i, c := range letters {
		switch c {
		case 'i':
			types[i] = api.ValueTypeI32
		case 'I':
			types[i] = api.ValueTypeI64
		case 'd':
			types[i] = api.ValueTypeF64
		}
	}
	return types
}

// Known reports whether imports contain the import, and whether its signature
// matches.
func Known(imports []Import, i fuel.Import) (exists, fits bool) {
	for _, have := range imports {
		if have.Module == i.Module && have.Name == i.Name {
			return true, fuelTypes(have.Params, i.Func.Params) && fuelTypes(have.Results, i.Func.Results)
		}
	}
	return false, false
}

func fuelTypes(letters string, types []fuel.ValueType) bool {
	if len(letters) != len(types) {
		return false
	}
	for i, t := range valueTypes(letters) {
		if fuel.ValueType(t) != types[i] {
			return false
		}
	}
	return true
}

// Imports returns all host functions of the engine.
func (e *Engine) Imports() []Import { return e.options.Imports }
