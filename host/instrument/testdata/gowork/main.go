package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"sort"
	"strings"
)

type rec struct {
	Name string   `json:"name"`
	N    int      `json:"n"`
	L    []string `json:"l"`
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}
func main() {
	b, _ := io.ReadAll(os.Stdin)
	var in map[string]any
	_ = json.Unmarshal(b, &in)
	re := regexp.MustCompile(`a+b*(c|d)+`)
	tot := 0
	for i := 0; i < 60; i++ {
		rs := []rec{}
		for j := 0; j < 100; j++ {
			rs = append(rs, rec{fmt.Sprintf("name%d", j*7919%1000), j, []string{"a", "b"}})
		}
		sort.Slice(rs, func(a, b int) bool { return rs[a].Name < rs[b].Name })
		o, _ := json.Marshal(rs)
		var back []rec
		_ = json.Unmarshal(o, &back)
		h := sha256.Sum256(o)
		tot += int(h[0]) + len(back)
		if re.MatchString(strings.Repeat("aab", 200) + "c") {
			tot++
		}
	}
	x := 0
	for i := 0; i < 3000000; i++ {
		x += i * x
	}
	fmt.Println(tot, fib(24), x)
}
