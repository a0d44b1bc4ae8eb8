package memstore_test

import (
	"testing"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

func opener(cfg memstore.Config) jobtest.Opener {
	return jobtest.Opener{Open: func(t testing.TB) jobhost.Store {
		t.Helper()
		s := memstore.New(cfg)
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
		return s
	}}
}

func TestPrivateStorePasses(t *testing.T) { jobtest.Store(t, opener(memstore.Config{})) }

func TestSharedStorePasses(t *testing.T) {
	open := opener(memstore.Config{Shared: true})
	if !open.Open(t).Shared() {
		t.Error("Shared: got false, want true")
	}
	jobtest.Store(t, open)
}

func TestClosedStoreIsUnreachable(t *testing.T) {
	s := memstore.New(memstore.Config{})
	if err := s.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	f := func(jobhost.Tx) error { return nil }
	if err := s.Update(t.Context(), f); jobhost.CodeOf(err) != jobhost.StoreUnreachable {
		t.Errorf("Update: %v, want %s", err, jobhost.StoreUnreachable)
	}
	if err := s.View(t.Context(), f); jobhost.CodeOf(err) != jobhost.StoreUnreachable {
		t.Errorf("View: %v, want %s", err, jobhost.StoreUnreachable)
	}
}
