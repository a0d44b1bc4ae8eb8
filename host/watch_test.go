package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jobhost/jobhost/host"
)

// tree is a folder in which plugins are moved about.
type tree struct {
	t    *testing.T
	base string
}

func (f tree) at(name string) string { return filepath.Join(f.base, filepath.FromSlash(name)) }

func (f tree) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// swap puts a link to target in place of whatever a name stands for, at once.
func (f tree) swap(target, name string) {
	f.t.Helper()
	f.must(os.Symlink(filepath.FromSlash(target), f.at(name+".new")))
	f.move(name+".new", name)
}

func (f tree) move(from, to string) {
	f.t.Helper()
	f.must(os.Rename(f.at(from), f.at(to)))
}

// folder makes a folder with a plugin p in it.
func (f tree) folder(name, text string) {
	f.t.Helper()
	f.must(os.MkdirAll(f.at(name), 0o700))
	write(f.t, filepath.Join(f.at(name), "p.wasm"), says(text))
}

func (f tree) replace(name, text string) {
	f.t.Helper()
	replace(f.t, f.at(name), says(text))
}

func TestTheWatcherFollowsThePathOfTheFolder(t *testing.T) {
	for name, test := range map[string]struct {
		dir   string // of the plugins
		begin func(f tree)
		steps []func(f tree) // the first makes p say "1", the next "2"
	}{
		"a link to the folder is switched": {
			dir: "current",
			begin: func(f tree) {
				f.folder("v0", "0")
				f.folder("v1", "1")
				f.folder("v2", "2")
				f.swap("v0", "current")
			},
			steps: []func(f tree){
				func(f tree) { f.swap("v1", "current") },
				func(f tree) { f.swap(f.at("v2"), "current") },
				func(f tree) { f.replace("v2/p.wasm", "3") },
			},
		},
		"a link further up is switched": {
			dir: "app/current/plugins",
			begin: func(f tree) {
				f.folder("releases/0/plugins", "0")
				f.folder("releases/1/plugins", "1")
				f.must(os.Mkdir(f.at("app"), 0o700))
				f.swap("../releases/0", "app/current")
			},
			steps: []func(f tree){
				func(f tree) { f.swap("../releases/1", "app/current") },
				func(f tree) {
					f.folder("2", "2")
					f.move("releases/1/plugins", "old")
					f.move("2", "releases/1/plugins")
				},
			},
		},
		"the folder is replaced": {
			dir:   "plugins",
			begin: func(f tree) { f.folder("plugins", "0") },
			steps: []func(f tree){
				func(f tree) {
					f.folder("next", "1")
					f.move("plugins", "old")
					f.move("next", "plugins")
				},
				func(f tree) { f.replace("plugins/p.wasm", "2") },
				func(f tree) {
					f.must(os.RemoveAll(f.at("plugins")))
					f.folder("plugins", "3")
				},
			},
		},
		"a plugin is a link to a link": {
			dir: "plugins",
			begin: func(f tree) {
				f.folder("builds/0", "0")
				f.folder("builds/1", "1")
				f.swap("0", "builds/latest")
				f.must(os.Mkdir(f.at("plugins"), 0o700))
				f.swap("../builds/latest/p.wasm", "plugins/p.wasm")
			},
			steps: []func(f tree){
				func(f tree) { f.swap("1", "builds/latest") },
				func(f tree) { f.replace("builds/1/p.wasm", "2") },
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := tree{t, t.TempDir()}
			test.begin(f)
			changed := make(chan struct{}, 64)
			cfg := host.Defaults()
			cfg.Dir, cfg.Watch = f.at(test.dir), true
			cfg.Changed = func() { changed <- struct{}{} }
			h := openHost(t, cfg)
			wantOutput(t, h, "p", "0")
			for i, step := range test.steps {
				step(f)
				for want := string(rune('1' + i)); ; { // the test's own limit ends it
					if out, _ := run(t, h, "p", ""); out.Code == "" && string(out.Output) == want {
						break
					}
					<-changed
				}
			}
		})
	}
}
