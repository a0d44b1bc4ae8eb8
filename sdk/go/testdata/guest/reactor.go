//go:build wasip1 && reactor

package main

import jobhost "github.com/jobhost/jobhost/sdk/go"

//go:wasmexport jobhost_run
func run() int32 { return jobhost.Call(handle) }
