package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobhost/jobhost"
)

// shelf keeps the modules that plugins have run, by their digests, so that an ended run can be replayed when its plugin is
// another one by now. An index says which plugin had which, the newest last. A shelf that cannot be written is no reason
// to stop: what is missing on it is said when it is asked for.
type shelf struct {
	dir  string // empty: nothing is kept
	most int    // of each plugin
	log  *slog.Logger

	mu     sync.Mutex
	index  map[jobhost.Name][]string
	forgot time.Time // when plugins that are gone were forgotten last
}

const (
	mostGone    = 20             // plugins that are gone and whose modules are kept all the same
	forgetEvery = 24 * time.Hour // unless some have just gone
)

// shelfIndex is the index's file.
const shelfIndex = "versions.json"

func openShelf(ctx context.Context, dir string, most int, log *slog.Logger) *shelf {
	s := &shelf{dir: dir, most: most, log: log, index: map[jobhost.Name][]string{}}
	if dir == "" {
		return s
	}
	if err := privateFolder(dir); err != nil {
		s.failed(ctx, dir, err)
		s.dir = ""
		return s
	}
	data, err := os.ReadFile(filepath.Join(dir, shelfIndex))
	if err == nil {
		err = json.Unmarshal(data, &s.index)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.failed(ctx, shelfIndex, err)
		s.index = map[jobhost.Name][]string{}
	}
	s.tidy()
	return s
}

func (s *shelf) failed(ctx context.Context, what string, err error) {
	s.log.WarnContext(ctx, "versions of plugins are not kept as they should be", slog.String("folder", s.dir),
		slog.String("at", what), slog.Any("error", err))
}

// tidy removes what is in no index and has not been for long, and what was being written when a process died.
func (s *shelf) tidy() {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	for _, f := range files {
		digest, isModule := moduleName(f.Name())
		if !isModule && filepath.Ext(f.Name()) != ".tmp" || isModule && s.listed(digest) {
			continue
		}
		if st, err := f.Info(); err == nil && time.Since(st.ModTime()) > cacheAge {
			_ = os.Remove(filepath.Join(s.dir, f.Name())) // tidying up; it costs room at most
		}
	}
}

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// moduleName is the digest in the name of a module's file.
func moduleName(file string) (digest string, ok bool) {
	digest, ok = strings.CutSuffix(file, extension)
	return digest, ok && digestForm.MatchString(digest)
}

func (s *shelf) file(digest string) string { return filepath.Join(s.dir, digest+extension) }

func (s *shelf) listed(digest string) bool {
	for _, list := range s.index {
		if slices.Contains(list, digest) {
			return true
		}
	}
	return false
}

// put keeps a module as the newest of a plugin, and removes the oldest when there are too many.
func (s *shelf) put(ctx context.Context, key jobhost.Name, digest string, bin []byte) {
	if s.dir == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.index[key]
	if _, err := os.Stat(s.file(digest)); err == nil && len(before) > 0 && before[len(before)-1] == digest {
		return
	}
	if err := replaceFile(s.file(digest), bin, ownerOnly, true); err != nil {
		s.failed(ctx, s.file(digest), err)
		return
	}
	list := slices.DeleteFunc(slices.Clone(before), func(d string) bool { return d == digest })
	list = append(list, digest)
	dropped := list[:max(len(list)-s.most, 0)]
	s.index[key] = list[len(dropped):]
	s.drop(ctx, dropped)
}

// drop writes the index and removes those modules that are not in it any more. The caller holds mu.
func (s *shelf) drop(ctx context.Context, digests []string) {
	data, err := json.MarshalIndent(s.index, "", "\t")
	if err == nil {
		err = replaceFile(filepath.Join(s.dir, shelfIndex), data, ownerOnly, true)
	}
	if err != nil {
		s.failed(ctx, shelfIndex, err)
		return
	}
	for _, old := range digests {
		if s.listed(old) {
			continue
		}
		if err := os.Remove(s.file(old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.failed(ctx, s.file(old), err)
		}
	}
}

// forget drops the modules of plugins that are gone, but for those whose newest modules are the newest. It does so at the start,
// when some have just gone, and else once a day.
func (s *shelf) forget(ctx context.Context, there map[jobhost.Name]bool, now time.Time, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" || !some && now.Sub(s.forgot) < forgetEvery {
		return
	}
	s.forgot = now
	newest := map[jobhost.Name]time.Time{}
	var gone []jobhost.Name
	for key, digests := range s.index {
		if there[key] {
			continue
		}
		gone = append(gone, key)
		if len(digests) == 0 {
			continue
		}
		if info, err := os.Stat(s.file(digests[len(digests)-1])); err == nil {
			newest[key] = info.ModTime()
		}
	}
	if len(gone) <= mostGone {
		return
	}
	slices.SortFunc(gone, func(a, b jobhost.Name) int {
		return cmp.Or(newest[b].Compare(newest[a]), cmp.Compare(a, b))
	})
	var dropped []string
	for _, key := range gone[mostGone:] {
		dropped = append(dropped, s.index[key]...)
		delete(s.index, key)
	}
	s.drop(ctx, dropped)
}

// get returns the bytes of the module of a digest. Its errors say why there are none.
func (s *shelf) get(digest string) ([]byte, error) {
	missing := fmt.Errorf("the module with the digest %s is not kept any more", digest)
	if s.dir == "" {
		return nil, fmt.Errorf("the module with the digest %s is not loaded, and no others are kept", digest)
	}
	if !digestForm.MatchString(digest) {
		return nil, missing
	}
	bin, found, _, err := readModule(s.file(digest), true)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, missing
	case err != nil:
		return nil, err
	case found != digest:
		return nil, fmt.Errorf("the kept module %s is damaged: its digest is %s; delete it", s.file(digest), found)
	}
	return bin, nil
}

var _ jobhost.Replayer = (*Host)(nil)

// Replay is [Host.Run] with the module of a digest, whatever its plugin is by now: one that is loaded, or one that is kept,
// which is compiled first, within the limit of the run. The guest's clock starts at the run's planned time, and unless
// granted is set it may use nothing beside its input; else it has what the job is granted now. A module that is not kept, or
// is damaged, gives jobhost.NotFoundPlugin.
func (h *Host) Replay(ctx context.Context, call jobhost.Call, digest string, granted bool) jobhost.Outcome {
	grant, ok := h.beginReplay(call, granted)
	if !ok {
		return jobhost.Outcome{Code: jobhost.Canceled, Message: errClosed.Msg}
	}
	defer h.work.Done()
	ctx, cancel := h.bound(ctx, call.Deadline)
	defer cancel()
	m, err := h.version(ctx, digest)
	switch {
	case err != nil && ctx.Err() != nil:
		out := (&run{ctx: ctx}).fromOutside()
		out.Message += "; its module was still being compiled"
		return out
	case err != nil:
		return jobhost.Outcome{Code: jobhost.NotFoundPlugin, Message: err.Error()}
	}
	defer h.modules.put(ctx, m)
	return h.perform(ctx, m, call, grant, nil)
}

// beginReplay counts the replay, unless the host is closed, and says what it may use.
func (h *Host) beginReplay(call jobhost.Call, granted bool) (Grant, bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.closed {
		return Grant{}, false
	}
	h.work.Add(1)
	var grant Grant
	if granted {
		grant = h.grants[grantKey{call.Run.Job, call.Plugin}]
	}
	grant.Clock = ClockPlanned
	return h.cfg.limits(grant), true
}

// version returns the module of a digest, and counts one more user of it.
func (h *Host) version(ctx context.Context, digest string) (*module, error) {
	if m := h.modules.find(digest); m != nil {
		return m, nil
	}
	bin, err := h.shelf.get(digest)
	if err != nil {
		return nil, err
	}
	return h.modules.get(ctx, digest, func(m *module) error { return h.compile(m, bin) })
}
