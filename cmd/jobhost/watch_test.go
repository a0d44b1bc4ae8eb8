package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
)

// watched is a watcher of files that a test writes, in a bubble. Reloads are told by their time and the content.
type watched struct {
	*testing.T

	began   time.Time
	asked   chan os.Signal
	plugins chan struct{}
	log     bytes.Buffer

	mu      sync.Mutex
	text    string
	readErr error
	refuse  error
	other   bool // plugins bring other manifests than were taken
	told    []string
	scanned int
}

func watching(t *testing.T, story func(w *watched)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &watched{T: t, began: time.Now(), asked: make(chan os.Signal), plugins: make(chan struct{}), text: "first"}
		r := &watcher{
			log: slog.New(slog.NewTextHandler(&w.log, nil)), read: w.read, reload: w.reload, rescan: w.rescan, stale: w.stale,
			asked: w.asked, plugins: w.plugins, tried: content{files: []config.File{{Name: "f", Data: []byte("first")}}},
		}
		ctx, stop := context.WithCancel(t.Context())
		var over sync.WaitGroup
		over.Go(func() { r.watch(ctx) })
		story(w)
		stop()
		over.Wait()
	})
}

func (w *watched) read() ([]config.File, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return []config.File{{Name: "f", Data: []byte(w.text)}}, w.readErr
}

func (w *watched) reload(_ context.Context, files []config.File) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, fmt.Sprintf("%s@%v", files[0].Data, time.Since(w.began)))
	return w.refuse
}

func (w *watched) stale() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.other
}

func (w *watched) rescan(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.scanned++
	return nil
}

// write changes the files, or how they are taken.
func (w *watched) write(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *watched) until(d time.Duration) {
	time.Sleep(time.Until(w.began.Add(d)))
	synctest.Wait()
}

// is compares the reloads so far.
func (w *watched) is(want ...string) {
	w.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := strings.Join(w.told, " "); got != strings.Join(want, " ") {
		w.Errorf("reloads are %s, want %s", got, want)
	}
}

func TestWhenAConfigurationIsTaken(t *testing.T) {
	t.Run("what does not change is not taken again", func(t *testing.T) {
		watching(t, func(w *watched) {
			w.until(time.Hour)
			w.is()
			if w.scanned != 3600/30 {
				w.Errorf("the plugin folder was read %d times", w.scanned)
			}
		})
	})
	t.Run("other content is taken once it is left alone", func(t *testing.T) {
		watching(t, func(w *watched) {
			w.until(3 * time.Second)
			w.write(func() { w.text = "half" })
			w.until(4*time.Second + 100*time.Millisecond) // seen once
			w.write(func() { w.text = "whole" })
			w.until(time.Minute)
			w.is("whole@4.5s")
		})
	})
	t.Run("what is back as it was is not taken", func(t *testing.T) {
		watching(t, func(w *watched) {
			w.until(1900 * time.Millisecond)
			w.write(func() { w.text = "" })
			w.until(2100 * time.Millisecond)
			w.write(func() { w.text = "first" })
			w.until(time.Minute)
			w.is()
		})
	})
	t.Run("a signal takes it at once, changed or not", func(t *testing.T) {
		watching(t, func(w *watched) {
			w.until(time.Second)
			w.asked <- syscall.SIGHUP
			w.is("first@1s")
			w.write(func() { w.text = "second" })
			w.asked <- syscall.SIGHUP
			w.is("first@1s", "second@1s")
			w.until(time.Minute)
			w.is("first@1s", "second@1s")
		})
	})
	t.Run("other manifests of plugins are taken as they come", func(t *testing.T) {
		watching(t, func(w *watched) {
			w.plugins <- struct{}{}
			w.until(time.Second)
			w.is()
			w.write(func() { w.other = true })
			w.plugins <- struct{}{}
			w.until(2 * time.Second)
			w.is("first@1s")
		})
	})
	t.Run("what was refused is tried again when plugins change, and said once", func(t *testing.T) {
		watching(t, func(w *watched) {
			w.plugins <- struct{}{}
			w.is()
			w.write(func() {
				w.text = "bad"
				w.refuse = exit{exitUsage, config.Problems{{Key: "jobs[a]", Msg: "no plugin"}, {Key: "jobs[b]", Msg: "no plugin"}}}
			})
			w.until(time.Minute)
			w.is("bad@2.25s")
			w.plugins <- struct{}{}
			w.is("bad@2.25s", "bad@1m0s")
			if log := w.log.String(); strings.Count(log, "the last good one stays") != 1 || !strings.Contains(log, "jobs[a]") || !strings.Contains(log, "jobs[b]") {
				w.Errorf("the log is\n%s", log)
			}
			w.write(func() { w.refuse = nil })
			w.plugins <- struct{}{}
			w.plugins <- struct{}{}
			w.is("bad@2.25s", "bad@1m0s", "bad@1m0s")
		})
	})
	t.Run("a store that fails is tried again by itself", func(t *testing.T) {
		watching(t, func(w *watched) {
			w.write(func() {
				w.text = "new"
				w.refuse = &jobhost.Error{Code: jobhost.StoreUnreachable, Msg: "gone"}
			})
			w.until(5 * time.Second)
			w.is("new@2.25s", "new@4.25s")
			w.write(func() { w.refuse = nil })
			w.until(time.Minute)
			w.is("new@2.25s", "new@4.25s", "new@6.25s")
		})
	})
	t.Run("files that cannot be read are a mistake, said once, until they can", func(t *testing.T) {
		watching(t, func(w *watched) {
			w.write(func() { w.readErr = errors.New("permission denied") })
			w.until(time.Minute)
			w.is()
			if got := strings.Count(w.log.String(), "permission denied"); got != 1 {
				w.Errorf("said %d times:\n%s", got, &w.log)
			}
			w.write(func() { w.readErr = nil })
			w.until(2 * time.Minute)
			w.is("first@1m0.5s")
		})
	})
}

func TestEachSettingThatNeedsAStartIsNamed(t *testing.T) {
	reference := config.Reference()
	taken := map[string]bool{"Calendars": true, "Jobs": true, "Grants": true, "Manifests": true, "Vars": true, "LeftOut": true, "Warnings": true}
	var check func(field reflect.Value, of *config.Settings, name string)
	check = func(field reflect.Value, of *config.Settings, name string) {
		if field.Kind() == reflect.Struct {
			for i := range field.NumField() {
				check(field.Field(i), of, name+"."+field.Type().Field(i).Name)
			}
			return
		}
		was := config.Defaults()
		before := reflect.New(field.Type()).Elem()
		before.Set(field)
		switch field.Kind() { //nolint:exhaustive // the kinds that settings have
		case reflect.String:
			field.SetString("/another")
		case reflect.Bool:
			field.SetBool(!field.Bool())
		case reflect.Int, reflect.Int64:
			field.SetInt(field.Int() + 1)
		case reflect.Uint64:
			field.SetUint(field.Uint() + 1)
		default:
			t.Fatalf("%s is a %v, which this test does not know", name, field.Kind())
		}
		if keys := startOnly(&was, of); name == ".DataDir" {
			if len(keys) == 0 || keys[0] != "data_dir" {
				t.Errorf("data_dir: %v", keys)
			}
		} else if len(keys) != 1 || !strings.Contains(reference, "`"+keys[0][strings.LastIndexByte(keys[0], '.')+1:]+"`") {
			t.Errorf("a change of %s is reported as %v; want one key of docs/config.md", name, keys)
		}
		field.Set(before)
	}
	is := config.Defaults()
	s := reflect.ValueOf(&is).Elem()
	for i := range s.NumField() {
		if name := s.Type().Field(i).Name; !taken[name] {
			check(s.Field(i), &is, "."+name)
		}
	}
	was := config.Defaults()
	if keys := startOnly(&was, &is); len(keys) != 0 {
		t.Errorf("without a difference: %v", keys)
	}
}
