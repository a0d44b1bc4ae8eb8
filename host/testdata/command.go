// Command is a guest for tests. It does what the field "do" of its input says.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	var in struct {
		Do   string
		N    int
		Path string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, "input:", err)
		os.Exit(1)
	}
	switch in.Do {
	case "echo":
		fmt.Printf(`{"n":%d}`, in.N)
	case "surroundings":
		out, _ := json.Marshal(map[string]any{"args": os.Args, "env": os.Environ()})
		os.Stdout.Write(out)
	case "exit":
		fmt.Fprintln(os.Stderr, "first line")
		fmt.Fprintln(os.Stderr, "the disk is full")
		os.Exit(in.N)
	case "panic":
		panic("boom")
	case "spin":
		for i := 0; ; i++ {
			in.N += i
		}
	case "sleep":
		time.Sleep(time.Duration(in.N) * time.Millisecond)
	case "recurse":
		fmt.Println(recurse(in.N))
	case "allocate":
		var all [][]byte
		for range in.N {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = byte(i)
			}
			all = append(all, b)
		}
		fmt.Println(len(all))
	case "flood":
		line := strings.Repeat("x", 1023) + "\n"
		for range in.N {
			io.WriteString(os.Stdout, line)
			io.WriteString(os.Stderr, line)
		}
	case "read":
		b, err := os.ReadFile(in.Path)
		answer(string(b), err)
	case "write":
		answer("written", os.WriteFile(in.Path, []byte("from the guest"), 0o644))
	case "list":
		entries, err := os.ReadDir(in.Path)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		answer(strings.Join(names, " "), err)
	default:
		panic("do what? " + in.Do)
	}
}

func answer(s string, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(s)
}

//go:noinline
func recurse(n int) int {
	var room [64]int
	if n == 0 {
		return 0
	}
	room[n%64] = n
	return recurse(n-1) + room[n%64]
}
