// Command hello is the smallest useful job: it reads its data, writes a line to its log and returns a result.
//
// It is a plain WASI program. The host pipes the job's data into standard input, keeps standard error as the run's log,
// and takes standard output as its result.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// exDataErr is the exit code that says: trying again is pointless.
const exDataErr = 65

func main() {
	if err := run(os.Stdin, os.Stdout, os.Stderr, os.Getenv); err != nil {
		fmt.Fprintln(os.Stderr, err) // the last line is the run's error message
		if errors.Is(err, errData) {
			os.Exit(exDataErr)
		}
		os.Exit(1)
	}
}

// data is what the job's definition gives.
type data struct {
	Name string `json:"name"` // whom to greet; the world if empty
}

// result is what the run returns.
type result struct {
	Greeting string `json:"greeting"`
	Job      string `json:"job"`
	Attempt  string `json:"attempt"`
}

var errData = errors.New("the data is wrong")

func run(stdin io.Reader, stdout, stderr io.Writer, env func(string) string) error {
	var d data
	if err := json.NewDecoder(stdin).Decode(&d); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", errData, err)
	}
	if d.Name = strings.TrimSpace(d.Name); d.Name == "" {
		d.Name = "world"
	}
	greeting := "Hello, " + d.Name + "!"
	if _, err := fmt.Fprintf(stderr, "%s I was due at %s.\n", greeting, env("JOBHOST_SCHEDULED_AT")); err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(result{greeting, env("JOBHOST_JOB"), env("JOBHOST_ATTEMPT")})
}
