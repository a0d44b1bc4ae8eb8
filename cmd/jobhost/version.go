package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func (c *cli) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: takes(0, 0, "no arguments"), Example: "  jobhost version",
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(c.out, "jobhost %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
