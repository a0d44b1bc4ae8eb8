package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestEveryCommandExplainsItself(t *testing.T) {
	root := (&cli{}).root()
	root.InitDefaultCompletionCmd()
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, below := range cmd.Commands() {
			look(below)
		}
		if strings.HasPrefix(cmd.CommandPath(), "jobhost completion") || cmd.Name() == "help" {
			return // cobra's own
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: short help is %q; want a phrase without a full stop", cmd.CommandPath(), cmd.Short)
		}
		if !strings.HasPrefix(cmd.Example, "  jobhost ") {
			t.Errorf("%s: example is %q; want lines that begin with the program", cmd.CommandPath(), cmd.Example)
		}
		if lines := strings.Count(cmd.Long, "\nExit codes: 0 ok, "); lines != 1 && !cmd.HasSubCommands() {
			t.Errorf("%s: %d lines about exit codes, want one:\n%s", cmd.CommandPath(), lines, cmd.Long)
		}
		for line := range strings.Lines(cmd.Long) {
			if len(line) > 81 {
				t.Errorf("%s: a line of the help has %d characters: %s", cmd.CommandPath(), len(line), line)
			}
		}
	}
	look(root)
	if root.InitDefaultHelpCmd(); len(root.Commands()) < 10 {
		t.Errorf("%d commands, want all of them", len(root.Commands()))
	}
}
