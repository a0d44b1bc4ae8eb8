package host_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jobhost/jobhost/host"
)

// swap puts a link to target in place of whatever a name stands for, at once.
func swap(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name+".new"); err != nil {
		t.Fatal(err)
	}
	move(t, name+".new", name)
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// folderOf makes a folder with a plugin p in it.
func folderOf(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "p.wasm"), says(text))
}

func TestTheWatcherFollowsThePathOfTheFolder(t *testing.T) {
	for name, test := range map[string]struct {
		dir   string // of the plugins, below base
		begin func(t *testing.T, base string)
		steps []func(t *testing.T, base string) // the n-th makes p say "n"
	}{
		"a link to the folder is switched": {
			dir: "current",
			begin: func(t *testing.T, base string) {
				folderOf(t, filepath.Join(base, "v0"), "0")
				folderOf(t, filepath.Join(base, "v1"), "1")
				folderOf(t, filepath.Join(base, "v2"), "2")
				swap(t, "v0", filepath.Join(base, "current"))
			},
			steps: []func(t *testing.T, base string){
				func(t *testing.T, base string) { swap(t, "v1", filepath.Join(base, "current")) },
				func(t *testing.T, base string) { swap(t, filepath.Join(base, "v2"), filepath.Join(base, "current")) },
				func(t *testing.T, base string) { replace(t, filepath.Join(base, "v2", "p.wasm"), says("3")) },
			},
		},
		"a link further up is switched": {
			dir: filepath.Join("app", "current", "plugins"),
			begin: func(t *testing.T, base string) {
				folderOf(t, filepath.Join(base, "releases", "0", "plugins"), "0")
				folderOf(t, filepath.Join(base, "releases", "1", "plugins"), "1")
				if err := os.Mkdir(filepath.Join(base, "app"), 0o700); err != nil {
					t.Fatal(err)
				}
				swap(t, filepath.Join("..", "releases", "0"), filepath.Join(base, "app", "current"))
			},
			steps: []func(t *testing.T, base string){
				func(t *testing.T, base string) {
					swap(t, filepath.Join("..", "releases", "1"), filepath.Join(base, "app", "current"))
				},
				func(t *testing.T, base string) {
					folderOf(t, filepath.Join(base, "2"), "2")
					move(t, filepath.Join(base, "releases", "1", "plugins"), filepath.Join(base, "old"))
					move(t, filepath.Join(base, "2"), filepath.Join(base, "releases", "1", "plugins"))
				},
			},
		},
		"the folder is replaced": {
			dir:   "plugins",
			begin: func(t *testing.T, base string) { folderOf(t, filepath.Join(base, "plugins"), "0") },
			steps: []func(t *testing.T, base string){
				func(t *testing.T, base string) {
					folderOf(t, filepath.Join(base, "next"), "1")
					move(t, filepath.Join(base, "plugins"), filepath.Join(base, "old"))
					move(t, filepath.Join(base, "next"), filepath.Join(base, "plugins"))
				},
				func(t *testing.T, base string) { replace(t, filepath.Join(base, "plugins", "p.wasm"), says("2")) },
				func(t *testing.T, base string) {
					if err := os.RemoveAll(filepath.Join(base, "plugins")); err != nil {
						t.Fatal(err)
					}
					folderOf(t, filepath.Join(base, "plugins"), "3")
				},
			},
		},
		"a plugin is a link to a link": {
			dir: "plugins",
			begin: func(t *testing.T, base string) {
				folderOf(t, filepath.Join(base, "builds", "0"), "0")
				folderOf(t, filepath.Join(base, "builds", "1"), "1")
				swap(t, "0", filepath.Join(base, "builds", "latest"))
				if err := os.Mkdir(filepath.Join(base, "plugins"), 0o700); err != nil {
					t.Fatal(err)
				}
				swap(t, filepath.Join("..", "builds", "latest", "p.wasm"), filepath.Join(base, "plugins", "p.wasm"))
			},
			steps: []func(t *testing.T, base string){
				func(t *testing.T, base string) { swap(t, "1", filepath.Join(base, "builds", "latest")) },
				func(t *testing.T, base string) { replace(t, filepath.Join(base, "builds", "1", "p.wasm"), says("2")) },
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			test.begin(t, base)
			changed := make(chan struct{}, 64)
			cfg := host.Defaults()
			cfg.Dir, cfg.Watch = filepath.Join(base, test.dir), true
			cfg.Changed = func() { changed <- struct{}{} }
			h := openHost(t, cfg)
			wantOutput(t, h, "p", "0")
			for i, step := range test.steps {
				step(t, base)
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
