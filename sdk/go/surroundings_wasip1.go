package jobhost

import "github.com/jobhost/jobhost/sdk/go/internal/wire"

// surroundings is the host of this process.
func surroundings() wire.Host { return wire.Imports{} }
