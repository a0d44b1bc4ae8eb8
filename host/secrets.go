package host

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/jobhost/jobhost"
)

// Secret is where a secret comes from: one of both. It is read when a run starts, so that a file can be replaced meanwhile.
type Secret struct {
	Env  string // a variable of the host's environment
	File string // a file of at most [MaxSecret] bytes; one line end at its end is not part of the secret
}

// The lengths of secrets, in bytes. A shorter one reaches the guest but is not hidden anywhere: hiding it would hide
// ordinary text, and so tell what it is.
const (
	MinSecret = 4
	MaxSecret = 16 << 10
)

// Read returns the secret. Its errors say what is missing, never what the secret is.
func (s Secret) Read() (string, error) {
	if s.File != "" {
		return s.readFile()
	}
	v, ok := os.LookupEnv(s.Env)
	switch {
	case !ok:
		return "", fmt.Errorf("the host has no environment variable %s; set it before the host starts", s.Env)
	case len(v) > MaxSecret:
		return "", fmt.Errorf("the environment variable %s has %d bytes, at most %d are allowed", s.Env, len(v), MaxSecret)
	}
	return v, nil
}

func (s Secret) readFile() (string, error) {
	st, err := os.Stat(s.File)
	switch {
	case err != nil:
		return "", err
	case !st.Mode().IsRegular():
		return "", fmt.Errorf("%s is no file", s.File)
	}
	f, err := os.Open(s.File)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was read only
	b, err := io.ReadAll(io.LimitReader(f, MaxSecret+3))
	if err != nil {
		return "", err
	}
	v := strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
	switch {
	case len(v) > MaxSecret:
		return "", fmt.Errorf("%s has more than the %d bytes that a secret may have", s.File, MaxSecret)
	case strings.ContainsRune(v, 0):
		return "", fmt.Errorf("%s has a NUL byte, which no environment variable can hold", s.File)
	}
	return v, nil
}

// secretError is a secret that cannot be had when a run starts.
type secretError struct {
	name string
	err  error
}

func (e *secretError) Error() string { return fmt.Sprintf("secret %s: %v", e.name, e.err) }
func (e *secretError) Unwrap() error { return e.err }

// readSecrets reads what the run is granted, before it takes a compute slot, and lets everything that the guest says pass a
// masker from then on. A secret that is missing is a failure of the run: it could only fail later, and less clearly.
func (r *run) readSecrets() error {
	if len(r.grant.Secrets) == 0 {
		return nil
	}
	var values []string
	for _, name := range slices.Sorted(maps.Keys(r.grant.Secrets)) {
		v, err := r.grant.Secrets[name].Read()
		if err != nil {
			return &secretError{name, err}
		}
		r.secrets = append(r.secrets, [2]string{name, v})
		values = append(values, v)
	}
	if r.mask = r.host.masks.get(r.grant.key(), values); r.mask != nil {
		r.call.Sink = maskedSink{r.call.Sink, r.mask}
		r.stderr.sink = r.call.Sink
		r.stdoutMask.masker, r.stderrMask.masker = r.mask, r.mask
	}
	return nil
}

// maskers keeps the masker of each job and plugin: making one takes milliseconds when a secret is a key of some kilobytes.
type maskers struct {
	mu sync.Mutex

	made map[grantKey]madeMasker
}

type madeMasker struct {
	values []string
	masker *masker
}

// get returns a masker of secrets, the last one of this grant if they are the same.
func (ms *maskers) get(key grantKey, values []string) *masker {
	ms.mu.Lock()
	last, ok := ms.made[key]
	ms.mu.Unlock()
	if ok && slices.Equal(last.values, values) {
		return last.masker
	}
	var patterns []string
	for _, v := range values {
		patterns = append(patterns, forms(v)...)
	}
	m := newMasker(patterns)
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if ms.made == nil {
		ms.made = map[grantKey]madeMasker{}
	}
	ms.made[key] = madeMasker{values, m}
	return m
}

// maskedSink hides secrets in what a run says.
type maskedSink struct {
	jobhost.RunSink

	mask *masker
}

func (s maskedSink) Log(level int, msg string) {
	s.RunSink.Log(level, string(s.mask.mask([]byte(msg))))
}

func (s maskedSink) Progress(done, total int64, msg string) {
	s.RunSink.Progress(done, total, string(s.mask.mask([]byte(msg))))
}

// forms are the texts that give a secret away: as it is, line by line, escaped for JSON and for URLs, and in base64 wherever
// it may stand in what was encoded.
func forms(secret string) []string {
	if len(secret) < MinSecret {
		return nil
	}
	fs := slices.Concat([]string{secret}, jsonForms(secret), urlForms(secret), base64Forms(secret))
	if strings.ContainsRune(secret, '\n') { // a log has lines
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); len(line) >= 2*MinSecret {
				fs = append(fs, line)
			}
		}
	}
	slices.Sort(fs)
	return slices.DeleteFunc(slices.Compact(fs), func(f string) bool { return len(f) < MinSecret })
}

// jsonForms are a secret inside a string of JSON, as encoders write it: with and without escapes for HTML, for slashes, and
// for all that is not ASCII.
func jsonForms(s string) []string {
	plain := string(plainJSON(s))
	plain = plain[1 : len(plain)-1]
	html, err := json.Marshal(s)
	if err != nil {
		return nil // text always has a JSON form
	}
	escaped := string(html[1 : len(html)-1])
	fs := []string{plain, escaped, ascii(plain), ascii(escaped)}
	for _, f := range slices.Clone(fs) {
		fs = append(fs, strings.ReplaceAll(f, "/", `\/`))
	}
	return fs
}

// ascii escapes what is not ASCII.
func ascii(s string) string {
	var b strings.Builder
	for _, c := range s {
		if c < 0x80 {
			b.WriteRune(c)
			continue
		}
		for _, u := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, u)
		}
	}
	return b.String()
}

// urlForms are a secret inside a URL or a form, as one part of a path or as several, with hexadecimal digits of both cases.
func urlForms(s string) []string {
	query := url.QueryEscape(s)
	var fs []string
	for _, f := range []string{
		query,
		strings.ReplaceAll(query, "+", "%20"),
		url.PathEscape(s),
		(&url.URL{Path: "/" + s}).EscapedPath()[1:],
		component(s, ""),
		component(s, ";/?:@&=+$,#"), // encodeURI
		url.UserPassword("", s).String()[1:],
	} {
		fs = append(fs, f, lowerEscapes(f))
	}
	return fs
}

// component is what JavaScript's encodeURIComponent makes of s, but for what is to be kept.
func component(s, keep string) string {
	plain := "-_.!~*'()" + keep
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)|0x100, 16)[1:]))
	}
	return b.String()
}

// lowerEscapes writes the digits of percent escapes in lower case.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], strings.ToLower(string(b[i+1:i+3])))
			i += 2
		}
	}
	return string(b)
}

// base64Forms are what is left of a secret in base64 whatever stands before and after it: the digits that depend on nothing
// else, for each of the three places where it can begin within a group, and both alphabets. Standing alone it is found
// whole.
func base64Forms(s string) []string {
	var fs []string
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		fs = append(fs, enc.EncodeToString([]byte(s)), enc.WithPadding(base64.NoPadding).EncodeToString([]byte(s)))
		for before := range 3 {
			digits := enc.WithPadding(base64.NoPadding).EncodeToString(append(make([]byte, before), s...))
			first := (8*before + 5) / 6
			last := 8 * (before + len(s)) / 6
			fs = append(fs, digits[first:last])
		}
	}
	return fs
}

// errSecretPlace is a secret without a place or with two.
var errSecretPlace = errors.New("want one of env and file")

func (s Secret) check() error {
	if (s.Env == "") == (s.File == "") {
		return errSecretPlace
	}
	return nil
}
