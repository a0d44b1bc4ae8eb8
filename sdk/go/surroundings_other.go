//go:build !wasip1

package jobhost

import (
	"os"

	"github.com/jobhost/jobhost/sdk/go/internal/standin"
	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// surroundings is the host of this process.
func surroundings() wire.Host { return standin.NewProgram(os.Stdin, os.Stdout, os.Stderr, os.Getenv) }
