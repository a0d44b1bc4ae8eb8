// Command linkcheck reports dead relative links and anchors in a folder of Markdown files.
//
// It is a reactor: the host calls jobhost_run, and the guest calls the host for its data, its log, its result and the
// reason of a failure. guest.go has these calls and is built for WebAssembly only; markdown.go reads pages and check.go
// follows their links, and both know nothing of jobhost.
package main

// main is not called: a reactor has none, but the toolchain asks for it.
func main() {}
