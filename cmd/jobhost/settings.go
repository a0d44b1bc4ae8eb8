package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/host"
)

// defaultConfig is read when no -c is given and it is there.
const defaultConfig = "jobhost.yaml"

// configFlag adds -c to a command, and returns where its values will be.
func configFlag(cmd *cobra.Command) *[]string {
	return cmd.Flags().StringArrayP("config", "c", nil, "configuration file or folder; can be given several times (default "+defaultConfig+", if it is there)")
}

// settings reads the configuration: the files given, else the default one if there is one, and the environment.
func (c *cli) settings(paths []string) (*config.Settings, []config.File, error) {
	files, err := readConfig(paths)
	if err != nil {
		return nil, nil, err
	}
	s, err := c.load(files)
	return s, files, err
}

// readConfig reads the files given, else the default one if there is one.
func readConfig(paths []string) ([]config.File, error) {
	if len(paths) == 0 {
		if _, err := os.Stat(defaultConfig); err == nil {
			paths = []string{defaultConfig}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	files, err := config.ReadFiles(paths...)
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	return files, nil
}

// load makes settings of files, the environment and the manifests in the plugin folder.
func (c *cli) load(files []config.File) (*config.Settings, error) {
	return c.loadWith(files, host.ReadManifests)
}

func (c *cli) loadWith(files []config.File, manifests func(dir string) []jobhost.ManifestText) (*config.Settings, error) {
	s, err := config.Load(config.Sources{Files: files, Environ: c.environ, Manifests: manifests})
	if err != nil {
		return nil, exit{exitUsage, err}
	}
	return s, nil
}

// read reads settings as far as they can be read, and what is wrong with them.
func (c *cli) read(files []config.File) (*config.Settings, config.Problems) {
	return config.Read(config.Sources{Files: files, Environ: c.environ, Manifests: host.ReadManifests})
}
