package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jobhost/jobhost"
)

var _ jobhost.DataChecker = (*Host)(nil)

// ReadManifest finds the manifest of a module's file, without reading what is in it: the file beside it, else its section. A
// module that cannot be read has none. The file beside it is left out if it belongs to neither root, nor the module's owner, nor the
// user of this process.
func ReadManifest(file string) jobhost.ManifestText { return readManifest(file, false) }

// ReadManifests does so with every module of a plugin folder, in the order of their names, and refuses files that others may
// write. A folder that cannot be read has no modules.
func ReadManifests(dir string) (texts []jobhost.ManifestText) {
	files, _ := modulesIn(dir) // the host says it
	for _, file := range files {
		texts = append(texts, readManifest(file, true))
	}
	return texts
}

// modulesIn lists the modules of a folder.
func modulesIn(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), extension) && !strings.HasPrefix(e.Name(), ".") {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	return files, err
}

func readManifest(file string, private bool) jobhost.ManifestText {
	m := moduleFile{name: file, private: private}
	f, err := os.OpenFile(file, os.O_RDONLY|openNonblocking, 0)
	if err == nil {
		defer func() { _ = f.Close() }() // it was only read
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			m.info, m.data, m.size = info, f, info.Size()
		}
	}
	text, _ := m.manifest() // the host says what is left out
	return text
}

// moduleFile is a module whose manifest is asked for.
type moduleFile struct {
	name    string
	private bool        // only its owner may be able to write what is beside it
	info    fs.FileInfo // nil: it cannot be read
	data    io.ReaderAt
	size    int64
}

// manifest finds the manifest. What is left out is a file beside the module that is somebody else's.
func (m moduleFile) manifest() (t jobhost.ManifestText, leftOut error) {
	stem := strings.TrimSuffix(m.name, extension)
	t = jobhost.ManifestText{Plugin: filepath.Base(stem), File: m.name, Name: stem + jobhost.ManifestExtension}
	t.Data, t.Err = readSide(t.Name, m.info, m.private)
	if foreign, ok := errors.AsType[*foreignError](t.Err); ok {
		leftOut, t.Err = foreign, nil
	}
	if t.Data == nil && t.Err == nil {
		t.Name, t.JSON = m.name+"#"+jobhost.ManifestSection, true
		t.Data, t.Err = section(m.data, m.size)
	}
	if t.Err != nil {
		t.Data = nil
	}
	return t, leftOut
}

// statSide is what is known about the file beside a module; nil: there is none.
func statSide(file string) fs.FileInfo {
	info, err := os.Stat(strings.TrimSuffix(file, extension) + jobhost.ManifestExtension)
	if err != nil {
		return nil
	}
	return info
}

// understand reads a manifest by [Config.Manifest].
func (h *Host) understand(text jobhost.ManifestText) (jobhost.Manifest, error) {
	if h.cfg.Manifest == nil || text.Data == nil && text.Err == nil {
		return jobhost.Manifest{Key: text.Plugin}, nil
	}
	m, err := h.cfg.Manifest(text)
	if err != nil {
		return m, fmt.Errorf("the manifest is refused: %w", err)
	}
	return m, nil
}

// Manifests returns the manifests of the versions that run, by the keys of their plugins.
func (h *Host) Manifests() (texts []jobhost.ManifestText) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, key := range sortedKeys(h.plugins) {
		if p := h.plugins[key]; p.active != nil && p.text.Data != nil {
			texts = append(texts, p.text)
		}
	}
	return texts
}

// CheckData reports why a plugin would refuse data. See [jobhost.DataChecker].
func (h *Host) CheckData(ctx context.Context, plugin jobhost.Name, data json.RawMessage, whole bool) error {
	h.mu.RLock()
	var schema jobhost.DataSchema
	if p := h.plugins[plugin]; p != nil {
		schema = p.manifest.Data
	}
	h.mu.RUnlock()
	if schema == nil {
		return nil
	}
	return schema.Check(ctx, data, whole)
}

// WithSchema lists the plugins whose manifest has a schema. See [jobhost.DataChecker].
func (h *Host) WithSchema() (keys []jobhost.Name) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for key, p := range h.plugins {
		if p.manifest.Data != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// refuseData is the outcome of a run whose data the plugin does not take. It may have been changed since the job was defined.
func refuseData(ctx context.Context, schema jobhost.DataSchema, call jobhost.Call) (jobhost.Outcome, bool) {
	if schema == nil {
		return jobhost.Outcome{}, false
	}
	err := schema.Check(ctx, call.Run.Data, true)
	switch {
	case err == nil:
		return jobhost.Outcome{}, false
	case ctx.Err() != nil:
		return (&run{ctx: ctx}).fromOutside(), true
	}
	return jobhost.Outcome{
		Code: jobhost.InvalidDefinition, Permanent: true,
		Message: fmt.Sprintf("the plugin was not started, since its schema refuses the data: %v", err),
	}, true
}

// version is what came of a plugin's file and the manifest beside it.
type version struct {
	module   *module
	manifest jobhost.Manifest
	text     jobhost.ManifestText
	info     fs.FileInfo // of the module's file as it was read; nil: it could not be
	side     fs.FileInfo // of the file beside it as it was before
	leftOut  error       // why the file beside it does not count; nil: it does, or there is none
}

// read reads a module's file and its manifest.
func (h *Host) read(p *plugin) (v version, bin []byte, digest string, err error) {
	v.side = statSide(p.file)
	if bin, digest, v.info, err = readModule(p.file, p.private); err != nil {
		return v, nil, "", err
	}
	v.text, v.leftOut = moduleFile{p.file, p.private, v.info, bytes.NewReader(bin), int64(len(bin))}.manifest()
	if v.manifest, err = h.understand(v.text); err != nil {
		return v, nil, "", err
	}
	if !p.private {
		v.manifest.Key = p.key // whoever loaded it chose the key
	}
	if _, err := jobhost.ParseName(v.manifest.Key); err != nil {
		return v, nil, "", fmt.Errorf("%w; rename the file", err)
	}
	return v, bin, digest, nil
}

// sameFile reports whether two looks at a file saw the same one, as it was.
func sameFile(a, b fs.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	owner, _ := ownerOf(a)
	now, _ := ownerOf(b)
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && a.Mode() == b.Mode() && owner == now
}
