package instrument_test

import (
	"bytes"
	"testing"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

func TestAnImageTakesTheDataOutOfTheModule(t *testing.T) {
	image := func(t *testing.T, least int, data func(m *w.Module)) (instrument.Result, int) {
		t.Helper()
		m := w.New()
		m.Memory(16, 16)
		data(m)
		bin := m.Bytes()
		r, err := instrument.Instrument(bin, instrument.Config{Image: least})
		if err != nil {
			t.Fatal(err)
		}
		return r, len(bin)
	}
	text := bytes.Repeat([]byte("data"), 50_000)
	t.Run("later segments win, and gaps are zero", func(t *testing.T) {
		r, size := image(t, len(text)+3, func(m *w.Module) {
			m.Data(100, text)
			m.PassiveData([]byte("passive"))
			m.Data(98, []byte("abc"))
			m.Data(int32(100+len(text)+100), []byte("z"))
			m.Data(16<<16, nil) // at the end of the memory
		})
		want := append(append(append([]byte("abc"), text[1:]...), make([]byte, 100)...), 'z')
		if r.Image.Offset != 98 || !bytes.Equal(r.Image.Data, want) {
			t.Errorf("the image has %d bytes at %d, want %d at 98", len(r.Image.Data), r.Image.Offset, len(want))
		}
		if left := len(r.Module); left > 1000 {
			t.Errorf("%d bytes became %d beside an image of %d", size, left, len(r.Image.Data))
		}
		if !bytes.Contains(r.Module, []byte("passive")) {
			t.Error("the passive segment is lost")
		}
	})
	for name, data := range map[string]func(m *w.Module){
		"too little":    func(m *w.Module) { m.Data(0, text[1:]) },
		"wide gaps":     func(m *w.Module) { m.Data(0, text); m.Data(1_000_000, text[:1]) },
		"out of bounds": func(m *w.Module) { m.Data(0, text); m.Data(16<<16, text[:1]) },
		"an unknown offset": func(m *w.Module) {
			m.Data(0, text)
			m.RawData(append(append([]byte{0}, w.I32Const(1)...), append(w.I32Const(1), w.I32Add, w.End, 1, 'x')...))
		},
		"passive": func(m *w.Module) { m.PassiveData(text) },
		"memory.init of an active segment": func(m *w.Module) {
			m.Data(0, text)
			m.DataCount()
			m.Func("->", "", w.I32Const(0), w.I32Const(0), w.I32Const(0), w.Bulk(w.MemoryInit, 0, 0))
		},
	} {
		t.Run("none: "+name, func(t *testing.T) {
			if r, _ := image(t, len(text), data); r.Image.Data != nil {
				t.Errorf("there is an image of %d bytes at %d", len(r.Image.Data), r.Image.Offset)
			}
		})
	}
	t.Run("none: not asked for", func(t *testing.T) {
		if r, _ := image(t, 0, func(m *w.Module) { m.Data(0, text) }); r.Image.Data != nil {
			t.Errorf("there is an image of %d bytes", len(r.Image.Data))
		}
	})
}
