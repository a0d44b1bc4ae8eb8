package host

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/jobhost/jobhost/host/instrument"
)

// cacheLayout is the version of how things lie in the cache; the instrumentation has its own.
const cacheLayout = "3"

// cacheAge is how long a file is kept in the cache. What is older is made again.
const cacheAge = 90 * 24 * time.Hour

// cache keeps compiled code and instrumented modules in a folder of this user's own. What is in there is executed, so
// nobody else may write it. Each file has a checksum beside it: wazero allocates and jumps by what it reads, so a
// damaged file is removed before wazero sees it. A cache that cannot be written costs time, and nothing else.
type cache struct {
	dir      string // empty: nothing is kept
	log      *slog.Logger
	compiled wazero.CompilationCache
	slow     sync.Once // for saying that it cannot be written
	pruning  pruning

	mu       sync.Mutex
	sealed   map[string]bool // files that have a checksum
	attempts map[*os.File]bool
}

// openCache opens the cache below dir, and removes from it what is damaged or old. A folder that others may write is an
// error, one that cannot be made is a cache that keeps nothing.
func openCache(ctx context.Context, dir string, log *slog.Logger) (*cache, error) {
	c := &cache{log: log, sealed: map[string]bool{}, attempts: map[*os.File]bool{}}
	c.pruning.idle = maxIdle
	if dir == "" {
		return c, nil
	}
	ours := filepath.Join(dir, "plugins-"+cacheLayout+"-"+meterVersion)
	for _, d := range []string{dir, ours} {
		if err := privateFolder(d); isFileError(err) {
			c.cannotWrite(ctx, dir, err)
			return c, nil
		} else if err != nil {
			return nil, fmt.Errorf("cache folder %s: %w", d, err)
		}
	}
	c.dir = ours
	removeOldVersions(dir, c.dir)
	c.removeUnfinished()
	if err := c.inspect(); err != nil {
		c.cannotWrite(ctx, c.dir, err)
		c.dir = ""
		return c, nil
	}
	var err error
	if c.compiled, err = wazero.NewCompilationCacheWithDir(c.dir); err != nil {
		c.cannotWrite(ctx, c.dir, err)
		c.compiled, c.dir = nil, ""
	}
	return c, nil
}

// isFileError reports whether the operating system refused something that was done with a file.
func isFileError(err error) bool {
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	return path || link
}

// cannotWrite says, the first time, that the cache cannot be written.
func (c *cache) cannotWrite(ctx context.Context, place string, err error) {
	c.slow.Do(func() {
		c.log.WarnContext(ctx, "compiled plugins cannot be kept, so that the next start takes longer; see to the cache folder",
			slog.String("folder", place), slog.Any("error", err))
	})
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

// cacheHead begins the file of an instrumented module in the cache. The image's data follows, then the module.
type cacheHead struct {
	Memory int64  // that compiling it can take
	Offset uint32 // of the image
	Image  uint32 // its length
}

// encode returns the content of a file of the cache.
func (m metered) encode() ([]byte, error) {
	head := cacheHead{m.memory, m.image.Offset, uint32(len(m.image.Data))} //nolint:gosec // within a memory
	b, err := binary.Append(nil, binary.LittleEndian, head)
	return slices.Concat(b, m.image.Data, m.module), err
}

// decodeMetered is the reverse of encode. It keeps data.
func decodeMetered(data []byte) (m metered, ok bool) {
	var head cacheHead
	n, err := binary.Decode(data, binary.LittleEndian, &head)
	if err != nil || uint64(len(data)) < uint64(n)+uint64(head.Image) { //nolint:gosec // not negative
		return metered{}, false
	}
	at := n + int(head.Image)
	return metered{data[at:], instrument.Image{Offset: head.Offset, Data: data[n:at]}, head.Memory}, true
}

// instrumented returns the instrumented form of the module of a digest, from the cache or from build.
func (c *cache) instrumented(ctx context.Context, digest string, build func() (metered, error)) (metered, error) {
	if c.dir == "" {
		return build()
	}
	file := filepath.Join(c.dir, digest+extension)
	data, err := os.ReadFile(file)
	if err == nil && intact(file, data) {
		if m, ok := decodeMetered(data); ok {
			return m, nil
		}
	}
	m, err := build()
	if err != nil {
		return metered{}, err
	}
	data, err = m.encode()
	if err == nil {
		err = c.write(file, data)
	}
	if err != nil {
		c.cannotWrite(ctx, c.dir, err)
	}
	return m, nil
}

// write stores a file and its checksum.
func (c *cache) write(file string, data []byte) error {
	if err := replaceFile(file, data, ownerOnly, false); err != nil {
		return err
	}
	return seal(file, data)
}

// compile compiles an instrumented module, digest being that of the original, or takes the code from the cache. When wazero
// cannot store the code it gives an error, but has the code in memory, where it finds it when it is asked again. A file in
// the cache that it cannot use is an error to it too, not a miss: then the damaged ones are removed, and if that does not
// help, all.
func (c *cache) compile(ctx context.Context, rt wazero.Runtime, digest string, bin []byte) (wazero.CompiledModule, error) {
	m, err := rt.CompileModule(ctx, bin)
	if c.dir != "" && isFileError(err) {
		c.cannotWrite(ctx, c.dir, err)
		m, err = rt.CompileModule(ctx, bin)
	}
	for _, repair := range []func() error{c.inspect, c.clear} {
		if err == nil || c.dir == "" || !isFileError(err) && !strings.Contains(err.Error(), "compilationcache") {
			break
		}
		c.log.WarnContext(ctx, "compiled code in the cache is damaged; it is compiled again", slog.Any("error", err))
		if err := repair(); err != nil {
			c.cannotWrite(ctx, c.dir, err)
		}
		m, err = rt.CompileModule(ctx, bin)
	}
	if err == nil {
		c.sealNew(ctx, digest)
	}
	return m, err
}

const checksum = ".sum"

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
