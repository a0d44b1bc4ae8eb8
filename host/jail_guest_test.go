package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// create opens a new file by the name of n bytes at 0, to write, and leaves the error number. The first file has the number 4.
func (g *guest) create(n int32) []byte {
	const creat, write = 1, 1 << 6
	var code []byte
	for _, v := range []int32{3, 0, 0, n, creat} {
		code = append(code, wasmtest.I32Const(v)...)
	}
	code = append(append(code, wasmtest.I64Const(write)...), wasmtest.I64Const(0)...)
	return append(append(code, wasmtest.I32Const(0)...), g.call("path_open", 32)...)
}

// wroteIn runs a guest that is granted a folder, and returns the numbers that it leaves at 1024 and the file that it made.
func wroteIn(t *testing.T, limit int64, n int, code func(g *guest) [][]byte) (got []int32, file []byte, lines []string) {
	t.Helper()
	dir := t.TempDir()
	g := newGuest()
	g.Data(0, []byte("file"))
	var all []byte
	for i, c := range code(g) {
		all = append(all, store(int32(1024+4*i), c)...)
	}
	grow := append(append(wasmtest.I32Const(1000), wasmtest.Op(wasmtest.MemoryGrow, 0)...), drop...)
	grant := host.Grant{Dirs: []host.Dir{{Host: dir, Guest: "/d", Mode: host.ReadWrite, MaxWritten: limit}}}
	out, s := runGranted(t, host.Defaults(), grant, g.reactor(grow, all, g.nibbles(1024, n)))
	wantSuccess(t, out)
	file, err := os.ReadFile(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	return fromNibbles(out.Output), file, s.lines
}

// load reads a number.
func load(at int32) []byte {
	return append(wasmtest.I32Const(at), wasmtest.Op(wasmtest.I32Load, 2, 0)...)
}

// What a call wrote is the beginning of what it was given: it never goes on with a piece after one that it wrote in part.
func TestPiecesAreWrittenInOrderWithoutAGap(t *testing.T) {
	const big, small = abi.MaxChunk + 100, 4
	for name, write := range map[string]func(g *guest) []byte{
		"fd_write": func(g *guest) []byte { return g.call("fd_write", 4, 64, 3, 96) },
		"fd_pwrite": func(g *guest) []byte {
			var code []byte
			for _, v := range []int32{4, 64, 3} {
				code = append(code, wasmtest.I32Const(v)...)
			}
			return append(append(code, wasmtest.I64Const(0)...), g.call("fd_pwrite", 96)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, file, _ := wroteIn(t, 0, 3, func(g *guest) [][]byte {
				g.Data(64, append(append(iovec(0, small), iovec(2*page, big)...), iovec(0, small)...))
				return [][]byte{g.create(4), write(g), load(96)}
			})
			const want = small + abi.MaxChunk
			if diff := cmp.Diff(got, []int32{0, 0, want}); diff != "" {
				t.Error(diff)
			}
			if !bytes.Equal(file, append([]byte("file"), make([]byte, abi.MaxChunk)...)) {
				t.Errorf("the file has %d bytes, want %d, and none of the last piece", len(file), want)
			}
		})
	}
}

func TestAGuestIsToldThatThereIsNoSpace(t *testing.T) {
	const noSpace = 51
	got, file, lines := wroteIn(t, 4<<10+6, 5, func(g *guest) [][]byte {
		g.Data(64, iovec(0, 4))
		write := g.call("fd_write", 4, 64, 1, 96)
		return [][]byte{g.create(4), write, write, load(96), write}
	})
	if diff := cmp.Diff(got, []int32{0, 0, 0, 2, noSpace}); diff != "" {
		t.Error(diff)
	}
	if string(file) != "filefi" {
		t.Errorf("the file is %q", file)
	}
	if diff := cmp.Diff(lines, []string{"capability_denied: /d: the run has used up its max_written, which is 4 KiB"}); diff != "" {
		t.Error(diff)
	}
}
