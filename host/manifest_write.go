package host

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/jobhost/jobhost"
)

// WithManifest returns a module with a manifest in its section, which replaces those that were there. It does not look at the
// manifest. The module must be whole.
func WithManifest(module, manifest []byte) ([]byte, error) {
	if _, err := parse(module); err != nil {
		return nil, err
	}
	if len(manifest) > jobhost.MaxManifest {
		return nil, fmt.Errorf("the manifest has %s, at most %s are allowed", size(uint64(len(manifest))), size(jobhost.MaxManifest))
	}
	old, err := manifestSections(bytes.NewReader(module), int64(len(module)))
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(module)+len(manifest)+32)
	kept := int64(0)
	for _, s := range old {
		out = append(out, module[kept:s.from]...)
		kept = s.to
	}
	out = append(out, module[kept:]...)
	body := binary.AppendUvarint(nil, uint64(len(jobhost.ManifestSection)))
	body = append(append(body, jobhost.ManifestSection...), manifest...)
	out = binary.AppendUvarint(append(out, 0), uint64(len(body)))
	return append(out, body...), nil
}

// PutManifest writes the module of a file with a manifest in its section to another file, or to the same. The manifest is not
// looked at. Until all is written the old file stays as it is.
func PutManifest(file string, manifest []byte, to string) error {
	bin, _, info, err := readModule(file, false)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	bin, err = WithManifest(bin, manifest)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return replaceFile(to, bin, info.Mode().Perm(), true)
}
