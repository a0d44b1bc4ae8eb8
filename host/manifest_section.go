package host

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/jobhost/jobhost"
)

// preamble begins every core module.
const preamble = "\x00asm\x01\x00\x00\x00"

// maxSections is how many sections of a module are looked at. Modules have a dozen, and with what debuggers read a few more.
const maxSections = 10_000

var errTwoSections = fmt.Errorf("the module has two sections %q; want one", jobhost.ManifestSection)

// customSection is where a manifest is in a module.
type customSection struct {
	from, to int64 // the whole section, its header included
	data     []byte
}

// manifestSections finds the sections with a manifest, without reading what is in the others. What is no module, or is cut
// off, has none: loading it says why.
func manifestSections(r io.ReaderAt, size int64) (found []customSection, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 64)
	head := make([]byte, len(preamble))
	if _, err := io.ReadFull(in, head); err != nil || string(head) != preamble {
		return nil, ignoreEnd(err)
	}
	for at, n := int64(len(preamble)), 0; at < size; n++ {
		if n == maxSections {
			return nil, fmt.Errorf("the module has more than %d sections", maxSections)
		}
		in.Reset(io.NewSectionReader(r, at, size-at))
		id, err := in.ReadByte()
		if err != nil {
			return nil, ignoreEnd(err)
		}
		length, n, ok := readLength(in)
		to := at + 1 + n + int64(length)
		if !ok || to > size {
			return found, nil
		}
		if id == 0 {
			name, m, ok := readLength(in)
			body := int64(length) - m - int64(name)
			if ok && name == uint32(len(jobhost.ManifestSection)) && body >= 0 {
				s := customSection{from: at, to: to}
				if isManifest, err := s.read(in, body); err != nil {
					return nil, err
				} else if isManifest {
					found = append(found, s)
				}
			}
		}
		at = to
	}
	return found, nil
}

// read reads the name of a custom section and, if it is that of a manifest, the rest.
func (s *customSection) read(in io.Reader, body int64) (isManifest bool, err error) {
	name := make([]byte, len(jobhost.ManifestSection))
	if _, err := io.ReadFull(in, name); err != nil || string(name) != jobhost.ManifestSection {
		return false, ignoreEnd(err)
	}
	if body > jobhost.MaxManifest {
		return false, fmt.Errorf("the section %q has %s, at most %s are allowed", jobhost.ManifestSection, size(uint64(body)), size(jobhost.MaxManifest))
	}
	s.data = make([]byte, body)
	_, err = io.ReadFull(in, s.data)
	return true, err
}

// ignoreEnd takes the end of a file for no error.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// readLength reads an unsigned 32-bit LEB128 number and says how many bytes it takes.
func readLength(in io.ByteReader) (v uint32, n int64, ok bool) {
	for shift := 0; shift < 35; shift += 7 {
		c, err := in.ReadByte()
		if err != nil || shift == 28 && c > 0x0f {
			return 0, 0, false
		}
		n++
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v, n, true
		}
	}
	return 0, 0, false
}

// section is the manifest in a module; nil: it has none.
func section(r io.ReaderAt, size int64) ([]byte, error) {
	found, err := manifestSections(r, size)
	switch {
	case err != nil || len(found) == 0:
		return nil, err
	case len(found) > 1:
		return nil, errTwoSections
	}
	return found[0].data, nil
}
