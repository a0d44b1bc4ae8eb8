package host

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/jobhost/jobhost"
)

// A file that changes while its last version is being compiled is not run in that version.
func TestOnlyTheNewestVersionOfAFileCounts(t *testing.T) {
	h := &Host{log: slog.New(slog.DiscardHandler), modules: modules{byDigest: map[string]*module{}}}
	compiled := func(digest string) version {
		m := &module{digest: digest, refs: 1}
		h.modules.byDigest[digest] = m
		return version{module: m, manifest: jobhost.Manifest{Key: "p"}}
	}
	p := &plugin{key: "p"}
	h.plugins = map[string]*plugin{"p": p}
	first, second := p.renew(nil), p.renew(nil)
	if _, _, err := h.settle(t.Context(), p, second, compiled("new"), nil); err != nil || p.active == nil || p.active.digest != "new" {
		t.Fatalf("active is %+v", p.active)
	}
	if counts, _, _ := h.settle(t.Context(), p, first, compiled("old"), nil); counts || p.active.digest != "new" || h.modules.byDigest["old"] != nil {
		t.Errorf("the old version counted: active is %+v, modules are %v", p.active, h.modules.byDigest)
	}
	third := p.renew(nil)
	if counts, old, _ := h.settle(t.Context(), p, third, version{}, errors.New("broken")); !counts || !old || p.active.digest != "new" || p.problem != "broken" {
		t.Errorf("after a broken version: %+v", p)
	}
	fourth := p.renew(nil)
	delete(h.plugins, "p")
	if counts, _, _ := h.settle(t.Context(), p, fourth, compiled("late"), nil); counts || h.modules.byDigest["late"] != nil {
		t.Error("a version of a file that is gone counted")
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
