package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
)

// dataFlag adds --data to a command, and returns where its value will be.
func dataFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String("data", "", "data of the run: a JSON object, @file, or - for standard input")
}

// data reads the value of --data.
func (c *cli) data(value string) (json.RawMessage, error) {
	raw := []byte(value)
	var err error
	switch {
	case value == "-":
		raw, err = readAll(c.in)
	case strings.HasPrefix(value, "@"):
		var f *os.File
		if f, err = os.Open(value[1:]); err != nil {
			break
		}
		raw, err = readAll(f)
		_ = f.Close() // it was read only
	}
	if err != nil {
		return nil, usage("--data %s: %w", value, err)
	}
	if raw = []byte(strings.TrimSpace(string(raw))); len(raw) == 0 {
		return nil, nil
	}
	if err := jobhost.CheckData(raw); err != nil {
		return nil, usage("--data: %w", err)
	}
	return raw, nil
}

// readAll reads no more than data may have.
func readAll(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, jobhost.MaxData+1))
	if err == nil && len(raw) > jobhost.MaxData {
		err = fmt.Errorf("more than the %d bytes that data may have", jobhost.MaxData)
	}
	return raw, err
}
