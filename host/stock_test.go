package host

import "testing"

func TestWazerosWASICanBeTakenApart(t *testing.T) {
	fs, err := stockWASI()
	if err != nil {
		t.Fatal(err)
	}
	if len(fs) < 45 {
		t.Errorf("got %d functions, want at least 45", len(fs))
	}
	for _, name := range []string{"path_open", "fd_write", "proc_exit", "random_get"} {
		if f := fs[name]; f.call == nil || len(f.params) == 0 {
			t.Errorf("%s is %+v", name, f)
		}
	}
}
