package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Commands that are printed, in examples and in documents, are commands: they exist, and take those flags and arguments.
func TestEveryPrintedCommandIsOne(t *testing.T) {
	printed := map[string][]string{} // by where it is printed
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			printed["the help of "+cmd.CommandPath()] = append(printed["the help of "+cmd.CommandPath()], line)
		}
		for _, below := range cmd.Commands() {
			look(below)
		}
	}
	look((&cli{}).root())
	documents, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(documents, filepath.Join("..", "..", "README.md"), filepath.Join("..", "..", "jobhost.yaml")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			about, isComment := strings.CutPrefix(line, "#   ")
			if isComment {
				line, _, _ = strings.Cut(about, "   ") // what it is about stands beside it
			}
			if isComment || strings.HasPrefix(line, "$ ") {
				printed[file] = append(printed[file], line)
			}
		}
	}
	n := 0
	for where, lines := range printed {
		for _, line := range lines {
			for _, words := range commandsOf(line) {
				n++
				if err := understood(words); err != nil {
					t.Errorf("%s has %q: %v", where, line, err)
				}
			}
		}
	}
	const least = 100 // there are more, and they can be lost by the pattern below
	if n < least {
		t.Errorf("%d commands are found, want at least %d", n, least)
	}
}

func TestAPrintedCommandThatIsNoneIsNoticed(t *testing.T) {
	for _, line := range []string{
		"jobhost job lsx", "jobhost job ls now", "$ ./bin/jobhost run ls --stat failed", "x | jobhost run logs", "jobhost run wait $(jobhost job enqueu a)",
	} {
		var err error
		for _, words := range commandsOf(line) {
			if e := understood(words); e != nil {
				err = e
			}
		}
		if err == nil {
			t.Errorf("%q passes for a command", line)
		}
	}
}

// call is a call of the program in a line of a shell, up to what ends a command there; word is one of its words.
var (
	call = regexp.MustCompile(`(?:^|[\s(/])jobhost((?: +` + word.String() + `)*)`)
	word = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|\$\([^)]*\)|[^\s|<>&)'"#$])+`)
)

// commandsOf are the calls of the program in a line, those in the words of others too.
func commandsOf(line string) (calls [][]string) {
	for _, found := range call.FindAllStringSubmatch(strings.ReplaceAll(strings.TrimSpace(line), "<id>", "id"), -1) {
		var words []string
		for _, w := range word.FindAllString(found[1], -1) {
			if _, within, ok := strings.Cut(w, "$("); ok {
				within, _, _ = strings.Cut(within, ")")
				calls = append(calls, commandsOf(within)...)
			}
			words = append(words, strings.Trim(w, `'"`))
		}
		if len(words) > 0 {
			calls = append(calls, words)
		}
	}
	return calls
}

// understood says what is wrong with a call.
func understood(words []string) error {
	root := (&cli{}).root()
	root.InitDefaultCompletionCmd()
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}
