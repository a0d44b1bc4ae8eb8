// The guest of the comparison, in Go. It reads {"do":…,"n":…} and prints {"result":…}.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"
)

type request struct {
	Do string `json:"do"`
	N  int    `json:"n"`
}

func main() {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		fail(err)
	}
	var r request
	if err := json.Unmarshal(data, &r); err != nil {
		fail(err)
	}
	result := ""
	switch r.Do {
	case "hello":
		result = "hello"
	case "sort":
		result = sorted(r.N)
	case "sha256":
		result = hashed(r.N)
	case "json":
		result = parsed(r.N)
	case "log":
		for i := range r.N {
			fmt.Fprintf(os.Stderr, "line %d of a run that has a lot to say\n", i)
		}
	case "now":
		result = strconv.FormatInt(time.Now().UnixMicro(), 10)
	case "spin":
		for {
			sorted(1000)
		}
	default:
		fail(fmt.Errorf("do is %q", r.Do))
	}
	if err := json.NewEncoder(os.Stdout).Encode(map[string]string{"result": result}); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// random is the same sequence in all languages.
type random uint32

func (r *random) next() uint32 {
	*r = *r*1664525 + 1013904223
	return uint32(*r)
}

func sorted(n int) string {
	r := random(1)
	v := make([]uint32, n)
	for i := range v {
		v[i] = r.next()
	}
	slices.Sort(v)
	var sum uint32
	for _, x := range v {
		sum = sum*31 + x
	}
	return strconv.FormatUint(uint64(sum), 10)
}

func hashed(n int) string {
	r := random(1)
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(r.next() >> 24)
	}
	for range n {
		h := sha256.Sum256(block)
		copy(block, h[:])
	}
	return hex.EncodeToString(block[:32])
}

type record struct {
	ID     uint64   `json:"id"`
	Name   string   `json:"name"`
	Values []uint64 `json:"values"`
	OK     bool     `json:"ok"`
}

func parsed(n int) string {
	r := random(1)
	var text bytes.Buffer
	text.WriteByte('[')
	for i := range n {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"id":%d,"name":"job \"%d\"","values":[%d,%d,%d],"ok":%t}`, i, i, r.next(), r.next(), r.next(), i%2 == 0)
	}
	text.WriteByte(']')
	var records []record
	if err := json.Unmarshal(text.Bytes(), &records); err != nil {
		fail(err)
	}
	var sum uint64
	for _, rec := range records {
		sum += rec.ID
		for _, v := range rec.Values {
			sum += v
		}
		if rec.OK {
			sum++
		}
	}
	return strconv.FormatUint(sum, 10)
}
