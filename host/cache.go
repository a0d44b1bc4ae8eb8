package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
)

// cacheLayout is the version of how things lie in the cache; the instrumentation has its own.
const cacheLayout = "1"

// cacheAge is how long a file is kept in the cache. What is older is made again.
const cacheAge = 90 * 24 * time.Hour

// cache keeps compiled code and instrumented modules in a folder of this user's own. What is in there is executed, so
// nobody else may write it. Each file has a checksum beside it: wazero allocates and jumps by what it reads, so a
// damaged file is removed before wazero sees it.
type cache struct {
	dir      string // empty: nothing is kept
	log      *slog.Logger
	compiled wazero.CompilationCache
}

// openCache opens the cache below dir, and removes from it what is damaged or old.
func openCache(_ context.Context, dir string, log *slog.Logger) (*cache, error) {
	c := &cache{log: log}
	if dir == "" {
		return c, nil
	}
	c.dir = filepath.Join(dir, "plugins-"+cacheLayout+"-"+meterVersion)
	for _, d := range []string{dir, c.dir} {
		if err := privateFolder(d); err != nil {
			return nil, fmt.Errorf("cache folder %s: %w", d, err)
		}
	}
	removeOldVersions(dir, c.dir)
	var err error
	if c.compiled, err = wazero.NewCompilationCacheWithDir(c.dir); err != nil {
		return nil, fmt.Errorf("cache folder %s: %w", c.dir, err)
	}
	c.removeUnfinished()
	c.inspect()
	return c, nil
}

// privateFolder makes a folder that only this user can use, or checks that it is one.
func privateFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	st, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !st.IsDir():
		return errors.New("is not a folder")
	case checksModes && st.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("mode is %#o, so others may use it; chmod 700 it", st.Mode().Perm())
	case !ownedByUs(st):
		return errors.New("belongs to another user; what is in there would be executed")
	}
	return nil
}

// removeOldVersions removes what other versions left behind and have not touched for long.
func removeOldVersions(dir, ours string) {
	others, err := filepath.Glob(filepath.Join(dir, "plugins-*"))
	if err != nil {
		return // only for a malformed pattern
	}
	for _, d := range others {
		if st, err := os.Stat(d); err == nil && d != ours && time.Since(st.ModTime()) > cacheAge {
			_ = os.RemoveAll(d) // tidying up; it costs room at most
		}
	}
}

// removeUnfinished removes what was being written when a process died.
func (c *cache) removeUnfinished() {
	for _, pattern := range []string{".*.tmp", "*/*.tmp"} { // ours, and wazero's
		files, err := filepath.Glob(filepath.Join(c.dir, pattern))
		if err != nil {
			return // only for a malformed pattern
		}
		for _, f := range files {
			if st, err := os.Stat(f); err == nil && time.Since(st.ModTime()) > time.Hour {
				_ = os.Remove(f) // tidying up; it costs room at most
			}
		}
	}
}

func (c *cache) use(config wazero.RuntimeConfig) wazero.RuntimeConfig {
	if c.compiled == nil {
		return config
	}
	return config.WithCompilationCache(c.compiled)
}

func (c *cache) close(ctx context.Context) error {
	if c == nil || c.compiled == nil {
		return nil
	}
	return c.compiled.Close(ctx)
}

// instrumented returns the instrumented form of the module of a digest, from the cache or from build.
func (c *cache) instrumented(digest string, build func() ([]byte, error)) ([]byte, error) {
	if c.dir == "" {
		return build()
	}
	file := filepath.Join(c.dir, digest+extension)
	bin, err := os.ReadFile(file)
	if err == nil && intact(file, bin) {
		return bin, nil
	}
	if bin, err = build(); err != nil {
		return nil, err
	}
	if err := c.write(file, bin); err != nil {
		c.log.Warn("cache cannot be written", slog.String("file", file), slog.Any("error", err))
	}
	return bin, nil
}

// write stores a file and its checksum.
func (c *cache) write(file string, data []byte) error {
	tmp, err := os.CreateTemp(c.dir, ".*.tmp")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return seal(file, data)
}

// compile compiles a module, or takes the code from the cache. A file in there that wazero cannot use is an error to it,
// not a miss: then the damaged ones are removed, and if that does not help, all.
func (c *cache) compile(ctx context.Context, rt wazero.Runtime, bin []byte) (wazero.CompiledModule, error) {
	m, err := rt.CompileModule(ctx, bin)
	for _, repair := range []func(){c.inspect, c.clear} {
		if err == nil || c.dir == "" || !strings.Contains(err.Error(), "compilationcache") {
			break
		}
		c.log.WarnContext(ctx, "compiled code in the cache is damaged; it is compiled again", slog.Any("error", err))
		repair()
		m, err = rt.CompileModule(ctx, bin)
	}
	if err == nil {
		c.sealNew()
	}
	return m, err
}

const checksum = ".sum"

// cacheFile matches what wazero and we keep: the hexadecimal name of a digest.
var cacheFile = regexp.MustCompile(`^[0-9a-f]{64}(\.wasm)?$`)

// files calls f for each file in the cache.
func (c *cache) files(f func(file string)) {
	if c.dir == "" {
		return
	}
	err := filepath.WalkDir(c.dir, func(file string, d fs.DirEntry, err error) error {
		if err == nil && cacheFile.MatchString(d.Name()) && d.Type().IsRegular() {
			f(file)
		}
		return nil // what cannot be read is not used either
	})
	if err != nil {
		c.log.Warn("cache cannot be read", slog.Any("error", err))
	}
}

// inspect removes the files that are damaged, without a checksum, or old.
func (c *cache) inspect() {
	c.files(func(file string) {
		data, err := os.ReadFile(file)
		st, err2 := os.Stat(file)
		if err != nil || err2 != nil || time.Since(st.ModTime()) > cacheAge || !intact(file, data) {
			remove(file)
		}
	})
}

func (c *cache) clear() { c.files(remove) }

// sealNew gives a checksum to the files that have none yet: those that wazero has just written.
func (c *cache) sealNew() {
	c.files(func(file string) {
		if _, err := os.Stat(file + checksum); !errors.Is(err, fs.ErrNotExist) {
			return
		}
		data, err := os.ReadFile(file)
		if err == nil {
			err = seal(file, data)
		}
		if err != nil {
			c.log.Warn("cache cannot be written", slog.String("file", file), slog.Any("error", err))
		}
	})
}

func seal(file string, data []byte) error {
	return os.WriteFile(file+checksum, []byte(sum(data)), 0o600) //nolint:gosec // beside a name in the cache folder
}

func intact(file string, data []byte) bool {
	f, err := os.Open(file + checksum)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only read
	want, err := io.ReadAll(io.LimitReader(f, 2*sha256.Size+1))
	return err == nil && bytes.Equal(want, []byte(sum(data)))
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

func remove(file string) {
	_ = os.Remove(file + checksum) // if it stays, the next inspection tries again
	_ = os.Remove(file)
}
