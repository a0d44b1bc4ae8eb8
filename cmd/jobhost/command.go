package main

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// group is a command that only has commands. Without one it shows its help.
func (c *cli) group(use, short, example string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			hint := "see " + cmd.CommandPath() + " --help"
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				hint = "did you mean " + strings.Join(near, " or ") + "?"
			}
			return usage("%s: there is no command %q; %s", cmd.CommandPath(), args[0], hint)
		},
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SuggestionsMinimumDistance: 2,
	}
	cmd.AddCommand(commands...)
	return cmd
}

// takes accepts from least to most arguments; most below 0 is no limit. What says it in words.
func takes(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && (most < 0 || len(args) <= most) {
			return nil
		}
		return usage("%s: takes %s, got %d arguments; see %s --help", cmd.CommandPath(), what, len(args), cmd.CommandPath())
	}
}

// choice is a flag that takes one of a few words.
type choice struct {
	value *string
	words []string
}

// String is the word that was chosen.
func (c choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Set chooses a word.
func (c choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return fmt.Errorf("want one of %s", strings.Join(c.words, ", "))
	}
	*c.value = s
	return nil
}

// Type lists the words.
func (c choice) Type() string { return strings.Join(c.words, "|") }

// The forms of output.
const (
	asTable = "table"
	asJSON  = "json"
)

// format adds the flag -o to a command, and returns where its value will be.
func format(cmd *cobra.Command) *string {
	form := asTable
	cmd.Flags().VarP(choice{&form, []string{asTable, asJSON}}, "output", "o", "write a table with local times, or JSON with UTC ones")
	return &form
}

// mistake says what is wrong with the value of a flag, without the words of the parser behind it.
func mistake(err error) string {
	text, why, ok := strings.Cut(err.Error(), " flag: ")
	number, isNumber := errors.AsType[*strconv.NumError](err)
	switch {
	case !ok:
		return err.Error()
	case isNumber && number.Func == "ParseBool":
		why = "want true or false"
	case isNumber && errors.Is(err, strconv.ErrRange):
		why = "want a number that is not so large"
	case isNumber:
		why = "want a whole number"
	case strings.HasPrefix(why, "time: "):
		why = "want a duration such as 90s or 10m"
	}
	return text + " flag: " + why
}

// ownExits annotates a command that asks no host with the exit codes that it has beyond the usual ones.
const ownExits = "exits"

// alsoExits are these annotations.
func alsoExits(codes ...string) map[string]string {
	return map[string]string{ownExits: strings.Join(codes, ", ")}
}

// absent gives an error the exit code of what is not there, if it is of a file that is not.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return exit{exitNotFound, err}
	}
	return err
}

// document completes the help of a command and those below it: which exit codes it has.
func document(cmd *cobra.Command) {
	for _, below := range cmd.Commands() {
		document(below)
	}
	if cmd.HasSubCommands() {
		return
	}
	if cmd.Long == "" {
		cmd.Long = cmd.Short + "."
	}
	codes := []string{"0 ok", "1 failed", "2 wrong use or configuration"}
	if own := cmd.Annotations[ownExits]; own != "" {
		codes = append(codes, own)
	}
	if cmd.Flags().Lookup("server") != nil {
		codes = append(codes, "3 not there", "4 something is in the way", "5 no host answers")
		if cmd.Flags().Lookup("timeout") != nil {
			codes = append(codes, "124 waited too long")
		}
		codes = append(codes, "130 interrupted")
	}
	cmd.Long += "\n\nExit codes: " + strings.Join(codes, ", ") + "."
}

// fit breaks the lines of help for a terminal, of which the width is 0 where it is not known.
func fit(root *cobra.Command, width int) {
	const usual, most = 80, 100 // characters: where nothing is known, and what is still easy to read
	if width == 0 {
		width = usual
	}
	width = min(width, most)
	fitText(root, width)
	flags := regexp.MustCompile(`\.(Local|Inherited)Flags\.FlagUsages\b`)
	root.SetUsageTemplate(flags.ReplaceAllString(root.UsageTemplate(), fmt.Sprintf("(.${1}Flags.FlagUsagesWrapped %d)", width)))
}

func fitText(cmd *cobra.Command, width int) {
	paragraphs := strings.Split(cmd.Long, "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.Join(wrap(strings.ReplaceAll(p, "\n", " "), width), "\n")
	}
	cmd.Long = strings.Join(paragraphs, "\n\n")
	for _, below := range cmd.Commands() {
		fitText(below, width)
	}
}
